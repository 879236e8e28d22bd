import { Readable } from 'node:stream'
import type { Context, Hono } from 'hono'
import { HttpResponse } from '../../access/http-response.ts'
import { type MemoryReservation, memory } from '../../access/memory.ts'
import { limitReached } from '../../access/refusals.ts'
import { nodePair } from '../../mcp/index.ts'
import { isAdminRoute } from '../../server/admin-routes.ts'
import { isConsole } from '../../server/console-routes.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Channel, Page, PageRequest, ParentHandlers } from './channel.ts'

/** Bytes of a body after which the rest is not passed on: the parent refuses it. */
const MAX_BODY = 1024 * 1024
/** The same for admin routes, which take a name at most. */
const MAX_ADMIN_BODY = 4096

/** Types of bodies that may last. */
const LASTING = /^(?:text\/event-stream|application\/x-ndjson)/

/** Bodies that another process passes on to its clients: it asks for each piece once its client can take more. */
export class OpenBodies {
  readonly #readers = new Map<number, ReadableStreamDefaultReader<Uint8Array>>()
  #last = 0

  /** @returns the number of the body */
  open(body: ReadableStream<Uint8Array>): number {
    this.#readers.set(++this.#last, body.getReader())
    return this.#last
  }

  /** @returns undefined: it has ended */
  async next(body: number): Promise<Uint8Array | undefined> {
    const { value } = (await this.#readers.get(body)?.read()) ?? {}
    if (!value) this.#readers.delete(body)
    return value
  }

  leave(body: number): void {
    this.#readers.get(body)?.cancel().catch(unexpected('a body that was left'))
    this.#readers.delete(body)
  }

  /** The process of the clients has ended. */
  close(): void {
    for (const body of this.#readers.keys()) this.leave(body)
  }
}

/** Answers a request with the parent's answer. */
export async function askPage(
  c: Context,
  parent: Pick<Channel<ParentHandlers>, 'ask' | 'note'>,
): Promise<HttpResponse> {
  const { incoming } = nodePair(c)
  const { method, url } = c.req
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const reservation = memory.reserve()
  try {
    const body = hasBody ? await beginningOf(c, reservation) : undefined
    if (typeof body === 'number') return HttpResponse.json({ error: body, message: FAILURES[body] }, body)
    const page = await parent.ask('page', {
      method,
      url,
      headers: (incoming?.headers ?? {}) as PageRequest['headers'],
      rawHeaders: incoming?.rawHeaders ?? [],
      httpVersion: incoming?.httpVersion,
      remoteAddress: incoming?.socket?.remoteAddress,
      body,
    })
    const content = typeof page.body === 'number' ? passed(page.body, parent) : Buffer.from(page.body)
    return new HttpResponse(page.status, Object.fromEntries(page.headers), content)
  } finally {
    reservation.free()
  }
}

/** A body of the parent, read as the client reads it. */
function passed(
  body: number,
  parent: Pick<Channel<ParentHandlers>, 'ask' | 'note'>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await parent.ask('nextPiece', body)
        if (piece) controller.enqueue(piece)
        else controller.close()
      },
      cancel: () => parent.note('leaveBody', body),
    },
    { highWaterMark: 0 },
  )
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
export async function answerPage(app: Hono, asked: PageRequest, bodies: OpenBodies): Promise<Page> {
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
  const isLasting = LASTING.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: [...response.headers],
    body:
      isLasting && response.body ? bodies.open(response.body) : new Uint8Array(await response.arrayBuffer()),
  }
}
