import { Readable } from 'node:stream'
import type { Context, Hono } from 'hono'
import { HttpResponse } from '../../access/http-response.ts'
import { nodePair } from '../../mcp/index.ts'

/** Bytes of a body after which the rest is not passed on: the parent refuses it. */
const MAX_BODY = 1024 * 1024

/** A request for a page that the parent has. */
export interface PageRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string | undefined>>
  rawHeaders: readonly string[]
  /** Such as `1.1`: proxies are recognised by it. */
  httpVersion: string | undefined
  remoteAddress: string | undefined
  body: Uint8Array | undefined
}

export interface Page {
  status: number
  headers: [name: string, value: string][]
  body: Uint8Array
}

/** Answers a request with the parent's answer. */
export async function askPage(
  c: Context,
  ask: (request: PageRequest) => Promise<Page>,
): Promise<HttpResponse> {
  const { incoming } = nodePair(c)
  const { method, url } = c.req
  let body: Uint8Array | undefined
  try {
    if (method !== 'GET' && method !== 'HEAD')
      body = await beginningOf(incoming?.iterator({ destroyOnReturn: false }) ?? c.req.raw.body ?? [])
  } catch {
    return HttpResponse.json({ error: 400, message: 'The body ended before it was complete.' }, 400)
  }
  const page = await ask({
    method,
    url,
    headers: (incoming?.headers ?? {}) as PageRequest['headers'],
    rawHeaders: incoming?.rawHeaders ?? [],
    httpVersion: incoming?.httpVersion,
    remoteAddress: incoming?.socket?.remoteAddress,
    body,
  })
  return new HttpResponse(page.status, Object.fromEntries(page.headers), Buffer.from(page.body))
}

async function beginningOf(body: AsyncIterable<Uint8Array> | Uint8Array[]): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    pieces.push(piece)
    size += piece.byteLength
    if (size > MAX_BODY) break
  }
  return Buffer.concat(pieces)
}

/** Has an app answer a request as if its client were connected here. */
export async function answerPage(app: Hono, asked: PageRequest): Promise<Page> {
  const { method, url, headers, rawHeaders, httpVersion, remoteAddress, body } = asked
  const sent = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  const request = new Request(url, { method, headers: sent, ...(body && { body }) })
  const incoming = Object.assign(Readable.from(body ? [Buffer.from(body)] : []), {
    headers,
    rawHeaders,
    httpVersion,
    complete: true,
    socket: { remoteAddress },
  })
  const response = await app.fetch(request, { incoming })
  return {
    status: response.status,
    headers: [...response.headers],
    body: new Uint8Array(await response.arrayBuffer()),
  }
}
