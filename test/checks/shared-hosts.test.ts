import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { lintTemplates } from '../../src/checks/templates/index.ts'
import { templateMemo } from '../../src/template/index.ts'

const ENDPOINTS = [
  '{{.Config.base}}/items/{{.Args.id}}',
  '{{ .Config.base -}} /items',
  '{{.Config.base}}{{.Args.id}}',
  '{{.Config.base}}:8080/{{.Args.id}}',
  '{{.Config.base}}.example.com/{{.Args.id}}',
  '{{.Config.base}}--a/{{.Args.id}}',
  'https://example.com/{{.Config.base}}/{{.Args.id}}',
  'https://example.com/?at={{.Config.base}}&id={{.Args.id}}',
  '{{$.Config.base}}/{{.Args.id}}',
  '{{.Config.base | trimPrefix "https://one.example"}}/{{.Args.id}}',
  '{{if eq .Config.base "https://one.example"}}https://x.example/{{.Args.id}}{{else}}{{fail "no"}}{{end}}',
  '{{with .Config}}{{.base}}{{end}}/{{.Args.id}}',
  '{{range .}}{{end}}{{.Config.base}}/{{.Args.id}}',
  '{{.Config.bases}}/{{.Args.id}}',
]
const BODIES = [
  '{"from": "{{.Config.base}}", "is": {{.Config.base}}}',
  '{"is": {{if eq .Config.base "https://two.example"}}1{{else}}x{{end}}}',
  '{"is": {{if hasSuffix "/v1" .Config.base}}x{{else}}1{{end}}, "from": "{{.Config.base}}"}',
  '{"is": {{with .Config}}{{if hasPrefix "http:" .base}}x{{else}}1{{end}}{{end}}}',
]
const BASES = [
  'https://one.example',
  'https://two.example',
  'https://two.example/',
  'https://two.example/v1',
  'https://two.example:8443',
  'http://two.example',
  'https://xn',
  'https://xn--a',
  'https://1.2.3.400',
  'https://two..example',
  'two.example',
  'https://us er@two.example',
  'https://two.example/../x',
  '',
]

function configuration(endpoint: string, requestBody: string, base: string) {
  const tool = {
    name: 'get',
    description: 'Gets one',
    method: 'POST',
    endpoint,
    args: [{ name: 'id', position: 'path', type: 'string', required: true, description: 'Its id' }],
    requestBody,
  }
  const of = { name: 's', routers: [{ server: 's', prefix: '/s' }], tools: [tool] }
  return readConfiguration(
    {
      file: 's.yaml',
      text: JSON.stringify({ ...of, servers: [{ name: 's', config: { base } }] }),
    },
    {},
  )
}

const TEMPLATES = [
  ...ENDPOINTS.map((endpoint) => [endpoint, BODIES[0]!] as const),
  ...BODIES.map((body) => [ENDPOINTS[0]!, body] as const),
]

for (const [endpoint, body] of TEMPLATES)
  test(`what was found with one host changes nothing with another: ${endpoint}, ${body}`, () => {
    const reads = BASES.map((base) => configuration(endpoint, body, base))
    const alone = reads.map((read) => lintTemplates(read, {}))
    for (const [i, first] of reads.entries())
      for (const [j, second] of reads.entries()) {
        const env = {}
        const memo = templateMemo(env)
        lintTemplates(first, env, memo)
        assert.deepEqual(lintTemplates(second, env, memo), alone[j], `${BASES[i]}, then ${BASES[j]}`)
      }
  })
