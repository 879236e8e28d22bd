import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '../../src/template/index.ts'

function render(source: string, data: object): string | undefined {
  const { template, errors } = compile(source, { place: 'json' })
  assert.deepEqual(errors, [])
  return template!.render(data)
}

test('commas that the template itself writes between values and members are no values', () => {
  const list = '[{{$c := ""}}{{range .Args.l}}{{$c}}{{toJSON .}}{{$c = ", "}}{{end}}]'
  assert.equal(render(list, { Args: { l: ['a', ','] } }), '["a", ","]')
  assert.equal(render(list, { Args: { l: [] } }), '[]')
  const members =
    '{ {{- $s := "" -}}{{if .Args.a}}{{$s}}"a": {{.Args.a}}{{$s = ","}}{{end}}{{if .Args.b}}{{$s}}"b": {{.Args.b}}{{end}}}'
  assert.equal(render(members, { Args: { a: 1, b: 'x' } }), '{"a": 1,"b": "x"}')
  assert.equal(render(members, { Args: { b: 2 } }), '{"b": 2}')
  assert.equal(render('[{{range $i, $e := .l}}{{if $i}}{{","}}{{end}}{{$e}}{{end}}]', { l: [1, 2] }), '[1,2]')
})

test('a comma behind a colon, and one that may come from a caller, is a value', () => {
  assert.equal(render('{{$s := ","}}{"by": {{","}}, "at": {{$s}}}', {}), '{"by": ",", "at": ","}')
  const mixed = '[1 {{$s := ","}}{{if .Args.s}}{{$s = .Args.s}}{{end}}{{$s}}]'
  assert.equal(render(mixed, { Args: { s: ',2' } }), '[1 ",2"]')
  assert.equal(render(mixed, { Args: { s: ',' } }), '[1 ","]')
})
