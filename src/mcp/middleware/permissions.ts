import type { Permissions, Usable } from '../../access/permissions.ts'
import { isObject, type Json, type JsonObject } from '../../json/index.ts'
import { shorten } from '../../text/index.ts'
import { type Answer, errorAnswer, withResult } from '../answer.ts'
import type { Call, Middleware } from '../call.ts'
import {
  fold,
  has,
  INVALID_PARAMS,
  INVALID_REQUEST,
  LISTEN,
  METHOD_NOT_FOUND,
  type ReadMessage,
  type Request,
  type Revision,
  type RpcError,
  resourceNotFound,
} from '../protocol.ts'

/** Checks requests against a route's rules, and removes from lists the items that the caller may not use. */

/** Methods about one item, and the parameter that names it. */
const NAMING: Readonly<Record<string, readonly [kind: Usable, key: string]>> = {
  'tools/call': ['tools', 'name'],
  'prompts/get': ['prompts', 'name'],
  'resources/read': ['resources', 'uri'],
  'resources/subscribe': ['resources', 'uri'],
  'resources/unsubscribe': ['resources', 'uri'],
  'resources/directory/read': ['resources', 'uri'],
  'skills/get': ['resources', 'uri'],
}
/** List methods: key of the list, and key of each item's name. */
const LISTING: Readonly<Record<string, readonly [kind: Usable, list: string, key: string]>> = {
  'tools/list': ['tools', 'tools', 'name'],
  'prompts/list': ['prompts', 'prompts', 'name'],
  'resources/list': ['resources', 'resources', 'uri'],
  'resources/templates/list': ['resources', 'resourceTemplates', 'uriTemplate'],
  'skills/list': ['resources', 'skills', 'uri'],
}
const COMPLETION = 'completion/complete'
/** Refused, as it would reveal tasks of other callers. */
const TASKS = 'tasks/list'
/** Methods that rules do not restrict. Only the caller who started a task knows its id. */
const FREE =
  'initialize ping server/discover logging/setLevel tasks/get tasks/result tasks/update tasks/cancel'
    .split(' ')
    .concat(Object.keys(LISTING))
/** Client requests of all revisions, and of the extensions that the gateway supports. */
export const METHODS: readonly string[] = [...FREE, ...Object.keys(NAMING), COMPLETION, LISTEN, TASKS]
const NOTIFICATIONS = ['initialized', 'cancelled', 'progress', 'roots/list_changed'].map(
  (name) => `notifications/${name}`,
)
const KNOWN = new Map([...METHODS, ...NOTIFICATIONS].map((method) => [fold(method), method]))
const OPEN = new Set(FREE)
/** Results that caches between gateway and client must not share between callers. */
const CACHED = new Set(['resources/read', 'skills/get', 'server/discover'])

/**
 * Returns the message, or an invalid one if a lenient server could read its method as a known one: the server would
 * then execute a method that was not checked.
 */
export function refuseLookalike(message: ReadMessage): ReadMessage {
  if (message.kind !== 'request' && message.kind !== 'notification') return message
  const meant = KNOWN.get(message.method) ?? KNOWN.get(fold(message.method))
  if (meant === undefined || meant === message.method) return message
  const id = message.kind === 'request' ? message.id : null
  const reason = `Method not found: ${shorten(message.method, 80)}. Did you mean ${meant}?`
  return { kind: 'invalid', id, code: METHOD_NOT_FOUND, reason }
}

/** An item that a request uses. */
interface Target {
  kind: Usable
  name: string
}

/** Refuses what the caller may not use, and removes it from lists. */
export const permissions: Middleware = async (call, next) => refusal(call) ?? permitted(call, await next())

