import type { JsonObject } from '../../json/index.ts'
import { isObject } from '../../mcp/index.ts'
import type { StatelessCall } from '../backend/stateless.ts'
import { CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, metaOf } from '../bridge/meta.ts'
import type { Party, Use } from './pool.ts'

/** Requests during which a client may be asked (Multi Round-Trip Requests, Supported Requests). */
export const ASKING = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** What of a client's capabilities answers which request of a server. */
export const ASKS: Record<string, string> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** For whom a call's session is. */
export function partyOf(call: StatelessCall): Party {
  const info = metaOf(call.message.params)[CLIENT_INFO]
  return {
    resolved: call.resolved,
    caller: call.caller,
    sharer: call.sharer,
    peer: call.peer,
    capabilities: capabilitiesOf(call),
    clientInfo: isObject(info) ? info : { name: 'unknown', version: '0' },
  }
}

export function capabilitiesOf({ message }: StatelessCall): JsonObject {
  const given = metaOf(message.params)[CLIENT_CAPABILITIES]
  return isObject(given) ? given : {}
}

/** How a request uses its session. */
export function useOf(method: string, { capabilities }: Party, params: JsonObject): Use {
  if (/\/list$|^completion\//.test(method)) return 'plain'
  if (metaOf(params)[LOG_LEVEL] !== undefined) return 'alone'
  const asks = ASKING.has(method) && Object.values(ASKS).some((needs) => capabilities[needs])
  return asks ? 'alone' : 'open'
}
