import type { Json, JsonObject } from '../../json/index.ts'
import { Fault, isObject, STATELESS_REVISIONS } from '../../mcp/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  metaOf,
  PROTOCOL_VERSION,
  SERVER_INFO,
  SUBSCRIPTION_ID,
} from '../../mcp/meta.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import type { Resolved } from '../definition.ts'
import type { ToolFilter } from '../tools.ts'
import { Aggregate, type AggregatedServer, mergeCapabilities, mergeInstructions } from './several.ts'

/** One of the servers for one caller. */
export interface StatelessBranch {
  name: string
  filter: ToolFilter | undefined
  resolved: Resolved
  server: Stateless | Fault
}

/** Several servers behind one prefix, for the requests of one caller that stand alone. */
export function severalStateless(
  branches: readonly StatelessBranch[],
  info: { name: string; version: string },
  onClash: (uri: string, server: string) => void,
): Stateless {
  function send(
    call: StatelessCall,
    i: number,
    method: string,
    params: JsonObject,
    onMessage = call.onMessage,
  ) {
    const { server, resolved } = branches[i] as StatelessBranch
    if (server instanceof Fault) return Promise.resolve(server)
    const { message } = call
    const raw = { ...message.raw, method, params }
    return server.request({ ...call, resolved, onMessage, message: { ...message, method, params, raw } })
  }

  /** What each of them says of itself. */
  async function discover(call: StatelessCall): Promise<(JsonObject | undefined)[]> {
    const meta = metaOf(call.message.params)
    const params = {
      _meta: Object.fromEntries(
        [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES].flatMap((key) =>
          meta[key] === undefined ? [] : [[key, meta[key]]],
        ),
      ),
    }
    const answers = await Promise.all(
      branches.map((_, i) => send(call, i, 'server/discover', params, () => {})),
    )
    return answers.map((raw) => (raw && 'result' in raw && isObject(raw.result) ? raw.result : undefined))
  }

  async function parties(
    call: StatelessCall,
  ): Promise<{ parties: AggregatedServer[]; found: (JsonObject | undefined)[] }> {
    // Whose a call is, its name tells; only lists need to know what each can do.
    const named = /^(?:tools\/call|prompts\/get)$/.test(call.message.method)
    const found = named ? [] : await discover(call)
    return {
      found,
      parties: branches.map(({ name, filter }, i) => {
        const capabilities = found[i]?.capabilities
        return { name, filter, capabilities: isObject(capabilities) ? capabilities : undefined }
      }),
    }
  }

  async function listen(
    call: StatelessCall,
    all: AggregatedServer[],
  ): Promise<JsonObject | Fault | undefined> {
    const { id, params } = call.message
    const granted: JsonObject = {}
    const uris = new Set<Json>()
    let acknowledged = false
    const early: JsonObject[] = []
    const opening = all.flatMap(({ capabilities }, i) => {
      if (!capabilities) return []
      let answer: Promise<unknown> = Promise.resolve()
      const open = new Promise<void>((resolve) => {
        answer = send(call, i, 'subscriptions/listen', params, (raw) => {
          if (raw.method !== 'notifications/subscriptions/acknowledged') {
            if (acknowledged) call.onMessage(raw)
            else early.push(raw)
            return
          }
          const body =
            isObject(raw.params) && isObject(raw.params.notifications) ? raw.params.notifications : {}
          for (const [key, value] of Object.entries(body)) {
            if (Array.isArray(value)) for (const uri of value) uris.add(uri)
            else granted[key] = value
          }
          resolve()
        }).then(() => resolve())
      })
      return [{ open, answer }]
    })
    await Promise.all(opening.map(({ open }) => open))
    if (uris.size) granted.resourceSubscriptions = [...uris]
    const tag = { [SUBSCRIPTION_ID]: id as Json }
    const method = 'notifications/subscriptions/acknowledged'
    call.onMessage({ jsonrpc: '2.0', method, params: { _meta: tag, notifications: granted } })
    acknowledged = true
    for (const raw of early) call.onMessage(raw)
    await Promise.all(opening.map(({ answer }) => answer))
    if (call.signal.aborted) return undefined
    return { jsonrpc: '2.0', id: id as Json, result: { resultType: 'complete', _meta: tag } }
  }

  return {
    versions: () => Promise.resolve([...STATELESS_REVISIONS]),
    async paramHeaders(tool, call) {
      const { parties: all } = await parties(call)
      const asked = { method: 'tools/call', params: { name: tool } }
      const outcome = await new Aggregate(all, onClash).decide(asked, () => Promise.resolve(undefined))
      const to = 'to' in outcome ? branches[outcome.to] : undefined
      if (!to || !('to' in outcome) || to.server instanceof Fault) return []
      return to.server.paramHeaders(String(outcome.params.name), { ...call, resolved: to.resolved })
    },
    async request(call) {
      const { id, method, params } = call.message
      const { parties: all, found } = await parties(call)
      if (method === 'subscriptions/listen') return listen(call, all)
      const meta = { [SERVER_INFO]: { ...info } }
      if (method === 'server/discover') {
        const instructions = mergeInstructions(
          found.map((each, i) => ({ name: all[i]!.name, text: each?.instructions })),
        )
        const result = {
          resultType: 'complete',
          supportedVersions: [...STATELESS_REVISIONS],
          capabilities: mergeCapabilities(all),
          ttlMs: 0,
          cacheScope: 'private',
          ...(instructions !== undefined && { instructions }),
          _meta: meta,
        }
        return { jsonrpc: '2.0', id: id as Json, result }
      }
      const several = new Aggregate(all, onClash)
      const ask = async (i: number, asked: string, own: JsonObject) => {
        const raw = await send(call, i, asked, own)
        return !raw || raw instanceof Fault ? raw : several.shown(i, asked, raw)
      }
      const outcome = await several.decide({ method, params }, ask)
      if ('to' in outcome) return ask(outcome.to, method, outcome.params)
      if ('error' in outcome)
        return { jsonrpc: '2.0', id: id as Json, error: { ...outcome.error } as JsonObject }
      const { result } = outcome
      return {
        jsonrpc: '2.0',
        id: id as Json,
        result: { resultType: 'complete', ...result, _meta: { ...metaOf(result), ...meta } },
      }
    },
  }
}
