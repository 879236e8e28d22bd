import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { freePort, plantgw } from '../support/process.ts'
import type { Loose } from '../support/wire.ts'
import { npmFolder, packageOf } from './npm.ts'

/** Servers of other people, pinned; a new one is a line. `FOLDER` is one that exists. */
const SERVERS: [spec: string, ...args: string[]][] = [
  ['@modelcontextprotocol/server-everything@2026.8.31'],
  ['@modelcontextprotocol/server-filesystem@2026.8.31', 'FOLDER'],
  ['@modelcontextprotocol/server-memory@2026.8.31'],
  ['@modelcontextprotocol/server-sequential-thinking@2026.8.31'],
  ['@upstash/context7-mcp@4.1.1'],
  ['mcp-hello-world@1.1.2'],
  ['tavily-mcp@0.2.22'],
  ['exa-mcp-server@3.4.1'],
  ['@brave/brave-search-mcp-server@2.1.4', '--transport', 'stdio'],
  ['airtable-mcp-server@1.14.0'],
  ['@perplexity-ai/mcp-server@1.2.1'],
  ['@notionhq/notion-mcp-server@2.5.2'],
  ['@openbnb/mcp-server-airbnb@0.3.0'],
  ['@eslint/mcp@0.3.13'],
  ['@mui/mcp@0.1.5'],
  ['@antv/mcp-server-chart@0.9.10'],
  ['howtocook-mcp@0.2.2'],
  ['mcp-server-code-runner@0.1.8'],
  ['@hubspot/mcp-server@0.4.0'],
  ['@modelcontextprotocol/server-github@2025.4.8'],
  ['@agent-infra/mcp-server-filesystem@1.2.29', '--allowed-directories', 'FOLDER'],
  ['@knip/mcp@0.0.36'],
]
/** What the servers need to start; no service behind one is asked for anything. */
const KEYS = [
  ...['TAVILY', 'EXA', 'BRAVE', 'AIRTABLE', 'PERPLEXITY'].map((name) => `${name}_API_KEY`),
  ...['NOTION_TOKEN', 'PRIVATE_APP_ACCESS_TOKEN'],
]
const ENV = Object.fromEntries(KEYS.map((key) => [key, 'nothing-is-asked-with-it']))
/** The other member of each list of servers; the second for the first. */
const OTHERS = ['server-memory', 'server-sequential-thinking'] as const
const otherThan = (name: string) => OTHERS.find((one) => one !== name)!
/** Milliseconds for one request. */
const ANSWER = { timeout: 120_000 }

const info = { name: 'reality', version: '1' }
const capabilities = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } }

const nameOf = (spec: string) =>
  packageOf(spec)
    .replace(/^@(?:modelcontextprotocol\/)?/, '')
    .replaceAll('/', '-')

/** The lists of a client, each with its method, its member and what tells entries apart. */
const LISTS = [
  ['listTools', 'tools', 'name'],
  ['listPrompts', 'prompts', 'name'],
  ['listResources', 'resources', 'uri'],
  ['listResourceTemplates', 'resourceTemplates', 'uriTemplate'],
] as const

/** What a client of either generation hears of a server, in one order. @param prefix of the names in a list of servers */
async function facts(client: Client | ModernClient, prefix = '') {
  const heard: Loose = {}
  for (const [method, key, by] of LISTS) {
    const all: Loose[] = []
    let cursor: string | undefined
    do {
      const ask = (client as Loose)[method] as (params: object, options: object) => Promise<Loose>
      // A server need not have every list.
      const page = await ask
        .call(client, cursor === undefined ? {} : { cursor }, ANSWER)
        .catch(() => ({ [key]: [] as Loose[], nextCursor: undefined }))
      all.push(...page[key])
      cursor = page.nextCursor
    } while (cursor !== undefined && all.length < 10_000)
    const own = all.filter((one) => by !== 'name' || String(one.name).startsWith(prefix))
    heard[key] = own
      .map((one) => (by === 'name' ? { ...one, name: String(one.name).slice(prefix.length) } : one))
      .sort((a, b) => String(a[by]).localeCompare(String(b[by])))
  }
  const [first] = heard.tools
  heard.wrong = first && (await isRefused(client, `${prefix}${first.name}`, { no_such_argument: { a: [1] } }))
  heard.unknown = await isRefused(client, `${prefix}no_such_tool`, {})
  return JSON.parse(JSON.stringify(heard)) as Loose
}

