import { isObject, type JsonObject } from '../json/index.ts'
import type { ListKind } from './hub.ts'
import { STATELESS_REVISIONS } from './revisions.ts'

/** Keys of `_meta` in 2026-07-28. */
export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
export const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

export function metaOf(params: unknown): JsonObject {
  return isObject(params) && isObject(params._meta) ? params._meta : {}
}

/** Keys of a subscription, and the lists whose changes they stand for. */
export const LIST_KINDS = {
  toolsListChanged: 'tools',
  promptsListChanged: 'prompts',
  resourcesListChanged: 'resources',
} as const

/** The lists of whose changes a subscription hears, by its acknowledged `notifications`. */
export function listKinds(notifications: unknown): ReadonlySet<ListKind> {
  const granted = isObject(notifications) ? notifications : {}
  return new Set(Object.entries(LIST_KINDS).flatMap(([key, list]) => (granted[key] === true ? [list] : [])))
}

/** The same without some of its keys. */
export function omit(object: JsonObject, ...keys: string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

/** `_meta` of a request that the gateway makes on its own. */
export function ownMeta(version: string): JsonObject {
  return {
    [PROTOCOL_VERSION]: STATELESS_REVISIONS[0],
    [CLIENT_INFO]: { name: 'plantgw', version },
    [CLIENT_CAPABILITIES]: {},
  }
}

/** A JSON value with the keys of its objects in order, so that equal values have equal texts. */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, canonical(value[key])]),
  )
}
