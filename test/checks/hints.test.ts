import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'

/** What the linter says of a body that is no JSON body, so that only the template itself counts. */
function lint(body: string, more = '') {
  const text = `name: user
servers: [{name: user, config: {key: abc}}]
tools:
  - name: a
    method: POST
    endpoint: http://localhost
    headers: {Content-Type: ${more || '"{{.Config.key}}"'}}
    args:
      - {name: s, position: body, required: true}
      - {name: t, position: body}
      - {name: n, position: body, type: integer, required: true}
      - {name: m, position: body, type: integer, required: true}
      - {name: l, position: body, type: array, required: true, items: {type: object, properties: {name: {type: string}}}}
      - {name: ids, position: body, type: array, required: true, items: {type: string}}
      - {name: o, position: body, type: object, required: true}
      - {name: user-id, position: query, required: true}
    requestBody: ${JSON.stringify(body)}
`
  const read = readConfiguration({ file: 'a.yaml', text }, {})
  assert.ok(read.configuration, JSON.stringify(read.findings))
  return lintTemplates(read, {}).filter(({ range }) => range!.start.line === 17)
}

/** Wrong; what the hint says; and right: the hint, applied. */
const CURES: [wrong: string, hint: string, right: string][] = [
  ['{{if .Args.n == 1}}1{{end}}', 'eq .Args.n 1', '{{if eq .Args.n 1}}1{{end}}'],
  [
    '{{if .Args.n == 1 && len .Args.l > 2}}1{{end}}',
    'and (eq .Args.n 1) (gt (len .Args.l) 2)',
    '{{if and (eq .Args.n 1) (gt (len .Args.l) 2)}}1{{end}}',
  ],
  [
    "{{if !.Args.n || .Args.s != 'x'}}1{{end}}",
    'or (not .Args.n) (ne .Args.s "x")',
    '{{if or (not .Args.n) (ne .Args.s "x")}}1{{end}}',
  ],
  ['{{.Args.n + 1}}', 'add .Args.n 1', '{{add .Args.n 1}}'],
  ['{{.Args.s + "!" + .Args.t}}', 'print .Args.s "!" .Args.t', '{{print .Args.s "!" .Args.t}}'],
  [
    '{{.Args.n ? 1 : 2}}',
    '{{if .Args.n}}{{1}}{{else}}{{2}}{{end}}',
    '{{if .Args.n}}{{1}}{{else}}{{2}}{{end}}',
  ],
  ['{{eq .Args.n, 1}}', 'eq .Args.n 1', '{{eq .Args.n 1}}'],
  ['{{.Args.o?.a?.b}}', 'safeGet "a.b" .Args.o', '{{safeGet "a.b" .Args.o}}'],
  ['{{if .Args.n and .Args.m}}1{{end}}', 'and .Args.n .Args.m', '{{if and .Args.n .Args.m}}1{{end}}'],
  [
    '{{if .Args.n eq 1 or not .Args.m}}1{{end}}',
    'or (eq .Args.n 1) (not .Args.m)',
    '{{if or (eq .Args.n 1) (not .Args.m)}}1{{end}}',
  ],
  ["{{if eq .Args.s 'a'}}1{{end}}", '"a"', '{{if eq .Args.s "a"}}1{{end}}'],
  ["{{index .Args.l '0'}}", '0', '{{index .Args.l 0}}'],
  ["{{.Args['s']}}", '.Args.s', '{{.Args.s}}'],
  ['{{.Args[s]}}', '.Args.s', '{{.Args.s}}'],
  ['{{.Args["user-id"]}}', 'index .Args "user-id"', '{{index .Args "user-id"}}'],
  ['{{.Args.user-id}}', 'index .Args "user-id"', '{{index .Args "user-id"}}'],
  ['{{.Args.l[0].name}}', '(index .Args.l 0).name', '{{(index .Args.l 0).name}}'],
  ['{{.Args.l.0}}', 'index .Args.l 0', '{{index .Args.l 0}}'],
  ['{{.Args.l.0.name}}', '(index .Args.l 0).name', '{{(index .Args.l 0).name}}'],
  ['{{.Args.s.toUpperCase()}}', 'upper .Args.s', '{{upper .Args.s}}'],
  ["{{.Args.s.split(',')}}", 'splitList "," .Args.s', '{{splitList "," .Args.s}}'],
  ["{{.Args.s.replace('a', 'b')}}", 'replace "a" "b" .Args.s', '{{replace "a" "b" .Args.s}}'],
  ['{{.Args.s | upper()}}', '()', '{{.Args.s | upper}}'],
  ['{{upper(.Args.s)}}', '(', '{{upper (.Args.s)}}'],
  ['{{if .Args.n}}1{{els}}2{{end}}', 'else', '{{if .Args.n}}1{{else}}2{{end}}'],
  ['{{rnage .Args.l}}1{{end}}', 'range', '{{range .Args.l}}1{{end}}'],
  ['{{if .Args.n}}1{{ennd}}', 'end', '{{if .Args.n}}1{{end}}'],
  ['{{if .Args.n}}1{{ed}}', 'end', '{{if .Args.n}}1{{end}}'],
  ['{{#if .Args.n}}1{{end}}', '{{if .Args.n}}', '{{if .Args.n}}1{{end}}'],
  ['{{unless .Args.n}}1{{end}}', '{{if not .Args.n}}', '{{if not .Args.n}}1{{end}}'],
  ['{{Args.s}}', '.Args.s', '{{.Args.s}}'],
  ['{{.Args.ss}}', '.Args.s', '{{.Args.s}}'],
]

