import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { fixFile } from '../../src/checks/fix.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { isOneEdit } from '../../src/text/index.ts'
import { sample } from '../support/rest.ts'

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

test('one edit is a letter more, less, other or swapped', () => {
  const letter = fc.constantFrom('a', 'b', 'c')
  const word = fc.array(letter, { maxLength: 6 }).map((letters) => letters.join(''))
  fc.assert(
    fc.property(word, word, (a, b) => {
      assert.equal(isOneEdit(a, b), isOneEditTried(a, b), `${a} ${b}`)
    }),
    { numRuns: sample(2000) },
  )
})

/** By trying them all. */
function isOneEditTried(a: string, b: string): boolean {
  const edits = new Set<string>()
  for (let i = 0; i <= a.length; i++) {
    for (const letter of 'abc') {
      edits.add(a.slice(0, i) + letter + a.slice(i))
      if (i < a.length) edits.add(a.slice(0, i) + letter + a.slice(i + 1))
    }
    if (i < a.length) edits.add(a.slice(0, i) + a.slice(i + 1))
    if (i < a.length - 1) edits.add(a.slice(0, i) + a[i + 1] + a[i] + a.slice(i + 2))
  }
  return a !== b && edits.has(b)
}
