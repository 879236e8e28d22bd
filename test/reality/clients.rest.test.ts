import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { freePort, plantgw } from '../support/process.ts'
import type { Loose } from '../support/wire.ts'
import { npmFolder } from './npm.ts'

/** A client of other people at one URL. */
interface Opened {
  /** The names of all tools. */
  list(): Promise<string[]>
  /** What the client hands on of a result, in its own form. @param progress hears of each progress */
  call(name: string, args: Loose, progress: () => void): Promise<unknown>
  close?(): unknown
}

/** Parts of a result, besides text, that a client hands on. */
type Shown = 'structured' | 'progress'
type Open = (base: string, tools: Tools) => Promise<Opened>

interface Tools {
  /** A module of an installed package. */
  load(module: string): Promise<Loose>
  /** Runs the program of an installed package. @returns its standard output */
  run(spec: string, args: readonly string[]): Promise<string>
  programOf(spec: string): string
  folder: string
}

const info = { name: 'reality', version: '1' }
const namesOf = (tools: { name: string }[]) => tools.map(({ name }) => name)
/** Milliseconds for a program. */
const PROGRAM = 120_000

const SDK = '@modelcontextprotocol/sdk@1.12.0'
const CLIENT = '@modelcontextprotocol/client@2.4.0'
const AI = '@ai-sdk/mcp@1.0.102'
const LANGCHAIN = ['@langchain/mcp-adapters@1.1.4', '@langchain/core@1.4.0', '@langchain/langgraph@1.7.3']
const ZOD = 'zod@4.1.13'
const OPENAI = '@openai/agents@0.20.0'
const INSPECTOR = '@modelcontextprotocol/inspector@0.22.0'
const MCPORTER = 'mcporter@0.9.0'
const MCPC = '@apify/mcpc@0.2.6'
const REMOTE = 'mcp-remote@0.15.1'
const SUPERGATEWAY = 'supergateway@4.0.0'

/** A client of an official SDK. @param schema of a result, which the first generation asks for */
function ofSdk(client: Loose, ...schema: [undefined?]): Opened {
  return {
    list: async () => namesOf((await client.listTools()).tools),
    call: (name, args, onprogress) => client.callTool({ name, arguments: args }, ...schema, { onprogress }),
    close: () => client.close(),
  }
}

type Transport = 'http' | 'sse'
const urlOf = (base: string, transport: Transport) => `${base}/${transport === 'http' ? 'mcp' : 'sse'}`

const sdk =
  (transport: Transport): Open =>
  async (base, { load }) => {
    const { Client: Theirs } = await load('@modelcontextprotocol/sdk/client/index.js')
    const file = transport === 'http' ? 'streamableHttp' : 'sse'
    const module = await load(`@modelcontextprotocol/sdk/client/${file}.js`)
    const Over = module.StreamableHTTPClientTransport ?? module.SSEClientTransport
    const client = new Theirs(info)
    await client.connect(new Over(new URL(urlOf(base, transport))))
    return ofSdk(client, undefined)
  }

const modern =
  (mode: 'auto' | 'legacy'): Open =>
  async (base, { load }) => {
    const { Client: Theirs, StreamableHTTPClientTransport: Http } = await load('@modelcontextprotocol/client')
    const client = new Theirs(info, { versionNegotiation: { mode } })
    await client.connect(new Http(new URL(`${base}/mcp`)))
    return ofSdk(client)
  }

const ai =
  (type: Transport): Open =>
  async (base, { load }) => {
    const { createMCPClient } = await load('@ai-sdk/mcp')
    const client = await createMCPClient({ transport: { type, url: urlOf(base, type) } })
    const tools = await client.tools()
    return {
      list: async () => Object.keys(tools),
      call: (name, args) => tools[name].execute(args, { toolCallId: '1', messages: [] }),
      close: () => client.close(),
    }
  }

const langchain =
  (transport: Transport): Open =>
  async (base, { load }) => {
    const { MultiServerMCPClient } = await load('@langchain/mcp-adapters')
    let heard = () => {}
    const client = new MultiServerMCPClient({
      mcpServers: { it: { transport, url: urlOf(base, transport) } },
      onProgress: () => heard(),
    })
    const tools = await client.getTools()
    return {
      list: async () => namesOf(tools),
      call: (name, args, progress) => {
        heard = progress
        const tool = tools.find((one: Loose) => one.name === name)
        return tool.invoke({ type: 'tool_call', id: '1', name, args })
      },
      close: () => client.close(),
    }
  }

