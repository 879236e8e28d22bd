import type { Credential } from '../../credentials/credential.ts'
import type { Json, JsonObject } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  Fault,
  isObject,
  LIST_KINDS,
  metaOf,
  REVISIONS,
  SERVER_INFO,
  SUBSCRIPTION_ID,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Stateless, UpstreamCall } from '../backend/stateless.ts'
import { emptyList, LISTS_ONLY } from '../rpc/login-session.ts'

/**
 * A server where the caller of a stateless request has to log in. While there is no login, lists are empty, and calls fail with the
 * login that they need.
 * @param credential a login of the caller
 */
export function loginStateless(server: Stateless, credential: Credential, name: string): Stateless {
  return {
    versions: (resolved) => server.versions(resolved),
    paramHeaders: (tool, call) => server.paramHeaders(tool, call),
    abandon: (requestState) => server.abandon?.(requestState),
    async request(call) {
      const { id, method } = call.message
      if (method === 'subscriptions/listen') return listen(server, credential, call)
      const answer = await server.request(call)
      if (!(answer instanceof Fault && answer.login)) return answer
      const result = method === 'server/discover' ? discovered(name) : emptyList(method)
      if (!result) return answer
      const whole = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result }
      return { jsonrpc: '2.0', id, result: whole }
    },
  }
}

function discovered(name: string): JsonObject {
  return {
    supportedVersions: [...REVISIONS],
    capabilities: LISTS_ONLY,
    _meta: { [SERVER_INFO]: { name, version: '' } },
  }
}

/** A subscription that begins without the login: with the login, all lists may have changed. */
async function listen(
  server: Stateless,
  credential: Credential,
  call: UpstreamCall,
): Promise<JsonObject | Fault | undefined> {
  const { message, signal, onMessage } = call
  const header = await credential.header()
  if (!(header instanceof Fault && header.login)) return server.request(call)
  const { notifications } = message.params
  const wanted = isObject(notifications) ? notifications : {}
  const kinds = Object.entries(LIST_KINDS).filter(([key]) => wanted[key] === true)
  const send = (method: string, params: JsonObject) => {
    const _meta = { ...metaOf(params), [SUBSCRIPTION_ID]: message.id as Json }
    onMessage({ jsonrpc: '2.0', method, params: { ...params, _meta } })
  }
  send(ACKNOWLEDGED, { notifications: Object.fromEntries(kinds.map(([key]) => [key, true])) })
  await loginOf(credential, signal)
  if (signal.aborted) return undefined
  for (const [, list] of kinds) send(`notifications/${list}/list_changed`, {})
  return server.request({
    ...call,
    onMessage: (raw) => {
      if (raw.method !== ACKNOWLEDGED) onMessage(raw)
    },
  })
}

/** Resolves when the caller has logged in, or the signal is aborted. */
function loginOf(credential: Credential, signal: UpstreamCall['signal']): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stop?.()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const look = async () => {
      if (!((await credential.header()) instanceof Fault)) end()
    }
    const stop = credential.onLoginChange?.(() => look().catch(unexpected('a login')))
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
