import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { type Context, Hono, type HonoRequest, type MiddlewareHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { bearerTable } from '../access/bearer.ts'
import type { FailedLogins } from '../access/failed-logins.ts'
import { ExactNumber, type Json, JsonLimitError, parse } from '../json/index.ts'
import { StoreError } from '../store/store-error.ts'
import { pause } from '../text/index.ts'
import { int64, int64OfJson } from './int64.ts'
import {
  type Access,
  LIST_PIECE,
  type NewPlant,
  type Plant,
  type PlantSettings,
  type PlantStore,
} from './store.ts'

type Variables = { access: Access }
/** Counts wrong tokens by client address. @param caller undefined if the token is wrong @returns a refusal, if any */
export type JudgeLogin = (c: Context, caller: string | undefined) => ReturnType<FailedLogins['failed']>
type PlantsContext = Context<{ Variables: Variables }>

const STORE_ERRORS = {
  full: [507, 'The plant store has no space left: the change was not made.'],
  failed: [500, 'The plant store failed: no change was acknowledged.'],
  closed: [503, 'The plant store is shutting down: the change was not made.'],
  unreachable: [503, 'The plant store cannot be reached at the moment: no change was acknowledged.'],
} as const satisfies Record<string, [ContentfulStatusCode, string]>

function answerOf(error: Error): readonly [ContentfulStatusCode, string] {
  if (!(error instanceof StoreError)) return STORE_ERRORS.failed
  // A server may refuse during a failover, or while passwords change.
  if (error.kind === 'refused') return STORE_ERRORS.unreachable
  return Object.entries(STORE_ERRORS).find(([kind]) => kind === error.kind)?.[1] ?? STORE_ERRORS.failed
}

/**
 * The HTTP API of a plant store. It checks path and method first, then the token, then the rest of the request.
 * Every error has the body `{error: <status>, message}`.
 */
export function plantsApp(
  { basePath, tokens }: PlantSettings,
  store: PlantStore,
  onError: (error: Error) => void = () => {},
  judgeLogin: JudgeLogin = () => undefined,
): Hono {
  const app = new Hono<{ Variables: Variables }>().basePath(basePath)
  const authenticate = bearerAuthentication(tokens, judgeLogin)
  const document = description(basePath)

  app.get('/plants/openapi.json', (c) => c.body(document, 200, { 'content-type': 'application/json' }))
  app.all('/plants/openapi.json', notAllowed('GET, HEAD'))

  app.get('/plants', authenticate, async (c) => {
    const asked = pageOf(c.req.query('limit'), c.req.query('cursor'))
    if (asked instanceof Refusal) return refuse(c, asked.status, asked.message)
    if (asked) {
      const { plants, next } = await store.page(c.var.access, asked.limit, asked.after)
      if (next !== undefined) c.header('Link', nextLink(asked.limit, next))
      return c.json(plants)
    }
    const body = await bodyOf(jsonArray(store.list(c.var.access)), (error) => {
      onError(error)
      return endConnection(c)
    })
    return c.body(body, 200, { 'content-type': 'application/json' })
  })
  app.post('/plants', authenticate, async (c) => {
    const plant = await readNewPlant(c.req)
    if (plant instanceof Refusal) return refuse(c, plant.status, plant.message)
    if ((await store.create(c.var.access, plant)) === 'taken')
      return refuse(c, 400, `The field "id" is ${plant.id}, which is already taken.`)
    const { id: _, ...answer } = plant
    return c.json(answer)
  })
  app.all('/plants', notAllowed('GET, HEAD, POST'))

  app.delete('/plants/:id', authenticate, async (c) => {
    const id = int64(c.req.param('id'))
    if (id === undefined) return refuse(c, 400, 'The "id" in the path must be an int64 in decimal.')
    if (!(await store.delete(c.var.access, id))) return refuse(c, 404, `There is no plant with the id ${id}.`)
    return c.body(null, 204)
  })
  app.all('/plants/:id', notAllowed('DELETE'))

  app.notFound((c) => refuse(c, 404, 'This path does not exist.'))
  app.onError((error, c) => {
    onError(error)
    const [status, message] = answerOf(error)
    return refuse(c, status, message)
  })
  return app as unknown as Hono
}

function bearerAuthentication(
  tokens: PlantSettings['tokens'],
  judgeLogin: JudgeLogin,
): MiddlewareHandler<{ Variables: Variables }> {
  const find = bearerTable(tokens)
  return async function authenticate(c, next) {
    const given = c.req.header('authorization')
    const access = find(given)
    const denial = given === undefined ? undefined : judgeLogin(c, access?.caller)
    if (denial) {
      for (const [name, value] of Object.entries(denial.headers ?? {})) c.header(name, value)
      return refuse(c, 429, `${denial.message}.`)
    }
    if (access === undefined) {
      c.header('WWW-Authenticate', 'Bearer')
      return refuse(
        c,
        401,
        'The request needs the header "Authorization: Bearer <token>" with a known token.',
      )
    }
    c.set('access', access)
    return next()
  }
}

/** The page that a request asks for; undefined for the whole list. */
function pageOf(limit: string | undefined, cursor: string | undefined) {
  if (limit === undefined && cursor === undefined) return undefined
  const count = /^[1-9]\d{0,3}$/.test(limit ?? '') ? Number(limit) : LIST_PIECE
  if ((limit !== undefined && String(count) !== limit) || count > LIST_PIECE)
    return new Refusal(400, `The parameter "limit" must be an integer from 1 to ${LIST_PIECE}.`)
  const after = cursor === undefined ? 0n : int64(Buffer.from(cursor, 'base64url').toString('latin1'))
  if (after === undefined || after < 0n)
    return new Refusal(400, 'The parameter "cursor" must come from the link to the next page.')
  return { limit: count, after }
}

/** A `Link` header (RFC 8288). Its target is relative, because a proxy may have changed the path. */
function nextLink(limit: number, after: bigint): string {
  const cursor = Buffer.from(String(after)).toString('base64url')
  return `<?${new URLSearchParams({ limit: String(limit), cursor })}>; rel="next"`
}

/** Ends the connection of a request; false if the app was called without one. */
function endConnection(c: PlantsContext): boolean {
  const { outgoing } = (c.env ?? {}) as { outgoing?: ServerResponse }
  return outgoing?.destroy() !== undefined
}

function notAllowed(allow: string) {
  return (c: PlantsContext) => {
    c.header('Allow', allow)
    return refuse(c, 405, `The method ${c.req.method} is not allowed here.`)
  }
}

function refuse(c: PlantsContext, status: ContentfulStatusCode, message: string): Response {
  return c.json({ error: status, message }, status)
}

const FILE = new URL('../../schemas/plants.openapi.json', import.meta.url)

/** The OpenAPI 3.1 document as JSON text. Its only server is the base path. */
export function description(basePath: string): string {
  const document = JSON.parse(readFileSync(FILE, 'utf8'))
  return JSON.stringify({ ...document, servers: [{ url: basePath }] })
}

/** Minimum UTF-16 units of a piece of a list's text, except the last. */
const PIECE = 65_536

/** The JSON array of plants as text, in pieces of about 64 Ki characters. A larger plant makes its piece longer. */
export async function* jsonArray(lists: AsyncIterable<readonly Plant[]>): AsyncGenerator<string, undefined> {
  let piece = '['
  let separator = ''
  for await (const plants of lists)
    for (const plant of plants) {
      piece += separator + JSON.stringify(plant)
      separator = ','
      if (piece.length < PIECE) continue
      await pause()
      yield piece
      piece = ''
    }
  yield `${piece}]`
  return undefined
}

/**
 * The body of an answer from pieces of text: a string for one piece, else a stream that reads on demand.
 * @param breakOff ends the connection on a fault after the first two pieces, when the status is sent, so that the
 *   client does not take a part for the whole list. Returns false if it cannot: then the stream fails
 * @throws errors of `pieces` for the first two
 */
export async function bodyOf(
  pieces: AsyncGenerator<string, undefined>,
  breakOff: (error: Error) => boolean,
): Promise<string | ReadableStream<Uint8Array>> {
  const first = await pieces.next()
  let ready: IteratorResult<string> | undefined = await pieces.next()
  if (first.done || ready.done) return first.value ?? ''
  const encoder = new TextEncoder()
  // A client that disconnects while a piece is read cannot receive it.
  let gone = false
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(first.value)),
    async pull(controller) {
      try {
        const piece = ready ?? (await pieces.next())
        ready = undefined
        if (gone) return
        if (piece.done) controller.close()
        else controller.enqueue(encoder.encode(piece.value))
      } catch (error) {
        if (!gone && !breakOff(error as Error)) controller.error(new Error('the list broke off'))
      }
    },
    async cancel() {
      gone = true
      await pieces.return(undefined)
    },
  })
}

