import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

const MINUTE = 60_000

interface Says {
  ttlMs?: number
  cacheScope?: string
}

/** A server of 2026-07-28 with one tool, whose name counts how often its tools were listed. */
export async function hinting(t: TestContext, name: string, says: Says = {}) {
  const hints = { ttlMs: MINUTE, cacheScope: 'public', ...says }
  const streams: [ServerResponse, Loose][] = []
  const state = { lists: 0, discovers: 0, streams, hold: Promise.resolve() }
  const server = createServer(async (request, response) => {
    const sent = await text(request)
    const { id, method, params }: Loose = sent ? JSON.parse(sent) : {}
    const message = (raw: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...raw })}\n\n`
    if (method === 'subscriptions/listen') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
      const acknowledged = { _meta, notifications: params.notifications }
      response.write(message({ method: 'notifications/subscriptions/acknowledged', params: acknowledged }))
      state.streams.push([response, _meta])
      return
    }
    let result: object = { content: [] }
    if (method === 'server/discover') {
      state.discovers++
      const capabilities = { tools: { listChanged: true } }
      result = { supportedVersions: ['2026-07-28'], capabilities, ...hints }
    } else if (method === 'tools/list') {
      const caller = request.headers.authorization?.replace(/\W/g, '_') ?? ''
      const tools = [{ name: `${name}_${++state.lists}${caller}`, inputSchema: { type: 'object' } }]
      result = { tools, ...hints }
      await state.hold
    }
    const error = { code: -32601, message: 'no such method' }
    const answer = method === 'initialize' ? { error } : { result: { resultType: 'complete', ...result } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
  const url = `http://127.0.0.1:${await listening(t, server)}/mcp`
  const changed = () => {
    for (const [stream, _meta] of state.streams) {
      const raw = { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } }
      stream.write(`data: ${JSON.stringify(raw)}\n\n`)
    }
  }
  return Object.assign(state, { name, url, changed, hints })
}
