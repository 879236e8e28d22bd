import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compile, type Place } from '../../src/template/index.ts'

function render(source: string, place: Place, data: object): string | undefined {
  const { template, errors } = compile(source, { place, env: {} })
  assert.deepEqual(errors, [])
  return template!.render(data)
}

const value = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom('"a"', '{}', '1'),
)

test('whatever stands in the place of a JSON key is a string', () => {
  fc.assert(
    fc.property(value, value, (key, other) => {
      fc.pre(key !== 'b')
      for (const source of ['{ {{.key}}: 1, "b": {{.other}} }', '{"b": {{.other}}, {{toJSON .key}} : 1}']) {
        const text = render(source, 'json', { key, other })
        const members = Object.entries(JSON.parse(text!))
        assert.equal(members.length, new Set(members.map(([name]) => name)).size)
        assert.ok(members.some(([, member]) => member === 1))
      }
    }),
  )
  assert.equal(render('{ {{.key}}: 1 }', 'json', { key: 42 }), '{ "42": 1 }')
  assert.equal(render('{ {{.key}}: 1 }', 'json', { key: '"a"' }), String.raw`{ "\"a\"": 1 }`)
})

test('JSON that stands inside of branches is JSON', () => {
  const nasty = 'a "quote" \\ and\nmore'
  for (const source of [
    '{{if .ok}}{"x": "{{.x}}"}{{end}}',
    '{{if .no}}{"no": 1}{{else}}{"x": "{{.x}}"}{{end}}',
    '{{with .x}}\n  {"x": "{{.}}"}\n{{end}}',
    '{{if .no}}{"a": "{{.x}}"}{{end}}{{if .ok}}{"x": "{{.x}}"}{{end}}',
  ])
    assert.deepEqual(JSON.parse(render(source, 'auto', { ok: true, x: nasty })!), { x: nasty }, source)
  const lines = render('{{range .all}}{"x": "{{.}}"}\n{{end}}', 'auto', { all: [nasty, 'b'] })!
  assert.deepEqual(
    lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).x),
    [nasty, 'b'],
  )
})

test('brackets nested deeper than any JSON are text, in time proportional to their number', () => {
  const brackets = '['.repeat(300_000)
  assert.equal(compile(brackets, { place: 'auto' }).template?.render({}), brackets)
})
