import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { type Finding, formatText } from '../../src/findings/index.ts'
import { goldenFiles } from '../support/golden.ts'

const env = { SET: 'set' }
/** What the golden files leave out. */
const OF_ROUTERS = ['no-router', 'unrouted-server']

describe('golden files', () => {
  for (const { name, input, compare } of goldenFiles(new URL('./golden/', import.meta.url))) {
    const read = readConfiguration({ file: 'a.yaml', text: input }, env)
    const findings = lintTemplates(read, env)
    test(name, () => {
      assert.ok(!read.findings.some(({ severity }) => severity === 'error'))
      compare(formatText(findings, new Map([['a.yaml', input]]), { color: false }))
      const places = findings.map(({ code, range }) => `${code} ${range?.start.offset} ${range?.end.offset}`)
      assert.equal(new Set(places).size, places.length, 'a place is told twice')
    })
    test(`validate tells every mistake of ${name} once, and no other`, async () => {
      const all = await check(['-'], { env, stdin: () => Buffer.from(input) })
      const lines = (of: readonly Finding[]) =>
        of.map(
          ({ code, range, message }) => `${range?.start.line}:${range?.start.column} ${message} [${code}]`,
        )
      assert.deepEqual(lines(all.findings.filter(({ code }) => !OF_ROUTERS.includes(code))), lines(findings))
    })
  }
})