async function isRefused(client: Client | ModernClient, name: string, args: object): Promise<boolean> {
  const called = (client as Client).callTool({ name, arguments: args as never }, undefined, ANSWER)
  return called.then(
    ({ isError }) => isError === true,
    () => true,
  )
}

/** As 2026-07-28 knows tools: its tasks are no matter of them. */
function withoutTasks(direct: Loose): Loose {
  return { ...direct, tools: direct.tools.map(({ execution: _, ...tool }: Loose) => tool) }
}

/** What was heard through the gateway is what was heard directly. */
function compare(direct: Loose, through: Loose, ways: string, hasOther = false): void {
  for (const [, key, by] of LISTS) {
    const known = new Set(direct[key].map((one: Loose) => one[by]))
    // The resources of the other member cannot be told apart by their names.
    const own =
      hasOther && by !== 'name' ? through[key].filter((one: Loose) => known.has(one[by])) : through[key]
    assert.deepEqual(own, direct[key], `${key}, ${ways}`)
  }
  assert.deepEqual([through.wrong, through.unknown], [direct.wrong, direct.unknown], `refusals, ${ways}`)
}

describe('servers of other people, directly and through the gateway', { timeout: 3_600_000 }, () => {
  const { folder, install, programOf } = npmFolder()
  let missing = ''
  let base = ''
  const stop: (() => unknown)[] = []
  after(() => Promise.all(stop.reverse().map((one) => one())))

  /** The program of a package, as its own description names it. */
  function commandOf([spec, ...args]: (typeof SERVERS)[number]) {
    const own = args.map((one) => (one === 'FOLDER' ? folder : one))
    return { command: process.execPath, args: [programOf(spec), ...own], env: ENV }
  }

  before(async () => {
    missing = await install(SERVERS.map(([spec]) => spec))
    if (missing) return
    const mcpServers = SERVERS.map((row) => ({ name: nameOf(row[0]), type: 'stdio', ...commandOf(row) }))
    const routers = mcpServers.flatMap(({ name }) => [
      { server: name, prefix: `/${name}` },
      { server: [name, otherThan(name)], prefix: `/list/${name}` },
    ])
    writeFileSync(join(folder, 'reality.json'), JSON.stringify({ name: 'reality', routers, mcpServers }))
    const port = String(await freePort())
    const t = { after: (end: () => unknown) => void stop.push(end) } as TestContext
    await plantgw(t, ['serve', join(folder, 'reality.json'), '--port', port]).until(/plantgw serves/)
    base = `http://127.0.0.1:${port}`
  })

  for (const row of SERVERS)
    test(row[0], async (t) => {
      if (missing) return t.skip(missing)
      const name = nameOf(row[0])
      const open = async (transport: object) => {
        const client = new Client(info, { capabilities })
        t.after(() => client.close())
        await client.connect(transport as never, ANSWER)
        return client
      }
      const url = (path: string) => new URL(`${base}${path}/mcp`)
      const PATH = process.env.PATH ?? ''
      const { env, ...program } = commandOf(row)
      const stdio = new StdioClientTransport({ ...program, env: { PATH, ...env }, stderr: 'ignore' })
      const alone = await open(stdio)
      const direct = await facts(alone)
      assert.ok(direct.tools.length > 0, 'the server has tools')

      const session = await open(new StreamableHTTPClientTransport(url(`/${name}`)))
      assert.equal(session.getInstructions(), alone.getInstructions())
      assert.deepEqual(session.getServerVersion(), alone.getServerVersion())
      compare(direct, await facts(session), 'a session')

      const modern = new ModernClient(info, { capabilities, versionNegotiation: { mode: 'auto' } })
      t.after(() => modern.close())
      await modern.connect(new ModernTransport(url(`/${name}`)))
      compare(withoutTasks(direct), await facts(modern), '2026-07-28')

      const list = await open(new StreamableHTTPClientTransport(url(`/list/${name}`)))
      compare(direct, await facts(list, `${name}__`), 'a list', true)
    })
})
