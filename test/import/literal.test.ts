import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { curlExamples } from '../../src/import/curl.ts'
import { harExamples } from '../../src/import/har.ts'
import { importServers } from '../../src/import/mcp-configurations.ts'
import { postmanExamples } from '../../src/import/postman.ts'
import { type Examples, importExamples } from '../../src/import/requests.ts'
import type { Json } from '../../src/json/index.ts'
import { compiled, operation, toolsOf } from '../openapi/imported.ts'

/** Texts that are templates or variables here, or become such where a hidden character is taken out. */
const FOREIGN = [
  'v-{{env "LEAKME"}}-w',
  '{{{{env "LEAKME"}}}}',
  '${LEAKME} $${LEAKME}',
  '{{.Config.url}}{',
  '{\u200b{env "LEAKME"}}',
  `{{printf "${'a'.repeat(120)}%s" (env "LEAKME")}}`,
]
const ENV = { LEAKME: 'leaked', SHOP_TEAM: 'blue' }
const hidden = (text: string) => text.replaceAll('\u200b', '')

async function sentBy(found: Examples | { fault: string }) {
  assert.ok(!('fault' in found), JSON.stringify(found))
  const made = importExamples({ file: 'x', text: '' }, found, { made: 'Made by a test.', name: 'shop' })
  assert.ok(made.fault === undefined && !made.findings, JSON.stringify(made))
  const names = made.configurations.flatMap(({ variables }) => variables.map(({ name }) => name))
  assert.ok(!names.includes('LEAKME'), names.join())
  const { send, list } = await compiled(made, ENV)
  return send({}, list()[0]!.name)
}

describe('texts of foreign files are sent as they are', () => {
  test('headers of curl and HAR', async () => {
    for (const text of FOREIGN) {
      const line = `curl https://api.example.com/a -H 'X-P: ${text.trim()}'`
      assert.equal((await sentBy(curlExamples(line))).headers?.['X-P'], hidden(text), line)
      const request = {
        method: 'GET',
        url: 'https://api.example.com/a',
        headers: [{ name: 'X-P', value: text }],
      }
      const har = { log: { entries: [{ request, response: {} }] } } as unknown as Json
      assert.equal((await sentBy(harExamples(har))).headers?.['X-P'], hidden(text))
    }
  })

  test('headers of Postman, beside its variables', async () => {
    for (const text of FOREIGN.slice(2)) {
      const header = [{ key: 'X-P', value: `{{team}} ${text}` }]
      const item = [{ name: 'a', request: { method: 'GET', url: 'https://api.example.com/a', header } }]
      const found = postmanExamples({ info: { name: 'Shop' }, item } as unknown as Json, 'shop')
      assert.equal(
        (await sentBy(found)).headers?.['X-P'],
        `blue ${hidden(text).replace('{{.Config.url}}{', '{')}`,
      )
    }
  })

  test('a joiner that is hidden only when another character was taken out', async () => {
    const line = 'curl https://api.example.com/a -H "X-P: {\u180e\u200d{env `LEAKME`}}"'
    assert.match((await sentBy(curlExamples(line))).headers!['X-P']!, /\{env `LEAKME`\}\}$/)
  })

  test('a query of GraphQL', async () => {
    for (const text of FOREIGN) {
      const query = `query { a(b: ${JSON.stringify(text)}) }`
      const postData = { mimeType: 'application/json', text: JSON.stringify({ query }) }
      const request = { method: 'POST', url: 'https://api.example.com/graphql', headers: [], postData }
      const { body } = await sentBy(
        harExamples({ log: { entries: [{ request, response: {} }] } } as unknown as Json),
      )
      assert.deepEqual(JSON.parse(body!), { query: hidden(query) })
    }
  })

  test('media types of OpenAPI', async () => {
    for (const type of ['application/x-{{env "LEAKME"}}+json', 'text/xml; charset={{env "LEAKME"}}']) {
      const requestBody = { required: true, content: { [type]: { schema: { type: 'string' } } } }
      const made = await toolsOf(operation({ requestBody }, { method: 'post' }), {}, ENV)
      assert.deepEqual(made.configurations[0]!.variables, [])
      assert.equal((await made.send({ body: 'a' })).headers?.['Content-Type'], type)
    }
  })

  test('names of tools that a client filters', () => {
    const server = { command: 'x', disabledTools: ['${LEAKME}'], env: { A: '$\u200b{LEAKME}' } }
    const made = importServers({ file: 'x', text: JSON.stringify({ mcpServers: { a: server } }) })
    assert.ok(made.fault === undefined && !made.findings)
    assert.match(made.configurations[0]!.text, /- \$\$\{LEAKME\}/)
    assert.deepEqual(
      made.variables.map(({ name }) => name),
      ['LEAKME'],
    )
  })
})
