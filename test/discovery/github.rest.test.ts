import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { parse } from 'yaml'
import { description } from '../../bench/discovery/apis.ts'
import { importOpenApi } from '../../src/openapi/index.ts'
import { everythingStdio } from '../fixtures/everything/start.ts'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { ROOT } from '../support/process.ts'
import type { Loose } from '../support/wire.ts'

/** What a client of either generation does. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string; description?: string | undefined }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<Loose>
  close(): Promise<void>
}

const info = { name: 'test', version: '1.0.0' }
const CLIENTS: Record<string, (url: string) => Promise<AnyClient>> = {
  'the 1.x SDK client': async (url) => {
    const client = new Client(info)
    await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never)
    return client as AnyClient
  },
  'the 2.x SDK client, 2026-07-28': async (url) => {
    const client = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(new ModernHttp(new URL(url)))
    return client as AnyClient
  },
}

const PLANTS = readFileSync(join(ROOT, 'examples/starter/service.yaml'), 'utf8').replaceAll(
  'SERVICE',
  'plants',
)

const REPO = { owner: 'octo', repo: 'hello' }

/** Tasks: what to search for, the tool, its arguments, and the request that it makes. */
const TASKS: [
  queries: string[],
  name: string,
  args: Loose,
  request: [method: string, url: string, body: Loose],
][] = [
  [
    ['create issue', 'open a new issue in a repository'],
    'issues_create',
    { ...REPO, title: 'It rains' },
    ['POST', '/repos/octo/hello/issues', { title: 'It rains' }],
  ],
  [
    ['list pull requests of a repository'],
    'pulls_list',
    { ...REPO, state: 'closed', per_page: 2 },
    ['GET', '/repos/octo/hello/pulls?state=closed&per_page=2', null],
  ],
  [
    ['merge pull request', 'merge a pull request'],
    'pulls_merge',
    { ...REPO, pull_number: 7, body: { merge_method: 'squash' } },
    ['PUT', '/repos/octo/hello/pulls/7/merge', { merge_method: 'squash' }],
  ],
  [
    ['star a repository', 'star repository for authenticated user'],
    'activity_star-repo-for-authenticated-user',
    REPO,
    ['PUT', '/user/starred/octo/hello', null],
  ],
  [
    ['cancel workflow run', 'stop a workflow run'],
    'actions_cancel-workflow-run',
    { ...REPO, run_id: 99 },
    ['POST', '/repos/octo/hello/actions/runs/99/cancel', null],
  ],
]

async function mock(t: TestContext) {
  const received: [string, string, Loose][] = []
  const server = createServer(async (incoming, outgoing) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    received.push([incoming.method ?? '', incoming.url ?? '', body ? JSON.parse(body) : null])
    const one = incoming.url === '/plants' ? '{"name": "Fern"}' : '{"id": 1}'
    const answer = incoming.method === 'GET' ? `[${one}]` : one
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(answer)
  })
  const port = await listening(t, server)
  return { received, base: `http://127.0.0.1:${port}` }
}

