import { isUtf8 } from 'node:buffer'
import type { Identity } from '../access/identity.ts'
import { HOP_HEADER } from '../cluster/hop.ts'
import { type JsonObject, plain } from '../json/index.ts'
import type { Template } from '../template/index.ts'
import { canonicalHeader } from '../text/index.ts'
import { pathsOf, reads } from './templates.ts'
import type { CallContext } from './types.ts'

/** Data of templates (`.`); `Response` only in `responseBody` and `errorBody`. */
export interface Root {
  Config: Readonly<Record<string, string>>
  Args: JsonObject
  Request: object
  Caller?: object
  Response?: object
}

type RootBuilder = (args: JsonObject, call: CallContext) => Root

/** Creates the builder of template data, with only those parts of `Request` that templates read. */
export function rootBuilder(config: Root['Config'], templates: (Template | undefined)[]): RootBuilder {
  const any = (...path: string[]) => templates.some((template) => reads(template, ...path))
  const caller = any('Caller')
  const requestOf = requestBuilder(templates, any)
  return (Args, call) => ({
    Config: config,
    Args,
    Request: requestOf(call),
    ...(caller && { Caller: callerOf(call.identity) }),
  })
}

/** The caller for templates; all fields are empty if anonymous. */
function callerOf(identity: Identity | undefined): object {
  const { subject = '', issuer = '', clientId = '', scopes = [], claims = {} } = identity ?? {}
  return { subject, issuer, clientId, scopes: [...scopes], claims }
}

const NO_REQUEST = Object.freeze({})

function requestBuilder(
  templates: (Template | undefined)[],
  any: (...path: string[]) => boolean,
): (call: CallContext) => object {
  if (!any('Request')) return () => NO_REQUEST
  const headers = any('Request', 'Headers') ? headersBuilder(templates) : undefined
  const [query, cookies, path, body] = ['Query', 'Cookies', 'Path', 'Body'].map((name) =>
    any('Request', name),
  )
  return (call) => {
    const Request: Record<string, unknown> = {}
    if (headers) Request.Headers = headers(call)
    if (query) Request.Query = call.query?.() ?? {}
    if (cookies) Request.Cookies = parseCookies(headerText(call.headers.cookie ?? ''))
    if (path) Request.Path = call.path
    if (body) Request.Body = plain(call.body)
    return Request
  }
}

/**
 * Headers by name are looked up case-insensitively; the whole map, under Go's canonical names, exists only for
 * templates that read it. The caller's credential for the gateway is excluded (MCP 2026-07-28, Authorization: no token
 * passthrough), as are signatures of other replicas.
 */
function headersBuilder(templates: (Template | undefined)[]): (call: CallContext) => Record<string, string> {
  const paths = templates
    .flatMap((template) => (template ? pathsOf(template) : []))
    .filter(
      ([root, field]) => root === undefined || (root === 'Request' && (field ?? 'Headers') === 'Headers'),
    )
  const whole = paths.some((path) => path.length < 3)
  const names = [...new Set(paths.flatMap((path) => path[2] ?? []))].map((name) => [name, name.toLowerCase()])
  return ({ headers, identity }) => {
    const picked: Record<string, string> = {}
    const pick = (name: string, lower: string) => {
      if ((identity && lower === 'authorization') || lower.startsWith(HOP_HEADER)) return
      const value = Object.hasOwn(headers, lower) ? headers[lower] : undefined
      if (value !== undefined) define(picked, name, headerText(value))
    }
    if (whole) for (const lower of Object.keys(headers)) pick(canonicalHeader(lower), lower)
    for (const [name, lower] of names) pick(name!, lower!)
    return picked
  }
}

/** A received header as text: Node decodes Latin-1, but most clients send UTF-8. */
function headerText(value: string): string {
  if (!/[\x80-\xff]/.test(value) || /[^\x00-\xff]/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : value
}

/** Sets an own property, even `__proto__`. */
export function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true })
}

function parseCookies(header: string): Record<string, string> {
  const cookies: Record<string, string> = {}
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals < 0) continue
    const name = pair.slice(0, equals).trim()
    const value = pair.slice(equals + 1).trim()
    if (name && !Object.hasOwn(cookies, name)) define(cookies, name, value.replace(/^"(.*)"$/, '$1'))
  }
  return cookies
}
