import type { ServerResponse } from 'node:http'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { bearerTable } from '../access/bearer.ts'
import type { Logins } from '../access/failed-logins.ts'
import { StoreError } from '../durable/store-error.ts'
import { int64 } from './int64.ts'
import { bodyOf, jsonArray } from './list-plants.ts'
import { description } from './openapi.ts'
import { Refusal, readNewPlant } from './request-body.ts'
import { type Access, LIST_PIECE, type PlantSettings, type PlantStore } from './store.ts'

type Variables = { access: Access }
/** Counts wrong tokens by the address of a request. @param caller undefined: the token is wrong @returns what to answer instead */
export type JudgeLogin = (c: Context, caller: string | undefined) => ReturnType<Logins['failed']>
type PlantsContext = Context<{ Variables: Variables }>

const STORE_ERRORS = {
  full: [507, 'The plant store has no space left: the change was not made.'],
  failed: [500, 'The plant store failed: no change was acknowledged.'],
  closed: [503, 'The plant store is shutting down: the change was not made.'],
  unreachable: [503, 'The plant store cannot be reached at the moment: no change was acknowledged.'],
} as const satisfies Record<string, [ContentfulStatusCode, string]>

function answerOf(error: Error): readonly [ContentfulStatusCode, string] {
  if (!(error instanceof StoreError)) return STORE_ERRORS.failed
  // A server may refuse for the time of a failover, or of a change of passwords.
  if (error.kind === 'refused') return STORE_ERRORS.unreachable
  return Object.entries(STORE_ERRORS).find(([kind]) => kind === error.kind)?.[1] ?? STORE_ERRORS.failed
}

/**
 * The HTTP face of a plant store. Paths and methods are judged first, then the credential, then the rest;
 * every error has the body `{error: <status>, message}`.
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

  app.notFound((c) => refuse(c, 404, 'There is nothing at this path.'))
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

/** Undefined where the request asks for the whole list. */
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

/** RFC 8288; relative to the request, which a proxy may have given another path. */
function nextLink(limit: number, after: bigint): string {
  const cursor = Buffer.from(String(after)).toString('base64url')
  return `<?${new URLSearchParams({ limit: String(limit), cursor })}>; rel="next"`
}

/** False when there is no connection: the app was called by itself. */
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
