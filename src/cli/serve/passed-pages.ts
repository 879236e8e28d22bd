import { Readable } from 'node:stream'
import type { Context, Hono } from 'hono'
import { HttpResponse } from '../../access/http-response.ts'
import { type MemoryReservation, memory } from '../../access/memory.ts'
import { limitReached } from '../../access/refusals.ts'
import { nodePair } from '../../mcp/index.ts'
import { isAdminRoute } from '../../server/admin-routes.ts'
import { isConsole } from '../../server/console-routes.ts'

/** Bytes of a body after which the rest is not passed on: the parent refuses it. */
const MAX_BODY = 1024 * 1024
/** The same for admin routes, which take a name at most. */
const MAX_ADMIN_BODY = 4096

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
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const reservation = memory.reserve()
  try {
    const body = hasBody ? await beginningOf(c, reservation) : undefined
    if (typeof body === 'number') return HttpResponse.json({ error: body, message: FAILURES[body] }, body)
    const page = await ask({
      method,
      url,
      headers: (incoming?.headers ?? {}) as PageRequest['headers'],
      rawHeaders: incoming?.rawHeaders ?? [],
      httpVersion: incoming?.httpVersion,
      remoteAddress: incoming?.socket?.remoteAddress,
      body,
    })
    return pageAnswer(page)
  } finally {
    reservation.free()
  }
}

function pageAnswer(page: Page): HttpResponse {
  return new HttpResponse(page.status, Object.fromEntries(page.headers), Buffer.from(page.body))
}

const FAILURES = { 400: 'The body ended before it was complete.', 503: limitReached('maxBuffered') }

/** @returns the status of a refusal if the body breaks off, or there is no memory for it */
async function beginningOf(c: Context, reservation: MemoryReservation): Promise<Uint8Array | 400 | 503> {
  const { path, raw } = c.req
  const most = isAdminRoute(path) && !isConsole(path) ? MAX_ADMIN_BODY : MAX_BODY
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of nodePair(c).incoming?.iterator({ destroyOnReturn: false }) ?? raw.body ?? []) {
      if (!reservation.add(piece.byteLength)) return 503
      pieces.push(piece)
      if (reservation.size > most) break
    }
  } catch {
    return 400
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
