import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../src/json/index.ts'
import { compile, RenderError } from '../../src/template/index.ts'

test('a list or map that is written as nil is an empty one', () => {
  const { template } = compile('{{len (keys nil)}}{{hasKey nil "a"}}{{merge nil (dict "a" 1)}}', {
    place: 'text',
  })
  assert.equal(template?.render({}), '0false{"a":1}')
})

test('camelcase keeps capitals inside of words', () => {
  const { template } = compile(
    '{{camelcase "fooBar"}} {{camelcase "HTTPServer"}} {{camelcase "GO_IS_fun"}}',
    { place: 'text' },
  )
  assert.equal(template?.render({}), 'FooBar Httpserver GoIsFun')
})

test('a product of too many digits ends with an error', () => {
  const { template } = compile(`{{mulf ${'1.7e300 1e-300 '.repeat(50)}}}`, { place: 'text' })
  assert.throws(() => template?.render({}), /more than 1500 digits/)
})

test('quotients grow no longer than products', () => {
  const { template } = compile(`{{divf 1e300 ${'1e-300 '.repeat(50)}}}`, { place: 'text' })
  assert.throws(() => template?.render({}), /more than 1500 digits/)
})

test('fromJSON reads a text, and leaves what is read already', () => {
  const { template } = compile('{{range fromJSON .rows}}{{.id}} {{end}}{{len (fromJSON .none)}}', {
    place: 'text',
  })
  assert.equal(template?.render({ rows: '[{"id": 1}, {"id": 2}]' }), '1 2 0')
  assert.equal(template?.render({ rows: [{ id: 1 }, { id: 2 }] }), '1 2 0')
})

test('a long text is replaced as a short one is', () => {
  const line = fc.constantFrom('', 'a', '\n', '😀', 'x'.repeat(1000), 'y'.repeat(4095), 'z'.repeat(4096))
  const { template } = compile('{{indent 2 .v}}|{{replace "a" "" .v}}|{{replace "\\n\\n" "|" .v}}', {
    place: 'text',
  })
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), fc.boolean(), (lines, ends) => {
      const v = lines.join('\n') + (ends ? '\n' : '')
      const indented = `  ${v.split('\n').join('\n  ')}`
      const expected = [indented, v.split('a').join(''), v.split('\n\n').join('|')].join('|')
      assert.equal(template?.render({ v }), expected)
    }),
  )
})

test('a long text that a replacement makes too long is an error', () => {
  const { template } = compile('{{replace "a" .by .v}}', { place: 'text' })
  const render = () => template?.render({ v: 'a'.repeat(600_000), by: 'b'.repeat(1000) })
  assert.throws(render, /a string is longer than/)
})

test('a day of the year is read as it is written', () => {
  const { template } = compile('{{toDate "2006-002" "2024-032" | date "2006-01-02 002"}}', { place: 'text' })
  assert.equal(template?.render({}), '2024-02-01 032')
  const wrong = compile('{{mustToDate "2006-002" "2023-366"}}', { place: 'text' }).template
  assert.throws(() => wrong?.render({}), /not a time of this layout/)
})

test('octal digits give an exact integer', () => {
  const { template } = compile('{{toDecimal "777777777777777777777"}} {{toDecimal "-17"}}', { place: 'text' })
  assert.equal(template?.render({}), '9223372036854775807 -15')
})

test('a number that a double cannot hold is a time, too', () => {
  const { template } = compile('{{date "2006" .t}} {{duration .t}}', { place: 'text' })
  assert.equal(template?.render(parse('{"t": 1000000000.12345678901234}')), '2001 277777h46m40s')
})

test('a constraint that is none and a text that is no Unicode end in an error of the template, or in text', () => {
  for (const constraint of ['1.2.3-..', '>=1.99999999999999999999.1']) {
    const { template } = compile('{{semverCompare .c "1.2.3"}}', { place: 'text' })
    assert.throws(() => template?.render({ c: constraint }), RenderError)
  }
  const { template } = compile('{{urlJoin (dict "host" "a" "path" .p)}}', { place: 'text' })
  assert.equal(template?.render({ p: '/\ud800' }), '//a/%EF%BF%BD')
})