/** The answer to a request that the caller may not make. */
export function refusal(call: Call): Answer | undefined {
  const { permissions } = call.context
  if (!permissions) return undefined
  const { request, revision } = call
  const targets = targetsOf(request, permissions)
  if ('code' in targets) return errorAnswer(call, targets)
  const denied = targets.find(({ kind, name }) => !permissions.allows(kind, name))
  if (!denied) return undefined
  const { kind, name } = denied
  const lacking = permissions.lacks(kind, name)
  if (!lacking)
    return errorAnswer(call, unknown(denied, revision), {
      outcome: 'refused',
      failure: `no rule of authorize allows the caller to use ${shorten(name, 80)}`,
      denied: 'rule',
    })
  const scopes = lacking.scopes.join(' ')
  const message = `The token does not have all scopes that ${request.method} ${shorten(name, 80)} needs: ${scopes}`
  const end = { outcome: 'refused', failure: message, denied: 'scope' } as const
  return errorAnswer(call, { code: INVALID_REQUEST, message }, end, { status: 403, headers: lacking.headers })
}

/** The items that a request uses, or an error for the client. */
function targetsOf({ method, params }: Request, { allowsUnknown }: Permissions): Target[] | RpcError {
  if (Object.hasOwn(NAMING, method)) {
    const [kind, key] = NAMING[method] as (typeof NAMING)[string]
    const name = params[key]
    // A lenient server could read a name of another type as a forbidden one.
    return typeof name === 'string' ? [{ kind, name }] : notText(key)
  }
  if (method === COMPLETION) return completed(params.ref)
  if (method === LISTEN) return listened(params.notifications)
  if (OPEN.has(method)) return []
  return allowsUnknown && !KNOWN.has(method)
    ? []
    : { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` }
}

function completed(ref: Json | undefined): Target[] | RpcError {
  if (!isObject(ref)) return { code: INVALID_PARAMS, message: 'params.ref must be an object' }
  const { type, name, uri } = ref
  if (type === 'ref/prompt')
    return typeof name === 'string' ? [{ kind: 'prompts', name }] : notText('ref.name')
  if (type === 'ref/resource')
    return typeof uri === 'string' ? [{ kind: 'resources', name: uri }] : notText('ref.uri')
  return { code: INVALID_PARAMS, message: 'params.ref.type must be "ref/prompt" or "ref/resource"' }
}

function listened(notifications: Json | undefined): Target[] | RpcError {
  const uris = isObject(notifications) ? (notifications.resourceSubscriptions ?? []) : []
  if (!Array.isArray(uris) || uris.some((uri) => typeof uri !== 'string'))
    return {
      code: INVALID_PARAMS,
      message: 'params.notifications.resourceSubscriptions must be an array of strings',
    }
  return (uris as string[]).map((name) => ({ kind: 'resources', name }))
}

function notText(key: string): RpcError {
  return { code: INVALID_PARAMS, message: `params.${key} must be a string` }
}

/** The error for an unknown item. */
function unknown({ kind, name }: Target, revision: Revision): RpcError {
  if (kind === 'resources') return resourceNotFound(name, revision)
  return {
    code: INVALID_PARAMS,
    message: `Unknown ${kind === 'tools' ? 'tool' : 'prompt'}: ${shorten(name, 80)}`,
  }
}

/** An answer without items that the caller may not use. */
function permitted(call: Call, answer: Answer): Answer {
  const { permissions } = call.context
  const { method } = call.request
  const isCached = CACHED.has(method) && has('caching', call.revision)
  if (!permissions || !(Object.hasOwn(LISTING, method) || isCached)) return answer
  return withResult(answer, (result) => isolated(listed(method, result, permissions), call))
}

function listed(method: string, result: JsonObject, { allows }: Permissions): JsonObject {
  if (!Object.hasOwn(LISTING, method)) return result
  const [kind, list, key] = LISTING[method] as (typeof LISTING)[string]
  const items = result[list]
  if (!Array.isArray(items)) return result
  const shows = (item: Json) => isObject(item) && typeof item[key] === 'string' && allows(kind, item[key])
  return { ...result, [list]: items.filter(shows) }
}

/** Results that depend on the caller must not be cached for others (2026-07-28, Caching). */
function isolated(result: JsonObject, { revision }: Call): JsonObject {
  return has('caching', revision) ? { ...result, cacheScope: 'private' } : result
}
