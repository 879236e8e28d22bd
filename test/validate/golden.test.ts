import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'
import { maskSecrets } from '../../src/checks/practice/leaked-secrets.ts'
import { applyIgnores, CODES, formatText } from '../../src/findings/index.ts'

/**
 * What `validate` tells beyond reading and templates. Each golden file is a configuration and, below
 * `# ---- expected`, the text that its findings print; `UPDATE_GOLDEN=1` writes that text.
 */
const folder = new URL('./golden/', import.meta.url)
const EXPECTED = '# ---- expected\n'

describe('golden files of validate', () => {
  for (const name of readdirSync(folder).sort()) {
    const [input, expected] = readFileSync(new URL(name, folder), 'utf8').split(EXPECTED) as [string, string?]
    test(name, async () => {
      const { findings, sources } = await check(['-'], {
        env: { SET: 'set-to-what-nobody-guesses' },
        stdin: () => Buffer.from(input),
        practice: { production: true },
      })
      const told = applyIgnores(findings, sources, { ran: () => true })
      const actual = formatText(told, new Map([['-', maskSecrets(sources.get('-')!, findings)]]), {
        color: false,
      })
      if (process.env.UPDATE_GOLDEN) writeFileSync(new URL(name, folder), `${input}${EXPECTED}${actual}`)
      else assert.equal(actual, expected)
      const code = name.replace('.golden.yaml', '')
      if (code in CODES) assert.ok(told.some((one) => one.code === code))
    })
  }
})