/** Maximum bytes of a request's body. */
const MAX_BODY = 1024 * 1024

/** A refusal of a request: an HTTP status and a sentence for the body. */
export class Refusal {
  constructor(
    readonly status: 400 | 404 | 413 | 415,
    readonly message: string,
  ) {}
}

/** Reads the body of a create. Never throws. */
export async function readNewPlant(request: HonoRequest): Promise<NewPlant | Refusal> {
  const type = request.header('content-type')
  if (!isJson(type))
    return new Refusal(415, 'The content type must be application/json, in UTF-8 where it names a charset.')
  const coding = request.header('content-encoding') ?? 'identity'
  if (coding.toLowerCase() !== 'identity')
    return new Refusal(415, 'The body must not be compressed: content codings are not supported.')
  const bytes = await readBytes(request)
  return bytes instanceof Refusal ? bytes : parseNewPlant(bytes)
}

/** Parses the body of a create. Ignores unknown properties. */
export function parseNewPlant(bytes: Uint8Array): NewPlant | Refusal {
  let text: string
  let body: Json
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new Refusal(400, 'The body is not valid UTF-8.')
  }
  try {
    body = parse(text)
  } catch (error) {
    const { message } = error as Error
    if (error instanceof JsonLimitError) return new Refusal(400, `The body is not accepted: ${message}.`)
    return new Refusal(400, `The body is not JSON: ${message}.`)
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body) || body instanceof ExactNumber)
    return new Refusal(400, 'The body must be a JSON object.')
  const own = (name: string): Json | undefined => (Object.hasOwn(body, name) ? body[name] : undefined)
  const name = own('name')
  if (name === undefined) return new Refusal(400, 'The field "name" is required.')
  if (typeof name !== 'string') return new Refusal(400, 'The field "name" must be a string.')
  const tag = own('tag')
  if (tag !== undefined && typeof tag !== 'string')
    return new Refusal(400, 'The field "tag" must be a string, or be left out.')
  const given = own('id')
  if (given === undefined) return new Refusal(400, 'The field "id" is required.')
  const id = int64OfJson(given)
  if (typeof id === 'string') return new Refusal(400, `The field "id" ${id}.`)
  return tag === undefined ? { id, name } : { id, name, tag }
}

/** Whether a value of `Content-Type` is application/json; a charset, if any, must be UTF-8. */
function isJson(type: string | undefined): boolean {
  const [essence = '', ...parameters] = (type ?? '').toLowerCase().split(';')
  if (essence.trim() !== 'application/json') return false
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=')
    return name.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim())
  })
}

async function readBytes(request: HonoRequest): Promise<Uint8Array | Refusal> {
  const tooLarge = new Refusal(413, `The body is larger than ${MAX_BODY} bytes.`)
  if (Number(request.header('content-length') ?? 0) > MAX_BODY) return tooLarge
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    // Leaving the loop cancels the stream, so memory holds nothing beyond the limit.
    for await (const piece of request.raw.body ?? []) {
      size += piece.byteLength
      if (size > MAX_BODY) return tooLarge
      pieces.push(piece)
    }
  } catch {
    return new Refusal(400, 'The body ended before it was complete.')
  }
  return Buffer.concat(pieces)
}
