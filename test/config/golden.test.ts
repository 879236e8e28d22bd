import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { type CheckOptions, checkTogether, readConfiguration, readSettings } from '../../src/checks/index.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'
import {
  CODES,
  checkOf,
  type Finding,
  type FindingCode,
  formatText,
  sortFindings,
} from '../../src/findings/index.ts'

/**
 * Each golden file holds configurations, or settings where its name says so (`# ---- file NAME` begins a further one) and, below `# ---- expected`,
 * the text that their findings print. `UPDATE_GOLDEN=1` writes that text; read the difference before committing.
 */
const folder = new URL('./golden/', import.meta.url)
const EXPECTED = '# ---- expected\n'
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

function sourcesOf(input: string): Map<string, string> {
  const [first, ...further] = input.split(/^# ---- file (?=.*\n)/m)
  const sources = new Map([['a.yaml', first!]])
  for (const part of further)
    sources.set(part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1))
  return sources
}

const names = readdirSync(folder).sort()
const seen = new Set<string>()

describe('golden files', () => {
  for (const name of names) {
    const [input, expected] = readFileSync(new URL(name, folder), 'utf8').split(EXPECTED) as [string, string?]
    const sources = sourcesOf(input)
    const findings = name.startsWith('settings-')
      ? [...sources].flatMap(([file, text]) => readSettings({ file, text }, env, {}).findings)
      : findingsOf(sources, {
          ...(name.includes('tenant') && { tenants, limits: DEFAULT_LIMITS }),
          ...(name.includes('public-url') && { publicUrl: null }),
          ...(name.includes('vault') && { hasVault: false }),
          ...(name.includes('open-router') && { tenants, exposedAt: '0.0.0.0' }),
        })
    for (const { code } of findings) seen.add(code)
    test(name, () => {
      const actual = formatText(findings, sources, { color: false })
      if (process.env.UPDATE_GOLDEN) writeFileSync(new URL(name, folder), `${input}${EXPECTED}${actual}`)
      else assert.equal(actual, expected)
    })
    const code = name.replace('.golden.yaml', '')
    if (code in CODES)
      test(`${name} shows ${code}`, () => assert.ok(findings.some((one) => one.code === code)))
  }
})

test('every code of this room has a golden file', () => {
  // Of files and folders: files.test.ts and outside.test.ts, of stores: test/store, of many: read.test.ts. Of templates and of sending: the rooms above.
  // Of comments and of practice: test/validate; of endpoints: test/endpoints; of skills: test/skills.
  const elsewhere = (
    'unreadable-file unreadable-store missing-package linked-file no-files unread-settings ' +
    'file-too-large too-many-findings template- url-text token-passthrough forbidden-header ' +
    'env-empty upstream- ignore-form unused-ignore skill-'
  ).split(' ')
  const here = Object.keys(CODES)
    .filter((code) => !['practice', 'endpoints', 'connections', 'pid'].includes(checkOf(code as FindingCode)))
    .filter((code) => !elsewhere.some((other) => code.startsWith(other)))
  assert.deepEqual(
    here.filter((code) => !seen.has(code)),
    [],
  )
})
