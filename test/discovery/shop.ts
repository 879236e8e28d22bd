import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Loose } from '../support/wire.ts'

/** A shop with tools, behind a router that searches. */
export interface Shop {
  /** What came to it: tools that were called, with their arguments. */
  called: [name: string, args: Loose, meta?: Loose][]
  /** How often its tools were listed. */
  lists: number
  router: object
  rest: Loose
}

const text = (description: string) => ({ type: 'string', description })

/** Its tools; `delete_order` needs an id. */
const TOOLS: Loose[] = [
  ['list_orders', 'Lists the orders of a customer. The newest first.', { readOnlyHint: true }],
  ['get_order', 'Reads one order.', { readOnlyHint: true }],
  ['delete_order', 'Deletes an order.', { destructiveHint: true }],
  ['create_refund', 'Gives money of a payment back.', undefined],
  ['ship_parcel', 'Sends a parcel to an address.', { destructiveHint: false }],
].map(([name, description, annotations]) => ({ name, description, ...(annotations ? { annotations } : {}) }))

async function listening(
  t: TestContext,
  answer: (path: string, body: string, headers: IncomingHttpHeaders) => object | undefined,
) {
  const server = createServer(async (incoming, outgoing) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    const answered = answer(String(incoming.url), body, incoming.headers)
    if (!answered) outgoing.writeHead(incoming.method === 'POST' ? 202 : 405).end()
    else outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** As HTTP tools. */
export async function httpShop(t: TestContext): Promise<Shop> {
  const shop: Shop = { called: [], lists: 0, router: { server: 'shop' }, rest: {} }
  const port = await listening(t, (path) => {
    const url = new URL(path, 'http://localhost')
    shop.called.push([url.pathname.slice(1), Object.fromEntries(url.searchParams)])
    return { done: url.pathname.slice(1) }
  })
  const tools = TOOLS.map((tool) => ({
    ...tool,
    group: /order/.test(tool.name) ? 'orders' : 'desk',
    endpoint: `http://127.0.0.1:${port}/${tool.name}`,
    args: [
      { name: 'id', position: 'query', type: 'string', required: true, description: 'The number' },
      { name: 'note', position: 'query', type: 'string' },
    ],
  }))
  shop.rest = { servers: [{ name: 'shop' }], tools }
  return shop
}

/** As an MCP server over streamable HTTP; who asks also has a tool that is named after the token. */
export async function mcpShop(
  t: TestContext,
  era: 'session' | 'stateless',
  more: readonly Loose[] = [],
): Promise<Shop> {
  const modern = era === 'stateless'
  const shop: Shop = { called: [], lists: 0, router: { server: 'shop' }, rest: {} }
  const schema = {
    type: 'object',
    properties: { id: text('The number'), note: { type: 'string' } },
    required: ['id'],
  }
  const tools = [...TOOLS, ...more].map((tool) => ({ ...tool, inputSchema: schema }))
  const toolOf = (name: string) => ({ name, description: 'A secret.', inputSchema: schema })
  const half = Math.ceil(tools.length / 2)
  const port = await listening(t, (_, body, { authorization }) => {
    const { id, method, params }: Loose = body ? JSON.parse(body) : {}
    if (id === undefined) return undefined
    const result = (given: object) => ({
      jsonrpc: '2.0',
      id,
      result: { ...(modern && { resultType: 'complete' }), ...given },
    })
    if (method === 'tools/list') {
      shop.lists++
      const cache = modern && { ttlMs: 3_600_000, cacheScope: 'public' }
      const own = authorization === undefined ? [] : [toolOf(`secret_of_${authorization.slice(7)}`)]
      // In two pages.
      return params?.cursor === 'rest'
        ? result({ tools: [...tools.slice(half), ...own], ...cache })
        : result({ tools: tools.slice(0, half), nextCursor: 'rest', ...cache })
    }
    if (method === 'tools/call') {
      shop.called.push([params.name, params.arguments, params._meta])
      if (params.arguments?.id === undefined)
        return { jsonrpc: '2.0', id, error: { code: -32602, message: 'id is missing' } }
      return result({
        content: [{ type: 'text', text: `done ${params.name}` }],
        structuredContent: { done: params.name },
      })
    }
    if (modern && method === 'server/discover')
      return result({ supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } } })
    if (!modern && method === 'initialize') {
      const { protocolVersion } = params
      const serverInfo = { name: 'm', version: '1' }
      return result({ protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo })
    }
    return { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }
  })
  const server = { name: 'shop', type: 'streamable-http', url: `http://127.0.0.1:${port}/mcp` }
  const groups = Object.fromEntries(
    TOOLS.map(({ name }) => [name, { group: /order/.test(name) ? 'orders' : 'desk' }]),
  )
  shop.rest = { mcpServers: [{ ...server, toolOverrides: groups }] }
  return shop
}
