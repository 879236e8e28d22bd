import type { Context } from 'hono'
import type { AdminPrincipal } from '../../access/admin.ts'
import { HttpResponse, type ResponseHeaders } from '../../access/http-response.ts'
import { memory } from '../../access/memory.ts'
import type { Reload, Route, Table } from '../../build/types.ts'
import type { Finding } from '../../findings/index.ts'
import { isObject, type JsonObject, parseVerbatim } from '../../json/index.ts'
import { readBody } from '../../mcp/index.ts'
import type { ConfigurationTexts } from '../configuration-texts.ts'
import { HTML, pageHeaders } from '../page.ts'
import type { Status } from '../status.ts'
import type { ConsoleLogins } from './access.ts'
import { MessagePage } from './layout.tsx'
import type { ConsoleSource } from './source.ts'

export interface ConsoleParts {
  table: () => Table
  status: (principal: AdminPrincipal) => Promise<Status>
  unready: () => string | undefined
  /** Findings of the last reading of the configurations. */
  findings: () => readonly Finding[]
  /** Addresses of the replicas that this one knows. */
  replicas: () => readonly string[]
  source: ConsoleSource
  /** Whether tools can be called. */
  calls: boolean
  logins: ConsoleLogins
  texts: ConfigurationTexts
  /** Reads all configurations again. @throws TableRefused if workers cannot serve them */
  reload: () => Promise<Reload>
  onEdit: (edit: Edit) => void
  /** Address of the client. */
  addressOf: (c: Context) => string | undefined
}

/** A change of a configuration in the console. */
export interface Edit {
  what: 'save' | 'rollback'
  place: string
  version: string
  /** A tenant's token, or `administrator`. */
  caller: string
  /** Absent: of a file that was never served. */
  tenant: string | undefined
  address: string | undefined
}

/** A request for a page. */
export interface ConsoleRequest {
  c: Context
  parts: ConsoleParts
  principal: AdminPrincipal
  query: Record<string, string>
  /** The gateway is shutting down. */
  ending: AbortSignal
}

const POLICY = 'content-security-policy'

export const HEADERS = {
  ...pageHeaders("style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'"),
  'cache-control': 'no-store',
}

/** Maximum bytes of a request. */
const MAX_BODY = 4 * 1024 * 1024

/** @param nonce of styles that a script of the page makes */
export function page(
  content: { toString(): string | Promise<string> },
  status = 200,
  nonce?: string,
): HttpResponse {
  const policy = HEADERS[POLICY]
  const own = nonce === undefined ? policy : policy.replace('style-src', `style-src 'nonce-${nonce}'`)
  const headers = { ...HEADERS, ...HTML, [POLICY]: own }
  return new HttpResponse(status, headers, `<!doctype html>${String(content)}`)
}

/** A page in place of one that does not exist. */
export function missing(below: string, message: string): HttpResponse {
  return page(MessagePage({ page: below, message }), 404)
}

/** A refusal for scripts. */
export function refusal(status: number, message: string, more: ResponseHeaders = {}): HttpResponse {
  return HttpResponse.json({ error: status, message }, status, { ...HEADERS, ...more })
}

/** The findings that an administrator may see, errors first. */
export function findingsOf({ parts, principal: { tenant } }: ConsoleRequest): Finding[] {
  const own = [...parts.table().prepared.values()].filter((one) => one.tenant === tenant)
  const places = tenant === undefined ? undefined : new Set(own.map(({ file }) => file))
  const all = parts.findings().filter(({ file }) => !places || places.has(file))
  return [...all.filter(isError), ...all.filter((one) => !isError(one))]
}

function isError({ severity }: Finding): boolean {
  return severity === 'error'
}

/** The routes that an administrator may see. */
export function routesOf({ parts, principal: { tenant } }: ConsoleRequest): Route[] {
  return [...parts.table().routes.values()].filter((one) => tenant === undefined || one.tenant === tenant)
}

/**
 * Reads the JSON object of a POST, with numbers as they were written. Its content type makes browsers ask first when
 * another site sends it.
 */
export async function objectIn(c: Context): Promise<JsonObject | HttpResponse> {
  if (!/^application\/json\b/.test(c.req.header('content-type') ?? ''))
    return refusal(415, 'Send application/json')
  const reservation = memory.reserve()
  const body = await readBody(c, MAX_BODY, reservation)
  reservation.free()
  if ('failure' in body) return refusal(413, `The request is larger than ${MAX_BODY} bytes`)
  try {
    const value = parseVerbatim(body.text)
    return isObject(value) ? value : refusal(400, 'The body must be an object')
  } catch {
    return refusal(400, 'The body is not JSON')
  }
}

/** Maximum bytes that a slow browser has not read. */
export const MAX_UNREAD = 1024 * 1024

/**
 * A stream of texts for a browser. A slow browser misses texts instead of holding memory.
 * @param run sends until it ends, or `closed` does; half of the room is left for texts that must arrive
 */
export function boundedStream(
  run: (send: (text: string, mustArrive?: boolean) => void, closed: AbortSignal) => Promise<unknown>,
  request: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const left = new AbortController()
  const closed = AbortSignal.any([request, left.signal])
  return new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        const send = (text: string, mustArrive = false) => {
          const room = (controller.desiredSize ?? 0) - (mustArrive ? 0 : MAX_UNREAD / 2)
          const bytes = encoder.encode(text)
          if (!left.signal.aborted && bytes.length <= room) controller.enqueue(bytes)
        }
        try {
          await run(send, closed)
          if (!left.signal.aborted) controller.close()
        } catch (error) {
          if (!left.signal.aborted) controller.error(error)
        }
      },
      cancel: () => left.abort(),
    },
    { highWaterMark: MAX_UNREAD, size: (bytes) => bytes?.length ?? 0 },
  )
}
