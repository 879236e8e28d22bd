import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import { DISCOVERY_TOOLS } from '../../src/discovery/index.ts'
import { READ_RESULT } from '../../src/json/shaping/index.ts'
import { METHODS } from '../../src/mcp/middleware/permissions.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

/** Small requests for the largest work that each method, and each tool of the gateway's own, can be asked for. */

export interface Sizes {
  /** Tools of each service. */
  tools: number
  /** Items of the answer that is kept. */
  rows: number
}

/** Services behind HTTP tools at `/http`, and a server with pages of tools at `/mcp`, both searched. */
export async function services(t: Pick<TestContext, 'after'>, { tools, rows }: Sizes) {
  const names = Array.from({ length: tools }, (_, i) => `get_customer_${i}_of_branch`)
  const row = (id: number) => ({ id, title: `plant ${id}`, tags: ['green', `t${id}`], aa: 'x'.repeat(200) })
  const answer = JSON.stringify({ items: Array.from({ length: rows }, (_, id) => row(id)) })
  const asked = { pages: 0 }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.end(answer)
    const { id, method, params }: Loose = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    const page = Number(params?.cursor ?? 0)
    if (method === 'tools/list') asked.pages++
    const listed = names.filter((_, i) => i % 50 === page).map((name) => ({ name, inputSchema: OBJECT }))
    const results: Record<string, object> = {
      initialize: { ...COMMON, protocolVersion: params?.protocolVersion },
      'tools/list': { tools: listed, ...(page < 49 && { nextCursor: String(page + 1) }) },
      'tools/call': { content: [{ type: 'text', text: 'done' }] },
    }
    const result = results[method]
    const error = { code: -32601, message: 'unknown' }
    const said = JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })
    return response.writeHead(200, { 'content-type': 'application/json' }).end(said)
  })
  const port = await listening(t, server)
  const url = `http://127.0.0.1:${port}`
  const response = { maxChars: 500, more: 'handle' }
  const tool = (name: string) => ({ name, description: 'Reads a customer', endpoint: url, response })
  const discovery = { type: 'search' }
  const configurations = [
    {
      name: 'http',
      routers: [{ server: 'http', prefix: '/http', discovery }],
      servers: [{ name: 'http' }],
      tools: names.map(tool),
    },
    {
      name: 'mcp',
      routers: [{ server: 'mcp', prefix: '/mcp', discovery }],
      mcpServers: [{ name: 'mcp', type: 'streamable-http', url }],
    },
  ]
  return { configurations, asked, tool: names[0] as string }
}

const OBJECT = { type: 'object' }
const COMMON = { capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
/** Names that are off by two letters from each of many. */
const nearly = (i: number) => `gut_custumer_${i}_of_branch`

interface Asked {
  method: string
  params: Loose
}

/** What is asked for 100 times, by a title. @param id of a kept result */
export function hardRequests(id: string): Record<string, (i: number) => Asked> {
  const call = (name: string, args: (i: number) => object) => (i: number) => ({
    method: 'tools/call',
    params: { name, arguments: args(i) },
  })
  const uri = `plantgw-result:///${id}`
  const ofMethods = METHODS.filter((method) => method !== 'initialize').map((method) => [
    method,
    (i: number) => ({ method, params: { name: nearly(i), uri, taskId: 't', level: 'info' } }),
  ])
  const hard: Record<string, readonly ((i: number) => object)[]> = {
    [READ_RESULT]: [
      () => ({ id, grep: 'x', limit: 10 }),
      () => ({ id, grep: 'is not there' }),
      () => ({ id, path: Array.from({ length: 150 }, (_, i) => `a${i}:items`).join(','), limit: 10 }),
      () => ({ id, path: 'items[].{id, title, tags}', limit: 10 }),
    ],
    describe_tools: [(i) => ({ names: Array.from({ length: 10 }, (_, j) => nearly(i * 10 + j)) })],
    search_tools: [() => ({ queries: Array(5).fill('delete custumer of brench '.repeat(35)) })],
    call_tool: [(i) => ({ name: nearly(i), arguments: {} })],
    call_read_tool: [(i) => ({ name: nearly(i), arguments: {} })],
  }
  const ofTools = [...DISCOVERY_TOOLS, READ_RESULT].flatMap((name) =>
    (hard[name] ?? [() => ({})]).map((args, i) => [`${name} ${i}`, call(name, args)]),
  )
  return Object.fromEntries([...ofMethods, ...ofTools])
}

export function batchOf(ask: (i: number) => Asked): string {
  return JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, ...ask(id) })))
}
