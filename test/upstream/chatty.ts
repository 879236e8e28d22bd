import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

/** What carries a server's own messages: sessions of 2025-11-25 with a GET stream, SSE, or `subscriptions/listen`. */
export type Kind = 'http' | 'sse' | 'modern'

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
}
const EVENTS = { 'content-type': 'text/event-stream' }

interface Stream {
  response: ServerResponse
  /** The id of a `subscriptions/listen`. */
  tag: unknown
  /** URIs of the session, or of the subscription. */
  uris: Set<string>
}

/** A server that tells on its own, until its event streams are ended by `end`. */
export async function chatty(t: TestContext, kind: Kind) {
  const streams = new Set<Stream>()
  const sessions = new Map<string, Set<string>>()
  let ids = 0
  const state = {
    url: '',
    streams,
    /** Methods that came in, those of GET with their `Last-Event-ID`. */
    seen: [] as string[],
    /** Whether event streams have ids. */
    ids: true,
    /** Resolves when a GET stream may begin, which is then among the methods. */
    opening: undefined as (() => Promise<unknown>) | undefined,
    /** The status of requests, in place of answers. */
    status: undefined as number | undefined,
    /** The revision that handshakes agree on. */
    revision: '2025-11-25',
    /** Sends a message to every stream that is to have it. */
    push(method: string, params: Loose = {}) {
      for (const { response, tag, uris } of streams) {
        if (method === 'notifications/resources/updated' && !uris.has(params.uri)) continue
        const _meta = tag === undefined ? {} : { _meta: { 'io.modelcontextprotocol/subscriptionId': tag } }
        write(response, { jsonrpc: '2.0', method, params: { ...params, ..._meta } })
      }
    },
    /** Ends every event stream: as a server does, or as a network. */
    end(how: 'clean' | 'cut') {
      for (const { response } of [...streams]) how === 'clean' ? response.end() : response.destroy()
    },
    forget: () => sessions.clear(),
  }

  function write(response: ServerResponse, message: object, event = 'message') {
    const id = state.ids && kind === 'http' ? `id: e${++ids}\n` : ''
    response.write(`${id}event: ${event}\ndata: ${JSON.stringify(message)}\n\n`)
  }

  function hold(response: ServerResponse, uris: Set<string>, tag?: unknown): void {
    response.writeHead(200, EVENTS)
    response.flushHeaders()
    const stream = { response, tag, uris }
    streams.add(stream)
    response.once('close', () => streams.delete(stream))
  }

  function result({ method, params }: Loose, uris: Set<string>): object {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: state.revision,
          capabilities: CAPABILITIES,
          serverInfo: { name: kind, version: '1' },
        }
      case 'server/discover':
        return { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES }
      case 'tools/list':
        return { tools: [] }
      case 'resources/subscribe':
        uris.add(params.uri)
        return {}
      default:
        return {}
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse) {
    let text = ''
    for await (const chunk of request) text += chunk
    const message: Loose = text ? JSON.parse(text) : {}
    const { id, method, params } = message
    const resumed = request.headers['last-event-id']
    state.seen.push(method ?? `${request.method}${resumed === undefined ? '' : ` ${resumed}`}`)
    if (state.status !== undefined) return response.writeHead(state.status).end()
    const own = new URL(request.url ?? '', 'http://localhost').searchParams.get('session')
    const named = own ?? String(request.headers['mcp-session-id'] ?? '')
    if (kind === 'sse' && request.method === 'GET') {
      const name = `s${++ids}`
      const uris = new Set<string>()
      sessions.set(name, uris)
      hold(response, uris)
      response.write(`event: endpoint\ndata: /message?session=${name}\n\n`)
      return undefined
    }
    if (method === 'subscriptions/listen') {
      hold(response, new Set(params.notifications.resourceSubscriptions), id)
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
      const acknowledged = { notifications: params.notifications, _meta }
      write(response, {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: acknowledged,
      })
      return undefined
    }
    const begins = kind === 'http' && method === 'initialize'
    const name = begins ? `s${++ids}` : named
    if (begins) sessions.set(name, new Set())
    const uris = kind === 'modern' ? new Set<string>() : sessions.get(name)
    if (kind === 'modern' && request.method !== 'POST') return response.writeHead(405).end()
    if (kind === 'modern' && !params?._meta) return response.writeHead(400).end()
    if (!uris) return response.writeHead(404).end()
    if (request.method === 'GET') {
      if (state.opening) {
        await state.opening()
        state.seen.push('open')
      }
      return hold(response, uris)
    }
    if (id === undefined) return response.writeHead(202).end()
    const answer = { jsonrpc: '2.0', id, result: result(message, uris) }
    if (kind === 'sse') {
      response.writeHead(202).end()
      for (const stream of streams) if (stream.uris === uris) write(stream.response, answer)
      return undefined
    }
    const headers = { 'content-type': 'application/json', ...(begins && { 'mcp-session-id': name }) }
    return response.writeHead(200, headers).end(JSON.stringify(answer))
  }

  const server = createServer((request, response) => void serve(request, response))
  const port = await listening(t, server)
  state.url = `http://127.0.0.1:${port}/${kind === 'sse' ? 'sse' : 'mcp'}`
  return state
}
