import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '../../src/template/index.ts'

test('a list or map that is written as nil is an empty one', () => {
  const { template } = compile('{{len (keys nil)}}{{hasKey nil "a"}}{{merge nil (dict "a" 1)}}', {
    place: 'text',
  })
  assert.equal(template?.render({}), '0false{"a":1}')
})

test('camelcase keeps capitals inside of words', () => {
  const { template } = compile(
    '{{camelcase "fooBar"}} {{camelcase "HTTPServer"}} {{camelcase "GO_IS_fun"}}',
    {
      place: 'text',
    },
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
