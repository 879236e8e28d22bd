import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

/** What a server speaks: a revision with sessions, 2026-07-28, or SSE. */
export type Era = 'session' | 'modern' | 'sse'

/** What is written to: a response, or what encodes it. */
export interface Out {
  write(text: string): unknown
  end(text?: string): unknown
}

const HANDSHAKES: Record<Era, Record<string, object>> = {
  session: { initialize: { protocolVersion: '2025-11-25' } },
  sse: { initialize: { protocolVersion: '2024-11-05' } },
  modern: { 'server/discover': { resultType: 'complete', supportedVersions: ['2026-07-28'] } },
}
const COMMON = { capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
const plain = (response: ServerResponse): Out =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

/**
 * A server without session ids that answers handshakes as it should, and calls of tools as `answer` does.
 * @param answer gets the response, or the event stream of a server of SSE
 * @param begin begins an event stream of SSE
 */
export async function answering(
  t: TestContext,
  era: Era,
  answer: (response: ServerResponse, message: Loose, request: IncomingMessage) => void,
  begin = plain,
  tools: readonly object[] = [],
): Promise<{ server: { type: string; url: string }; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = []
  let events: Out | undefined
  const server = createServer(async (request, response) => {
    seen.push(request)
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method === 'GET' && era === 'sse') {
      events = begin(response)
      events.write('event: endpoint\ndata: /message\n\n')
      return
    }
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message: Loose = JSON.parse(text)
    const { id, method } = message
    if (era === 'sse' || id === undefined) response.writeHead(202).end()
    if (id === undefined) return
    if (method === 'tools/call') return answer((events ?? response) as ServerResponse, message, request)
    const own = method === 'tools/list' ? { tools } : HANDSHAKES[era][method]
    const told = own ? { result: { ...COMMON, ...own } } : { error: { code: -32601, message: 'unknown' } }
    const whole = JSON.stringify({ jsonrpc: '2.0', id, ...told })
    if (events) events.write(`data: ${whole}\n\n`)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(whole)
  })
  const port = await listening(t, server)
  const type = era === 'sse' ? 'sse' : 'streamable-http'
  return { server: { type, url: `http://127.0.0.1:${port}/mcp` }, seen }
}

/** The result of a tool that says this. */
export function said(id: unknown, text: string): string {
  const result = { content: [{ type: 'text', text }], resultType: 'complete' }
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}
