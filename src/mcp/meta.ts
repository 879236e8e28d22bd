import { isObject, type JsonObject } from '../json/index.ts'
import type { ListKind } from './hub.ts'

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
