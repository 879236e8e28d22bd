import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fixFile } from '../../src/checks/fix.ts'
import { readConfiguration } from '../../src/checks/index.ts'

function fix(text: string) {
  const { read, fixed, findings } = fixFile(readConfiguration({ file: 'a.yaml', text }, {}), {})
  return {
    text: read.text,
    fixed: fixed.map(({ finding }) => finding.code),
    left: findings.map(({ code }) => code),
  }
}

const text = `# A comment stays.
name:   user
servers: [ {name: user,   config: {base: "http://localhost"}} ]
tools:
  - name: a   # and this one
    method: POST
    endpoint: "{{ .Config.bse }}/{{.Arg.id}}/\\u0041{{ .Args.idd }}"
    headers:
      Authorization: "{{.Request.Headers.authorization}}"
      X-Id: '{{index .Request.headers "x-id"}}'
    args: [{name: id, position: path, required: true}, {name: user, position: body, required: true}]
    requestBody: |
      {"user": "{{.Args.usr | uper}}", "other": "{{.Args.nothing_like_it}}",
       "two": {{if .Args.id == "1"}}1{{else}}2{{end}}}
`

describe('what leaves no doubt is mended', () => {
  test('only those characters change', () => {
    const result = fix(text)
    const expected = text
      .replace('.Config.bse', '.Config.base')
      .replace('.Arg.id', '.Args.id')
      .replace('.Args.idd', '.Args.id')
      .replace('Headers.authorization', 'Headers.Authorization')
      .replace('.Request.headers "x-id"', '.Request.Headers "X-Id"')
      .replace('.Args.usr | uper', '.Args.user | upper')
    assert.equal(result.text, expected)
    assert.deepEqual(result.left, ['template-argument', 'template-operator'])
    assert.equal(result.fixed.length, 8)
  })
  test('roots and fields in lower case, as other template languages have them', () => {
    const lower = `name: user
servers: [{name: user, config: {}}]
tools:
  - name: a
    endpoint: "http://localhost/{{args.id}}"
    args: [{name: id, position: path, required: true}]
    responseBody: "{{response.data.name}} {{response.Data.name}}"
`
    const result = fix(lower)
    const expected = lower
      .replace('args.id', '.Args.id')
      .replaceAll(/response.[dD]ata.name/g, '.Response.Data.name')
    assert.deepEqual([result.text, result.left], [expected, []])
  })
  test('a second run finds nothing to mend', () => {
    const once = fix(text)
    const twice = fix(once.text)
    assert.deepEqual([twice.text, twice.fixed], [once.text, []])
  })
  test('two names that are equally near are left alone', () => {
    const two = `name: user
servers: [{name: user}]
tools:
  - name: a
    endpoint: "http://localhost/{{.Args.ab}}"
    args: [{name: aa, position: query, required: true}, {name: bb, position: query, required: true}]
`
    assert.equal(fix(two).text, two)
  })
  test('text that an escape or a variable writes is left alone', () => {
    const escaped = `name: user
servers: [{name: user}]
tools:
  - name: a
    endpoint: "http://localhost/{{.Arg\\u0073s.id}}/\${PART:{{.Arg.id\\}}}"
    args: [{name: id, position: path, required: true}]
`
    const result = fix(escaped)
    assert.equal(result.text, escaped)
  })
  test('text that an alias shares between tools that want different names is left alone', () => {
    const shared = `name: user
servers: [{name: user}]
tools:
  - name: a
    endpoint: &shared "http://localhost/{{.Args.ida}}"
    args: [{name: id, position: path, required: true}]
  - name: b
    endpoint: *shared
    args: [{name: ida, position: path, required: true}]
`
    assert.equal(fix(shared).text, shared)
  })
  test('line ends and quotes of YAML stay', () => {
    const crlf = text.replaceAll('\n', '\r\n')
    assert.equal(fix(crlf).text, fix(text).text.replaceAll('\n', '\r\n'))
  })
})
