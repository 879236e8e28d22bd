import type { JsonObject } from '../../json/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  isObject,
  PROTOCOL_VERSION,
  STATELESS_REVISIONS,
} from '../../mcp/index.ts'

export {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  metaOf,
  PROTOCOL_VERSION,
  SERVER_INFO,
  SUBSCRIPTION_ID,
} from '../../mcp/index.ts'

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
