import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfiguration, readSettings } from '../../src/checks/index.ts'

const ofSettings = (text: string) => readSettings({ file: 'plantgw.yaml', text }, {}).findings
const ofConfiguration = (text: string) => readConfiguration({ file: 'a.yaml', text }, {}).findings

describe('files of another kind as settings', () => {
  const files: [what: string, text: string, command?: string][] = [
    ['a configuration', 'name: a\nrouters: []\ntools: [{name: x}]'],
    ['an OpenAPI description', 'openapi: 3.1.0\ninfo: {title: a}\npaths: {/a: {get: {}}}', 'openapi'],
    ['a file of MCP servers for a client or proxy', '{"mcpServers": {"a": {"command": "x"}}}', 'mcp'],
    [
      'a settings file of Unla',
      'storage: {type: db, database: {}}\nsession: {type: memory, redis: {}}',
      'unla',
    ],
  ]
  for (const [what, text, command] of files)
    test(what, () => {
      const [found, ...others] = ofSettings(text)
      assert.deepEqual(others, [])
      assert.equal(found?.code, 'wrong-file')
      assert.equal(found.message, `this is ${what}, not settings of plantgw`)
      assert.ok(found.range)
      if (command) assert.match(found.hint ?? '', new RegExp(`plantgw import ${command} plantgw.yaml`))
    })
})

describe('files of another kind as a configuration', () => {
  const files: Record<string, string> = {
    'a workflow of GitHub Actions':
      'name: ci\non: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: npm test}]}}',
    'a `tsconfig.json`': '{"compilerOptions": {"strict": true}, "include": ["src"]}',
    'a Helm chart': 'apiVersion: v2\nname: gateway\nversion: 1.0.0',
    'an AsyncAPI description': 'asyncapi: 3.0.0\ninfo: {title: a}\nchannels: {a: {address: a}}',
    'an export of Insomnia': '{"_type": "export", "__export_format": 4, "resources": []}',
    'a Postman environment': '{"name": "a", "values": [], "_postman_variable_scope": "environment"}',
    'an entry of an MCP registry':
      '{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": "a/b", "remotes": []}',
  }
  for (const [what, text] of Object.entries(files))
    test(what, () => {
      const [found, ...others] = ofConfiguration(text)
      assert.deepEqual(others, [])
      assert.equal(found?.code, 'wrong-file')
      assert.equal(found.message, `this is ${what}, not a configuration`)
    })
})

describe('files of ours with mistakes are not taken for others', () => {
  const files = [
    'name: a\nmcpServers: [{name: a, type: stdio, command: x}]',
    'nme: a\nmcpServers: [{name: a, type: stdio, command: x}]',
    'name: a\nmcpServers: {a: {command: x}}',
    'name: a\nservers: {a: {url: https://example.com}}\nrouters: []',
    'name: a\nversion: 1.0.0\nrouters: [{server: a, prefix: /a}]',
    'name: a\nopenapi: 3.1.0\nrouters: []',
    'name: a\ninfo: {title: x}\ntools: []',
    'name: a\nservices: {a: {url: x}}',
    'name: a\nkind: Service',
    'name: a\nversion: 1.0.0\njobs: []',
    'name: a\nremotes: []\nvalues: []',
    'nam: a\nrouter: []\nlimits: {}',
    'name: a\nport: 80\nrouters: []',
    'just text',
    '[1, 2]',
    '{"name": "a"}',
  ]
  for (const text of files)
    test(text.replaceAll('\n', '; '), () => {
      assert.ok(!ofConfiguration(text).some(({ code }) => code === 'wrong-file'))
    })
  for (const text of [
    'prot: 80\nloger: {level: info}',
    'storage: {type: postgres, url: x}\nnotifier: {type: signal}',
    'name: a\nport: 80',
  ])
    test(`settings: ${text.replaceAll('\n', '; ')}`, () => {
      assert.ok(!ofSettings(text).some(({ code }) => code === 'wrong-file'))
    })
})

test('what is too large is told by its beginning', () => {
  const rest = ' '.repeat(5_000_000)
  const hint = (text: string) => ofConfiguration(text + rest).map(({ code, hint }) => [code, hint])
  const told = (what: string) => [['file-too-large', what]]
  assert.deepEqual(
    hint('openapi: 3.1.0\n'),
    told('It seems to be an OpenAPI description. Convert it: `plantgw import openapi a.yaml`'),
  )
  assert.deepEqual(
    hint('{"log": {"version": "1.2"'),
    told('It seems to be a HAR file. Convert it: `plantgw import har a.yaml`'),
  )
  assert.deepEqual(hint('name: a\n'), told('Split it'))
})

test('the whole of a large file with comments is read once', () => {
  const text = `{${' /* */ // x\n'.repeat(100_000)}"name": "a"}`
  const found = ofConfiguration(text)
  assert.deepEqual(
    found.map(({ code, range }) => [code, range?.start.line]),
    [['yaml-syntax', 1]],
  )
})
