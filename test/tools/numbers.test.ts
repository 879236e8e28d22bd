import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gatewayOver } from '../support/gateway.ts'
import { temporaryFolder } from '../support/process.ts'
import { modernHeaders } from '../support/served.ts'
import { post } from '../support/wire.ts'
import { upstream } from './harness.ts'

test('templates of HTTP tools print numbers by value, however the client writes them', async (t) => {
  const { origin, last } = await upstream()
  const folder = temporaryFolder(t)
  writeFileSync(
    join(folder, 'a.yaml'),
    `
name: a
routers: [{ server: a, prefix: /a }]
servers: [{ name: a }]
tools:
  - name: t
    method: POST
    endpoint: "${origin}/"
    args: [{ name: n, position: body, type: number, required: true }, { name: i, position: query, type: number }]
    requestBody: '{"n": {{.Args.n}}, "body": {{.Request.Body.params.arguments.n}}, "all": {{toJson .Args}}}'
`,
  )
  const { gateway, findings } = await gatewayOver(t, [folder])
  assert.deepEqual(findings, [])
  const call = async (n: string) => {
    const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":${n},"i":${n}},"_meta":{${meta}}}}`
    const headers = modernHeaders('tools/call', 't')
    const response = await post(gateway.app, '/a/mcp', text, headers)
    assert.doesNotMatch(await response.text(), /"isError":true/)
    return [last().url, last().body.toString()]
  }
  for (const [written, printed] of [
    ['1.10', '1.1'],
    ['1.0', '1'],
    ['1e2', '100'],
    ['12345678901234567890', '12345678901234567890'],
  ] as const)
    assert.deepEqual(await call(written), [
      `/?i=${printed}`,
      `{"n": ${printed}, "body": ${printed}, "all": {"i":${printed},"n":${printed}}}`,
    ])
})
