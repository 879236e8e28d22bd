import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fixFile } from '../../src/checks/fix.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { sample } from '../support/rest.ts'

const piece = fc.constantFrom(
  '{{',
  '}}',
  '{{-',
  '-}}',
  '}',
  '{',
  '"',
  "'",
  '`',
  ' ',
  '\n',
  '.Args.id',
  '.Args',
  '.args.id',
  '$x := ',
  '$x',
  'if ',
  'range ',
  'with ',
  'else',
  'end',
  'define "a"',
  'template "a" .',
  'block "a" .',
  'break',
  '==',
  '&&',
  '+',
  '-',
  '[0]',
  '(',
  ')',
  '|',
  ',',
  '/*',
  '*/',
  'toJSON ',
  'index ',
  'raw ',
  '.Request.Headers.X-Y',
  'é',
  '\u0000',
)
const template = fc.oneof(
  fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join('')),
  fc.string(),
)

function configuration(source: string): string {
  const text = JSON.stringify(source)
  return `name: user
servers: [{name: user, config: {a: ${text}}}]
tools:
  - name: a
    method: POST
    endpoint: ${JSON.stringify(`http://localhost/${source}`)}
    headers: {X-A: ${text}}
    args: [{name: id, position: body}]
    requestBody: ${text}
    responseBody: ${text}
`
}

test('no template makes the linter throw, and every finding has a place inside of the file', () => {
  fc.assert(
    fc.property(template, (source) => {
      const text = configuration(source)
      const read = readConfiguration({ file: 'a.yaml', text }, {})
      for (const { range, message } of lintTemplates(read, {})) {
        assert.ok(range, message)
        assert.ok(range.start.offset >= 0 && range.end.offset <= text.length, message)
        assert.ok(range.start.offset <= range.end.offset, message)
      }
      fixFile(read, {})
    }),
    { numRuns: sample(1500) },
  )
})

test('long templates full of mistakes are read to their end', () => {
  for (const unit of [
    '{{if .Args.a == 1}}',
    '{{.Args.a-b}}',
    '{{a.b}}',
    '{{"',
    '}',
    "{{'",
    '{{ . . = ',
    '{{end}}',
  ]) {
    const text = configuration(unit.repeat(2000))
    assert.ok(lintTemplates(readConfiguration({ file: 'a.yaml', text }, {}), {}).length > 0)
  }
})