describe('the API of GitHub behind one prefix', { timeout: 300_000 }, () => {
  let made: Loose | undefined
  before(() => {
    let text: string
    try {
      text = description('github')
    } catch {
      // The registry cannot be reached.
      return
    }
    const options = { name: 'github', server: 'http://localhost', listSize: Number.POSITIVE_INFINITY }
    const imported = importOpenApi({ file: 'github.json', text }, options)
    assert.ok(imported.fault === undefined && !imported.findings)
    made = parse(imported.configurations[0]!.text)
  })

  for (const [kind, connect] of Object.entries(CLIENTS))
    test(`${kind} finds, describes and calls five operations`, async (t) => {
      if (made === undefined) return t.skip('npm cannot fetch @octokit/openapi')
      const { received, base } = await mock(t)
      const { prefix, ...configuration } = structuredClone(made)
      const [api] = configuration.servers
      Object.assign(api, { name: 'github', baseUrl: base })
      configuration.routers = [{ server: 'github', prefix, discovery: { type: 'auto' } }]
      const gateway = await gatewayHere(t, configuration)
      const client = await connect(`${gateway.base}/github/mcp`)
      t.after(() => client.close())

      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['search_tools', 'describe_tools', 'call_read_tool', 'call_tool'],
      )
      assert.ok(JSON.stringify(tools).length / 4 < 1_500)
      assert.match(tools[0]!.description ?? '', /1,223 tools/)
      const said = async (name: string, args: Loose): Promise<string> => {
        const result = await client.callTool({ name, arguments: args })
        assert.ok(!result.isError, JSON.stringify(result))
        return result.content[0].text
      }
      for (const [at, [queries, name, args]] of TASKS.entries()) {
        const found = await said('search_tools', { queries })
        const line = found.split('\n').find((one) => one.startsWith(`${name}(`))
        assert.ok(line, found)
        assert.match(found, /\n6 of 1,223/)
        const definition = JSON.parse(await said('describe_tools', { names: [name] }))
        for (const key of Object.keys(args)) assert.ok(definition.inputSchema.properties[key], key)
        const by = line.endsWith('(read-only)') ? 'call_read_tool' : 'call_tool'
        // Models write arguments in both forms.
        const given = at % 2 ? JSON.stringify(args) : args
        assert.match(await said(by, { name, arguments: given }), /"id":\s*1/)
      }
      assert.deepEqual(
        received,
        TASKS.map(([, , , request]) => request),
      )
      const called = gateway.logged.filter(({ msg, tool }) => msg === 'tool call' && /_/.test(tool))
      assert.deepEqual(
        called.map(({ tool }) => tool).filter((tool) => !/^(?:search|describe)_tools$/.test(tool)),
        TASKS.map(([, name]) => name),
      )
    })

  test('with the plant store and an MCP server over stdio behind the same prefix', async (t) => {
    if (made === undefined) return t.skip('npm cannot fetch @octokit/openapi')
    const { received, base } = await mock(t)
    const { prefix: _, ...github } = structuredClone(made)
    Object.assign(github.servers[0], { name: 'github', baseUrl: base })
    const { prefix: __, ...plants } = parse(PLANTS) as Loose
    const [server] = plants.servers
    Object.assign(server, { name: 'plants', baseUrl: base })
    const all = {
      name: 'all',
      routers: [
        {
          prefix: '/',
          server: ['github/*', `${plants.name}/${server.name}`, 'files'],
          discovery: { type: 'auto' },
        },
      ],
      mcpServers: [{ name: 'files', type: 'stdio', ...everythingStdio('dual') }],
    }
    const gateway = await gatewayHere(t, github, undefined, {}, [plants, all])
    for (const [kind, connect] of Object.entries(CLIENTS)) {
      const client = await connect(`${gateway.base}/mcp`)
      t.after(() => client.close())
      const said = async (name: string, args: Loose): Promise<string> => {
        const result = await client.callTool({ name, arguments: args })
        assert.ok(!result.isError, `${kind}: ${JSON.stringify(result)}`)
        return result.content[0].text
      }
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['search_tools', 'describe_tools', 'call_read_tool', 'call_tool'],
      )
      for (const word of ['github', server.name, 'files'])
        assert.ok(tools[0]!.description?.includes(word), word)
      received.length = 0
      const search = async (queries: string[], name: string) =>
        assert.match(await said('search_tools', { queries }), new RegExp(`^${name}\\(`, 'm'))
      for (const [queries, name, args] of TASKS.slice(0, 3)) {
        await search(queries, `github__${name}`)
        await said('describe_tools', { names: [`github__${name}`] })
        await said('call_tool', { name: `github__${name}`, arguments: args })
      }
      await search(['create a plant'], `${server.name}__create_plant`)
      const planted = await said('call_tool', {
        name: `${server.name}__create_plant`,
        arguments: { id: 1, name: 'Fern' },
      })
      assert.equal(planted, 'Stored plant 1, Fern.')
      await search(['simple text for tests'], 'files__test_simple_text')
      assert.match(await said('call_tool', { name: 'files__test_simple_text', arguments: {} }), /simple text/)
      assert.deepEqual(
        received.map(([method, url]) => `${method} ${url}`),
        [...TASKS.slice(0, 3).map(([, , , [method, url]]) => `${method} ${url}`), 'POST /plants'],
      )
    }
  })
})
