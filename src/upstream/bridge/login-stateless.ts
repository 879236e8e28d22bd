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
import { Cancellation } from '../../net/cancel.ts'
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

/** A subscription lasts over logins: when the caller logs in or out, all lists may have changed. */
async function listen(
  server: Stateless,
  credential: Credential,
  call: UpstreamCall,
): Promise<JsonObject | Fault | undefined> {
  const { message, signal, onMessage } = call
  let granted: JsonObject | undefined
  const acknowledge = (raw: JsonObject) => {
    if (granted) return
    const { notifications } = isObject(raw.params) ? raw.params : {}
    granted = isObject(notifications) ? notifications : {}
    onMessage(raw)
  }
  const send = (method: string, params: JsonObject) => {
    const _meta = { ...metaOf(params), [SUBSCRIPTION_ID]: message.id as Json }
    const raw = { jsonrpc: '2.0', method, params: { ...params, _meta } }
    if (method === ACKNOWLEDGED) acknowledge(raw)
    else onMessage(raw)
  }
  const announce = () => {
    for (const [key, list] of Object.entries(LIST_KINDS))
      if (granted?.[key] === true) send(`notifications/${list}/list_changed`, {})
  }
  for (;;) {
    if (await lacksLogin(credential)) {
      if (granted) announce()
      send(ACKNOWLEDGED, { notifications: listsIn(message.params.notifications) })
      await loginChange(credential, signal, async () => !(await lacksLogin(credential)))
      if (signal.aborted) return undefined
      announce()
    }
    const round = new Cancellation()
    signal.addEventListener('abort', round.abort)
    if (signal.aborted) round.abort()
    loginChange(credential, round, () => lacksLogin(credential))
      .then(round.abort)
      .catch(unexpected('a login'))
    const answer = await server.request({
      ...call,
      signal: round,
      onMessage: (raw) => (raw.method === ACKNOWLEDGED ? acknowledge(raw) : onMessage(raw)),
    })
    signal.removeEventListener('abort', round.abort)
    round.abort()
    if (signal.aborted || !(await lacksLogin(credential))) return answer
  }
}

/** The lists of a subscription; a server without its login has no resources to subscribe to. */
function listsIn(notifications: Json | undefined): JsonObject {
  const wanted = isObject(notifications) ? notifications : {}
  const keys = Object.keys(LIST_KINDS).filter((key) => wanted[key] === true)
  return Object.fromEntries(keys.map((key) => [key, true]))
}

async function lacksLogin(credential: Credential): Promise<boolean> {
  const header = await credential.header()
  return header instanceof Fault && header.login !== undefined
}

/** Resolves when the caller has logged in or out and `isSo` holds, or when the signal is aborted. */
function loginChange(
  credential: Credential,
  signal: UpstreamCall['signal'],
  isSo: () => Promise<boolean>,
): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stop?.()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const look = async () => {
      if (await isSo()) end()
    }
    const stop = credential.onLoginChange?.(() => look().catch(unexpected('a login')))
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
