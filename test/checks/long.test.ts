import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { maskSecrets, secretsIn } from '../../src/checks/practice/leaked-secrets.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'

function lint(key: 'endpoint' | 'requestBody', source: string): string[] {
  const text = `name: t
routers: [{server: s, prefix: /t}]
servers: [{name: s}]
tools:
  - name: a
    method: POST
    ${key === 'endpoint' ? '' : 'endpoint: http://localhost/\n    '}${key}: ${JSON.stringify(source)}
    args: [{name: a, position: ${key === 'endpoint' ? 'path' : 'body'}}]
`
  const read = readConfiguration({ file: 'a.yaml', text }, {})
  return lintTemplates(read, {}).map(({ message }) => message)
}

/** What took time by the square of the template's length; each would take minutes so. */
const long: [string, 'endpoint' | 'requestBody', string, RegExp][] = [
  [
    'a path of many names',
    'requestBody',
    `{{.Args${'.a'.repeat(100_000)}}}`,
    /can't evaluate field|rendering/,
  ],
  [
    'many characters',
    'requestBody',
    `{{len${" 'a'".repeat(100_000)}}}`,
    /a string in single quotes|wrong number/,
  ],
  ['many braces', 'endpoint', `http://localhost/${'{a}'.repeat(150_000)}/{{.Args.a}}`, /is sent unchanged/],
]
for (const [name, key, source, message] of long)
  test(`${name} are linted in time proportional to their number`, () => {
    const messages = lint(key, source)
    assert.ok(
      messages.some((one) => message.test(one)),
      messages.slice(0, 3).join('\n').slice(0, 500),
    )
  })

test('samples of arrays inside each other stay small', () => {
  const nested = (depth: number): string =>
    depth === 0 ? '{type: string}' : `{type: array, minItems: 100, items: ${nested(depth - 1)}}`
  const text = `name: t
routers: [{server: s, prefix: /t}]
servers: [{name: s}]
tools:
  - name: a
    method: POST
    endpoint: http://localhost/
    requestBody: '{{toJSON .Args.a}}'
    args: [{name: a, position: body, type: array, items: ${nested(7)}}]
`
  assert.deepEqual(lintTemplates(readConfiguration({ file: 'a.yaml', text }, {}), {}), [])
})

test('many names are compared in time proportional to their number', () => {
  const many = Array.from({ length: 6000 }, (_, i) => i)
  const text = `name: t
routers: [{server: s, prefix: /t}]
servers: [{name: s}]
prompts:
  - name: a
    arguments: [${many.map((i) => `{name: given${i}}`).join()}]
    promptResponse: [{role: user, content: {type: text, text: '${many.map((i) => `{{.Args.read${i}}}`).join('')}'}}]
`
  const read = readConfiguration({ file: 'a.yaml', text }, {})
  assert.ok(lintTemplates(read, {}).some(({ code }) => code === 'template-argument'))
})

test('secrets are masked in time proportional to their number', () => {
  const text = Array.from({ length: 8000 }, (_, i) => `a${i}: {token: "abcdef12345678901${i}x"}\n`).join('')
  const masked = maskSecrets(text, secretsIn({ file: 'a.yaml', text }))
  assert.equal(
    masked,
    text.replace(/abc\w+/g, (secret) => '*'.repeat(secret.length)),
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
  ])
    assert.ok(lint('requestBody', unit.repeat(2000)).length > 0, unit)
})
