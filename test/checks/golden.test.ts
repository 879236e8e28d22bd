import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { CODES, type Finding, formatText } from '../../src/findings/index.ts'

/**
 * Each golden file holds a configuration and, below `# ---- expected`, the text that the linter's findings print.
 * `UPDATE_GOLDEN=1` writes that text; read the difference before committing.
 */
const folder = new URL('./golden/', import.meta.url)
const EXPECTED = '# ---- expected\n'
const env = { SET: 'set' }

const found: Finding[] = []

describe('golden files', () => {
  for (const name of readdirSync(folder).sort()) {
    const [input, expected] = readFileSync(new URL(name, folder), 'utf8').split(EXPECTED) as [string, string?]
    const read = readConfiguration({ file: 'a.yaml', text: input }, env)
    const findings = lintTemplates(read, env)
    found.push(...findings)
    test(name, () => {
      assert.deepEqual(
        read.findings.filter(({ severity }) => severity === 'error'),
        [],
      )
      const actual = formatText(findings, new Map([['a.yaml', input]]), { color: false })
      if (process.env.UPDATE_GOLDEN) writeFileSync(new URL(name, folder), `${input}${EXPECTED}${actual}`)
      else assert.equal(actual, expected)
    })
    test(`${name}: no place is told twice`, () => {
      const places = findings.map(({ code, range }) => `${code} ${range?.start.offset} ${range?.end.offset}`)
      assert.equal(new Set(places).size, places.length)
    })
  }
})

test('there are golden mistakes of every code of the linter, 60 and more in all', () => {
  const codes = Object.keys(CODES).filter((code) => code.startsWith('template-') || code === 'env-unset')
  assert.deepEqual(
    codes.filter((code) => !found.some((one) => one.code === code)),
    [],
  )
  assert.ok(found.length >= 60, `${found.length}`)
})
