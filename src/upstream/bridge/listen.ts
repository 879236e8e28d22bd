import type { Json, JsonObject } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  type Fault,
  INVALID_PARAMS,
  isObject,
  LIST_KINDS,
  metaOf,
  SUBSCRIPTION_ID,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { MAX_SUBSCRIPTIONS } from '../backend/session-state.ts'
import type { UpstreamCall } from '../backend/stateless.ts'
import type { PooledSession } from '../pool/session.ts'

/** Number of streams subscribed to each resource, by session. */
const subscribers = new WeakMap<PooledSession, Map<string, number>>()

/** Serves `subscriptions/listen` from a session: acknowledged first, all messages tagged with its id. */
export async function listenInSession(
  { message, onMessage, signal }: UpstreamCall,
  session: PooledSession,
  ready: JsonObject,
): Promise<JsonObject | Fault | undefined> {
  const { id, params } = message
  const { notifications } = params
  const named = isObject(notifications) ? notifications.resourceSubscriptions : undefined
  const tooMany = Array.isArray(named) && named.length > MAX_SUBSCRIPTIONS
  if (!isObject(notifications) || tooMany) {
    const text = tooMany
      ? `params.notifications.resourceSubscriptions has more than ${MAX_SUBSCRIPTIONS} URIs`
      : 'params.notifications must be an object such as {"toolsListChanged": true}'
    return { jsonrpc: '2.0', id: id as Json, error: { code: INVALID_PARAMS, message: text } }
  }
  const wanted = notifications
  const capabilities = isObject(ready.capabilities) ? ready.capabilities : {}
  const can = (list: string, key: string) => isObject(capabilities[list]) && capabilities[list][key] === true
  const granted: JsonObject = {}
  const methods = new Set<string>()
  for (const [key, list] of Object.entries(LIST_KINDS)) {
    if (wanted[key] !== true || !can(list, 'listChanged')) continue
    granted[key] = true
    methods.add(`notifications/${list}/list_changed`)
  }
  const asked = Array.isArray(wanted.resourceSubscriptions) ? wanted.resourceSubscriptions : []
  const uris = can('resources', 'subscribe') ? asked.filter((uri) => typeof uri === 'string') : []
  if (uris.length) granted.resourceSubscriptions = uris

  const send = (method: string, body: JsonObject) => {
    const tagged = { ...body, _meta: { ...metaOf(body), [SUBSCRIPTION_ID]: id as Json } }
    onMessage({ jsonrpc: '2.0', method, params: tagged })
  }
  const listener = (method: string, body: JsonObject) => {
    const updated = method === 'notifications/resources/updated' && uris.some((uri) => isBelow(body.uri, uri))
    if (updated || methods.has(method)) send(method, body)
  }
  send(ACKNOWLEDGED, { notifications: granted })
  session.listeners.add(listener)
  for (const uri of uris) subscribe(session, uri)
  return new Promise((resolve) => {
    const end = () => {
      session.listeners.delete(listener)
      for (const uri of uris) unsubscribe(session, uri)
      resolve(undefined)
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
    session.onEnd.add(end)
  })
}

/** A server may report a sub-resource of the subscribed one (2025-11-25, Resources). */
function isBelow(updated: Json | undefined, uri: string): boolean {
  return (
    typeof updated === 'string' &&
    (updated === uri || updated.startsWith(uri.endsWith('/') ? uri : `${uri}/`))
  )
}

function subscribe(session: PooledSession, uri: string): void {
  const counts = subscribers.get(session) ?? new Map<string, number>()
  subscribers.set(session, counts)
  const count = counts.get(uri) ?? 0
  counts.set(uri, count + 1)
  if (count === 0)
    session.request('resources/subscribe', { uri }).answer.catch(unexpected('resources/subscribe'))
}

function unsubscribe(session: PooledSession, uri: string): void {
  const counts = subscribers.get(session)
  const count = counts?.get(uri) ?? 0
  if (count > 1) counts?.set(uri, count - 1)
  else if (counts?.delete(uri))
    session.request('resources/unsubscribe', { uri }).answer.catch(unexpected('resources/unsubscribe'))
}