const openai =
  (transport: Transport): Open =>
  async (base, { load }) => {
    const { MCPServerStreamableHttp, MCPServerSSE } = await load('@openai/agents')
    const Server = transport === 'http' ? MCPServerStreamableHttp : MCPServerSSE
    const server = new Server({ url: urlOf(base, transport) })
    await server.connect()
    return {
      list: async () => namesOf(await server.listTools()),
      call: (name, args) => server.callToolResult(name, args),
      close: () => server.close(),
    }
  }

/** A bridge that a client starts as a server over stdio. @param flags before the URL */
const bridge =
  (spec: string, ...flags: string[]): Open =>
  async (base, { programOf, folder }) => {
    const client = new Client(info)
    const command = { command: process.execPath, args: [programOf(spec), ...flags, `${base}/mcp`] }
    const env = { PATH: process.env.PATH ?? '', HOME: folder }
    const transport = new StdioClientTransport({ ...command, env, stderr: 'ignore' })
    await client.connect(transport, { timeout: PROGRAM })
    return ofSdk(client, undefined)
  }

const inspector: Open = async (base, { run }) => {
  const ask = async (...args: string[]) =>
    JSON.parse(await run(INSPECTOR, ['--cli', `${base}/mcp`, '--transport', 'http', '--method', ...args]))
  return {
    list: async () => namesOf((await ask('tools/list')).tools),
    call: (name, args) => {
      const given = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`])
      return ask('tools/call', '--tool-name', name, ...given)
    },
  }
}

const mcporter: Open = async (base, { run }) => {
  const ask = (command: string, ...args: string[]) =>
    run(MCPORTER, [command, '--http-url', `${base}/mcp`, '--allow-http', ...args])
  return {
    list: async () => namesOf(JSON.parse(await ask('list', '--json')).tools),
    call: (name, args) => ask('call', '--tool', name, '--args', JSON.stringify(args), '--output', 'raw'),
  }
}

const mcpc: Open = async (base, { run }) => {
  const ask = async (...args: string[]) => JSON.parse(await run(MCPC, ['--json', ...args]))
  const session = base.replace(/.*\//, '@')
  await ask('connect', `${base}/mcp`, session)
  return {
    list: async () => namesOf(await ask(session, 'tools-list')),
    call: (name, args) => ask(session, 'tools-call', name, JSON.stringify(args)),
    close: () => run(MCPC, ['--json', 'close', session]),
  }
}

const BOTH: Shown[] = ['structured', 'progress']

/** Clients of other people, pinned; a new one is a line. */
const CLIENTS: [title: string, packages: string[], shows: Shown[], open: Open][] = [
  [`${SDK}, HTTP`, [SDK], BOTH, sdk('http')],
  [`${SDK}, SSE`, [SDK], BOTH, sdk('sse')],
  [`${CLIENT}, auto`, [CLIENT], BOTH, modern('auto')],
  [`${CLIENT}, legacy`, [CLIENT], BOTH, modern('legacy')],
  [`${AI}, HTTP`, [AI, ZOD], ['structured'], ai('http')],
  [`${AI}, SSE`, [AI, ZOD], ['structured'], ai('sse')],
  [`${LANGCHAIN[0]}, HTTP`, LANGCHAIN, BOTH, langchain('http')],
  [`${LANGCHAIN[0]}, SSE`, LANGCHAIN, BOTH, langchain('sse')],
  [`${OPENAI}, HTTP`, [OPENAI, ZOD], ['structured'], openai('http')],
  [`${OPENAI}, SSE`, [OPENAI, ZOD], ['structured'], openai('sse')],
  [INSPECTOR, [INSPECTOR], ['structured'], inspector],
  [MCPORTER, [MCPORTER], [], mcporter],
  [MCPC, [MCPC], ['structured'], mcpc],
  [REMOTE, [REMOTE], BOTH, bridge(REMOTE)],
  [SUPERGATEWAY, [SUPERGATEWAY], ['structured'], bridge(SUPERGATEWAY, '--streamableHttp')],
]

/** An HTTP API with one resource. */
async function api(): Promise<{ url: string; close: () => unknown }> {
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ path: url }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}

const EVERYTHING = '@modelcontextprotocol/server-everything@2026.8.31'
/** A member that is no part of a text. */
const STRUCTURED = /[^\\]"humidity":82/
const FILES = '@modelcontextprotocol/server-filesystem@2026.8.31'

/** Calls of each client: to an HTTP API, a server and a list of servers. */
const CALLS: Record<string, [name: string, args: Loose, answer: RegExp, of?: Shown][]> = {
  '/api': [['thing', { id: 7 }, /things\/7/]],
  '/ev': [
    ['echo', { message: 'hello' }, /hello/],
    ['get-structured-content', { location: 'New York' }, /temperature/, 'structured'],
    ['trigger-long-running-operation', { duration: 0.4, steps: 2 }, /completed/, 'progress'],
  ],
  '/two': [
    ['ev__echo', { message: 'hello' }, /hello/],
    ['files__list_allowed_directories', {}, /plantgw-reality/],
  ],
}

describe('clients of other people through the gateway', { timeout: 3_600_000 }, () => {
  const { folder, install, programOf } = npmFolder()
  let missing = ''
  let base = ''
  const stop: (() => unknown)[] = []
  after(() => Promise.all(stop.reverse().map((one) => one())))
  const t = { after: (end: () => unknown) => void stop.push(end) } as TestContext
  let load: Tools['load']

  before(async () => {
    const packages = CLIENTS.flatMap(([, packages]) => packages)
    missing = await install([...new Set([...packages, EVERYTHING, FILES])])
    if (missing) return
    // Only a module beside the packages can import them.
    writeFileSync(join(folder, 'load.js'), 'export const load = (module) => import(module)')
    load = (await import(pathToFileURL(join(folder, 'load.js')).href)).load
    const { url, close } = await api()
    stop.push(close)
    const server = (name: string, spec: string, ...args: string[]) => ({
      name,
      type: 'stdio',
      command: process.execPath,
      args: [programOf(spec), ...args],
    })
    const configuration = {
      name: 'reality',
      routers: [
        { server: 'api', prefix: '/api' },
        { server: 'ev', prefix: '/ev' },
        { server: ['ev', 'files'], prefix: '/two' },
      ],
      servers: [{ name: 'api', config: { url } }],
      tools: [
        {
          name: 'thing',
          description: 'Gets a thing',
          method: 'GET',
          endpoint: '{{.Config.url}}/things/{{.Args.id}}',
          args: [{ name: 'id', position: 'path', type: 'integer', required: true }],
        },
      ],
      mcpServers: [server('ev', EVERYTHING), server('files', FILES, folder)],
    }
    writeFileSync(join(folder, 'reality.json'), JSON.stringify(configuration))
    const port = String(await freePort())
    await plantgw(t, ['serve', join(folder, 'reality.json'), '--port', port]).until(/plantgw serves/)
    base = `http://127.0.0.1:${port}`
  })

  const run: Tools['run'] = async (spec, args) => {
    // Clients remember sessions in their home.
    const env = { PATH: process.env.PATH ?? '', HOME: folder }
    const options = { cwd: folder, env, timeout: PROGRAM }
    return (await promisify(execFile)(process.execPath, [programOf(spec), ...args], options)).stdout
  }

  for (const [title, , shows, open] of CLIENTS)
    test(title, async (t) => {
      if (missing) return t.skip(missing)
      for (const [path, calls] of Object.entries(CALLS)) {
        const plain = new Client(info)
        t.after(() => plain.close())
        await plain.connect(new StreamableHTTPClientTransport(new URL(`${base}${path}/mcp`)) as never)
        const opened = await open(`${base}${path}`, { load, run, programOf, folder })
        t.after(() => opened.close?.())
        const names = namesOf((await plain.listTools()).tools)
        // server-everything has more tools for clients that answer questions.
        const listed = (await opened.list()).filter((name) => path === '/api' || names.includes(name))
        assert.deepEqual(listed.sort(), names.sort(), path)
        for (const [name, args, answer, of] of calls) {
          let heard = 0
          const shown = JSON.stringify(await opened.call(name, args, () => heard++))
          assert.match(shown, answer)
          if (of === undefined || !shows.includes(of)) continue
          if (of === 'structured') assert.match(shown, STRUCTURED)
          else assert.ok(heard > 0, 'progress')
        }
      }
    })
})