describe('a hint, applied, mends what it is about', () => {
  for (const [wrong, cure, right] of CURES)
    test(wrong, () => {
      const found = lint(wrong)
      assert.ok(found.length > 0)
      for (const { hint } of found) assert.ok(hint?.includes(cure), hint)
      assert.ok(right.includes(cure) || cure === '()')
      assert.deepEqual(lint(right), [])
    })
})

const JSON_CURES: [wrong: string, hint: RegExp, right: string][] = [
  ['{"a": {{.Args.n}},}', /^Remove the comma before it/, '{"a": {{.Args.n}}}'],
  ['{"a": {{.Args.n}} "b": 1}', /^Write a comma before it/, '{"a": {{.Args.n}}, "b": 1}'],
  ['{a: {{.Args.n}}}', /^Put the key in double quotes/, '{"a": {{.Args.n}}}'],
  ['{"a" {{.Args.n}}}', /^Write `:` between key and value/, '{"a": {{.Args.n}}}'],
  ['{"a": [{{.Args.n}}}', /^Write `]` before it/, '{"a": [{{.Args.n}}]}'],
  ['{"a": {{.Args.n}}', /^Write `}` at the end/, '{"a": {{.Args.n}}}'],
  ['{"a": {{.Args.n}}, "b": c}', /^Put the string in double quotes/, '{"a": {{.Args.n}}, "b": "c"}'],
  [
    '{"a": [{{range .Args.l}}"{{.name}}",{{end}}]}',
    /^Begin each item with its comma: `{{range \$i, \$item := \.Args\.l}}{{if \$i}}, {{end}}…{{end}}`/,
    '{"a": [{{range $i, $item := .Args.l}}{{if $i}}, {{end}}"{{.name}}"{{end}}]}',
  ],
  [
    '{ {{if .Args.t}}"t": "{{.Args.t}}",{{end}} "n": {{.Args.n}} {{if .Args.t}},{{end}} }',
    /^Let each optional member begin with its comma, after a member that is always there/,
    '{"n": {{.Args.n}}{{if .Args.t}}, "t": "{{.Args.t}}"{{end}}}',
  ],
]

const DOUBTS: [wrong: string, hint: string, right: string][] = [
  [
    '{"a": [{{.Args.ids}}]}',
    'Write `{{toJSON .Args.ids}}` without the brackets',
    '{"a": {{toJSON .Args.ids}}}',
  ],
  [
    '{"a": [{{join "," .Args.ids}}]}',
    'Write `{{toJSON .Args.ids}}` without the brackets',
    '{"a": {{toJSON .Args.ids}}}',
  ],
  ['{"a": "{{quote .Args.s}}"}', 'Remove `quote`, or the quotes around it', '{"a": "{{.Args.s}}"}'],
  ['{"a": "{{quote .Args.s}}"}', 'Remove `quote`, or the quotes around it', '{"a": {{quote .Args.s}}}'],
  [
    '{"a": "{{printf "%q" .Args.s}}"}',
    'Remove `printf "%q"`, or the quotes around it',
    '{"a": "{{.Args.s}}"}',
  ],
  [
    '{"a": {{.Args.s}}}',
    'Put double quotes around it, or write `toJSON` before it',
    '{"a": {{toJSON .Args.s}}}',
  ],
  ['{"a": "{.Args.s}"}', 'Write `{{.Args.s}}` instead of `{.Args.s}`', '{"a": "{{.Args.s}}"}'],
]

describe('so does one of a doubt', () => {
  for (const [wrong, hint, right] of DOUBTS)
    test(wrong, () => {
      const found = lint(wrong, 'application/json')
      assert.deepEqual(
        found.map((one) => [one.severity, one.hint]),
        [['warning', hint]],
      )
      assert.deepEqual(lint(right, 'application/json'), [])
    })
})

describe('so does one about a body that is not JSON', () => {
  for (const [wrong, hint, right] of JSON_CURES)
    test(wrong, () => {
      const found = lint(wrong, 'application/json')
      assert.deepEqual(
        found.map(({ code }) => code),
        ['template-body'],
      )
      assert.match(found[0]!.hint!, hint)
      assert.deepEqual(lint(right, 'application/json'), [])
    })
})
