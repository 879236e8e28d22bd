import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { CODES, type CodeInfo } from '../../src/findings/index.ts'

/** An example of the catalogue inside the least configuration that it needs. */
function wrap(text: string): string {
  if (/^servers:/.test(text)) return `name: user\n${text}\n`
  const args = text.includes('args:')
    ? ''
    : `    args:
      - {name: id, position: path, required: true}
      - {name: name, position: body, required: true}
      - {name: n, position: body, type: integer, required: true}
      - {name: user, position: body, type: object, required: true}
`
  const endpoint = text.includes('endpoint:') ? '' : '    endpoint: http://localhost/{{.Args.id}}\n'
  return `name: user
servers: [{name: user, config: {base: "http://localhost"}}]
tools:
  - name: t
    method: POST
${endpoint}${args}    ${text.replaceAll('\n', '\n    ')}
`
}

function codes(text: string): string[] {
  const read = readConfiguration({ file: 'a.yaml', text: wrap(text) }, {})
  assert.ok(read.configuration, `${JSON.stringify(read.findings)}\n${wrap(text)}`)
  return lintTemplates(read, {}).map(({ code }) => code)
}

describe('the examples of the catalogue', () => {
  const entries = Object.entries(CODES) as [string, CodeInfo][]
  for (const [code, { wrong, right }] of entries.filter(([name]) => name.startsWith('template-'))) {
    if (wrong) test(`${code}: wrong`, () => assert.ok(codes(wrong).includes(code), String(codes(wrong))))
    if (right) test(`${code}: right`, () => assert.ok(!codes(right).includes(code), String(codes(right))))
  }
})
