import { Readable } from 'node:stream'
import type { Context, Hono } from 'hono'
import { HttpResponse } from '../access/http-response.ts'
import { nodePair } from '../mcp/index.ts'
import type { Page, PageRequest } from './channel-messages.ts'

/** Bytes of a body after which the rest is not passed on: it is refused there. */
const MAX_BODY = 1024 * 1024

/** A request as another process can answer it. */
export async function pageRequest(c: Context): Promise<PageRequest> {
  const { incoming } = nodePair(c)
  const { method, url } = c.req
  return {
    method,
    url,
    headers: (incoming?.headers ?? {}) as PageRequest['headers'],
    rawHeaders: incoming?.rawHeaders ?? [],
    httpVersion: incoming?.httpVersion,
    remoteAddress: incoming?.socket?.remoteAddress,
    body:
      method === 'GET' || method === 'HEAD'
        ? undefined
        : await beginningOf(incoming?.iterator({ destroyOnReturn: false }) ?? c.req.raw.body ?? []),
  }
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

export function pageResponse({ status, headers, body }: Page): HttpResponse {
  return new HttpResponse(status, Object.fromEntries(headers), Buffer.from(body))
}

/** Has an app answer it as if its client were connected here. */
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
