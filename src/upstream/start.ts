import { Fault, isObject, SESSION_REVISIONS } from '../mcp/index.ts'
import type { Member } from './pool/server.ts'
import { type Request, refusalOf } from './rpc/link.ts'

/**
 * Starts a server at load, as its configuration says: `preinstalled` starts and ends it once, so that its first
 * call finds it installed; `onStart` keeps what requests without a session use. What depends on a request can't
 * be started before there is one.
 * @returns what went wrong, as sentences
 */
export async function startMember({ upstream, stateless, link, eras }: Member): Promise<string[]> {
  const { server, varies, resolve } = upstream.definition
  if (server.policy !== 'onStart' && !server.preinstalled) return []
  if (varies)
    return [`The server ${server.name} cannot be started before a request: its templates read the request`]
  const resolved = resolve({ headers: {}, query: () => ({}) })
  if (resolved instanceof Fault) return [resolved.message]
  if (server.policy === 'onStart') {
    const era = await eras.of(resolved)
    if (typeof era !== 'string') return [era.message]
    const found = await stateless(resolved)
    if (found instanceof Fault) return [found.message]
    if (era === 'modern') return []
  }
  const params = {
    protocolVersion: SESSION_REVISIONS[0],
    capabilities: {},
    clientInfo: { name: 'plantgw', version: '' },
  }
  const raw = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
  const request: Request = { kind: 'request', id: 1, method: 'initialize', params, raw }
  const events = { message: () => {}, lost: () => {}, rejected: () => {} }
  const trial = link(resolved, { caller: undefined, sharer: '' }, events, () => [])
  const answer = await trial.start(request, JSON.stringify(raw))
  trial.close()
  if (answer instanceof Fault) return [answer.message]
  return isObject(answer.response.raw.result) ? [] : [refusalOf(server.name, answer.response.raw)]
}
