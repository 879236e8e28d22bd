import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '../../src/template/index.ts'

test('a header of which blocks leave nothing, or a lone scheme, is not sent', () => {
  const header = (source: string, args: object) =>
    compile(source, { place: 'header' }).template!.render({ Args: args })
  for (const source of [
    'Bearer {{if .Args.t}}{{.Args.t}}{{end}}',
    '{{if .Args.t}}Bearer {{.Args.t}}{{end}}',
    '{{with .Args.t}}{{.}}{{end}}',
    'Bearer {{range .Args.list}}{{.}}{{end}}',
  ])
    assert.equal(header(source, {}), undefined, source)
  assert.equal(header('Bearer {{if .Args.t}}{{.Args.t}}{{end}}', { t: 'x' }), 'Bearer x')
  assert.equal(header('{{if .Args.fast}}fast{{else}}slow{{end}}', {}), 'slow')
  assert.equal(header('a {{if .Args.fast}}fast{{end}}', { fast: true }), 'a fast')
})
