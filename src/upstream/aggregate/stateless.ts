import type { Json, JsonObject } from '../../json/index.ts'
import { Fault, isObject, type ParamHeader, STATELESS_REVISIONS } from '../../mcp/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  metaOf,
  PROTOCOL_VERSION,
  SERVER_INFO,
  SUBSCRIPTION_ID,
} from '../../mcp/meta.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import { ACKNOWLEDGED } from '../bridge/listen.ts'
import type { Resolved } from '../definition.ts'
import type { ToolFilter } from '../tool-filter.ts'
import { Aggregate, type AggregatedServer, mergeCapabilities, mergeInstructions } from './several.ts'

const LISTEN = 'subscriptions/listen'

type Sent = Promise<JsonObject | Fault | undefined>
/** What a server says of itself; undefined while it is down. */
type Found = JsonObject | undefined

/** One of the servers for one caller. */
export interface StatelessBranch {
  name: string
  filter: ToolFilter | undefined
  resolved: Resolved
  server: Stateless | Fault
}

/** Several servers behind one prefix, for the requests of one caller that stand alone. */
export class AggregateStateless implements Stateless {
  constructor(
    private readonly branches: readonly StatelessBranch[],
    private readonly info: { name: string; version: string },
    private readonly onClash: (uri: string, server: string) => void,
  ) {}

  versions(): Promise<string[]> {
    return Promise.resolve([...STATELESS_REVISIONS])
  }

  async paramHeaders(tool: string, call: StatelessCall): Promise<readonly ParamHeader[]> {
    const { servers } = await this.#servers(call)
    const asked = { method: 'tools/call', params: { name: tool } }
    const outcome = await new Aggregate(servers, this.onClash).decide(asked, () => Promise.resolve(undefined))
    const to = 'to' in outcome ? this.branches[outcome.to] : undefined
    if (!to || !('to' in outcome) || to.server instanceof Fault) return []
    return to.server.paramHeaders(String(outcome.params.name), { ...call, resolved: to.resolved })
  }

  async request(call: StatelessCall): Sent {
    const { id, method, params } = call.message
    const { servers, found } = await this.#servers(call)
    if (method === LISTEN) return this.#listen(call, servers)
    const meta = { [SERVER_INFO]: { ...this.info } }
    if (method === 'server/discover') {
      const result = { ...this.#discovered(servers, found), _meta: meta }
      return { jsonrpc: '2.0', id, result }
    }
    const aggregate = new Aggregate(servers, this.onClash)
    const ask = async (i: number, asked: string, own: JsonObject) => {
      const raw = await this.#send(call, i, asked, own)
      return !raw || raw instanceof Fault ? raw : aggregate.shown(i, asked, raw)
    }
    const outcome = await aggregate.decide({ method, params }, ask)
    if ('to' in outcome) return ask(outcome.to, method, outcome.params)
    if ('error' in outcome) return { jsonrpc: '2.0', id, error: { ...outcome.error } as JsonObject }
    const { result } = outcome
    return {
      jsonrpc: '2.0',
      id,
      result: { resultType: 'complete', ...result, _meta: { ...metaOf(result), ...meta } },
    }
  }

  #send(
    call: StatelessCall,
    i: number,
    method: string,
    params: JsonObject,
    onMessage = call.onMessage,
  ): Sent {
    const { server, resolved } = this.branches[i] as StatelessBranch
    if (server instanceof Fault) return Promise.resolve(server)
    const { message } = call
    const raw = { ...message.raw, method, params }
    return server.request({ ...call, resolved, onMessage, message: { ...message, method, params, raw } })
  }

  /** The servers, with what each says of itself, unless the name in the call reveals its server. */
  async #servers(call: StatelessCall): Promise<{ servers: AggregatedServer[]; found: Found[] }> {
    const named = /^(?:tools\/call|prompts\/get)$/.test(call.message.method)
    const found = named ? [] : await this.#discover(call)
    const servers = this.branches.map(({ name, filter }, i) => {
      const capabilities = found[i]?.capabilities
      return { name, filter, capabilities: isObject(capabilities) ? capabilities : undefined }
    })
    return { servers, found }
  }

  async #discover(call: StatelessCall): Promise<Found[]> {
    const meta = metaOf(call.message.params)
    const kept = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES]
    const own = kept.flatMap((key) => (meta[key] === undefined ? [] : [[key, meta[key]]]))
    const params = { _meta: Object.fromEntries(own) }
    const answers = await Promise.all(
      this.branches.map((_, i) => this.#send(call, i, 'server/discover', params, () => {})),
    )
    return answers.map((raw) => (raw && 'result' in raw && isObject(raw.result) ? raw.result : undefined))
  }

  #discovered(servers: readonly AggregatedServer[], found: readonly Found[]): JsonObject {
    const instructions = mergeInstructions(
      found.map((each, i) => ({ name: servers[i]!.name, text: each?.instructions })),
    )
    return {
      resultType: 'complete',
      supportedVersions: [...STATELESS_REVISIONS],
      capabilities: mergeCapabilities(servers),
      ttlMs: 0,
      cacheScope: 'private',
      ...(instructions !== undefined && { instructions }),
    }
  }

  /** Subscribes at every server that is up; acknowledged once all of them have answered. */
  async #listen(call: StatelessCall, servers: readonly AggregatedServer[]): Sent {
    const { id } = call.message
    const granted: JsonObject = {}
    const uris = new Set<Json>()
    const early: JsonObject[] = []
    let acknowledged = false
    const onMessage = (raw: JsonObject) => {
      if (acknowledged) call.onMessage(raw)
      else early.push(raw)
    }
    const onGranted = (notifications: JsonObject) => {
      for (const [key, value] of Object.entries(notifications)) {
        if (Array.isArray(value)) for (const uri of value) uris.add(uri)
        else granted[key] = value
      }
    }
    const opening = servers.flatMap(({ capabilities }, i) =>
      capabilities ? [this.#listenAt(call, i, onMessage, onGranted)] : [],
    )
    await Promise.all(opening.map(({ open }) => open))
    if (uris.size) granted.resourceSubscriptions = [...uris]
    const tag = { [SUBSCRIPTION_ID]: id }
    const params = { _meta: tag, notifications: granted }
    call.onMessage({ jsonrpc: '2.0', method: ACKNOWLEDGED, params })
    acknowledged = true
    for (const raw of early) call.onMessage(raw)
    await Promise.all(opening.map(({ ended }) => ended))
    if (call.signal.aborted) return undefined
    return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: tag } }
  }

  /** @returns when the subscription at one server is open, and when it has ended */
  #listenAt(
    call: StatelessCall,
    i: number,
    onMessage: (raw: JsonObject) => void,
    onGranted: (notifications: JsonObject) => void,
  ): { open: Promise<void>; ended: Promise<void> } {
    let onOpen: () => void = () => {}
    const acknowledgement = new Promise<void>((resolve) => {
      onOpen = resolve
    })
    const take = (raw: JsonObject) => {
      if (raw.method !== ACKNOWLEDGED) return onMessage(raw)
      const { params } = raw
      if (isObject(params) && isObject(params.notifications)) onGranted(params.notifications)
      onOpen()
    }
    const ended = this.#send(call, i, LISTEN, call.message.params, take).then(() => {})
    return { open: Promise.race([acknowledgement, ended]), ended }
  }
}
