import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CheckOptions, checkTogether, readConfiguration, readSettings } from '../../src/checks/index.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'
import { CODES, type Finding, formatText, sortFindings } from '../../src/findings/index.ts'
import { goldenFiles } from '../support/golden.ts'

const nothing = { tokens: [], env: [], stdio: false, commands: [], notifier: false }
const tenants = [
  { name: 'green', prefix: '/green', ...nothing },
  {
    name: 'blue',
    prefix: '/blue',
    ...nothing,
    env: ['BLUE_*'],
    stdio: true,
    commands: [{ command: '/usr/bin/blue', env: ['BLUE_*'] }],
  },
]
const env = { SET: 'set', TOKEN: 'secret' }

function findingsOf(sources: ReadonlyMap<string, string>, rules: CheckOptions): Finding[] {
  const reads = [...sources].map(([file, text]) => readConfiguration({ file, text }, env, rules))
  const together = checkTogether(reads, { reserved: ['/_reload', '/_status'], ...rules })
  return sortFindings([...reads.flatMap(({ findings }) => findings), ...together])
}

/** `# ---- file NAME` begins a further file. */
function sourcesOf(input: string): Map<string, string> {
  const [first, ...further] = input.split(/^# ---- file (?=.*\n)/m)
  const sources = new Map([['a.yaml', first!]])
  for (const part of further)
    sources.set(part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1))
  return sources
}

describe('golden files', () => {
  for (const { name, input, compare } of goldenFiles(new URL('./golden/', import.meta.url))) {
    const sources = sourcesOf(input)
    const findings = name.startsWith('settings-')
      ? [...sources].flatMap(([file, text]) => readSettings({ file, text }, env, {}).findings)
      : findingsOf(sources, {
          ...(name.includes('tenant') && { tenants, limits: DEFAULT_LIMITS }),
          ...(name.includes('public-url') && { publicUrl: null }),
          ...(name.includes('vault') && { hasVault: false }),
          ...(name.includes('open-router') && { tenants, exposedAt: '0.0.0.0' }),
        })
    test(name, () => {
      compare(formatText(findings, sources, { color: false }))
      const code = name.replace('.golden.yaml', '')
      if (code in CODES) assert.ok(findings.some((one) => one.code === code))
    })
  }
})
