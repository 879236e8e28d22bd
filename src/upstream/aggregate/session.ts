import { randomUUID } from 'node:crypto'
import { type JsonObject, stringify } from '../../json/index.ts'
import {
  Fault,
  INTERNAL_ERROR,
  isObject,
  type Message,
  type RequestId,
  readMessage,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import {
  INITIALIZED,
  type Link,
  type LinkEvents,
  noted,
  pass,
  type Request,
  type Response,
  type Started,
} from '../rpc/link.ts'
import type { ToolFilter } from '../tool-filter.ts'
import { FAILED } from '../transport/channel.ts'
import { Aggregate, type AggregatedServer, mergeCapabilities, mergeInstructions } from './several.ts'

/** One of the servers: its name, its filter, and what opens its session. */
export interface Branch {
  name: string
  filter: ToolFilter | undefined
  open(events: LinkEvents): Link
}

export interface AggregateSessionOptions {
  branches: readonly Branch[]
  /** `serverInfo` of all together. */
  info: { name: string; version: string }
  onClash(uri: string, server: string): void
  onDown(server: string, reason: string): void
}

interface Beginning {
  request: Request
  text: string
  revision: string
}

/** A request of the gateway's own to one of the servers. */
interface OwnRequest {
  to: number
  resolve(raw: JsonObject | Fault): void
}

/** A client's session with several servers behind one prefix, as one. */
export class AggregateSession implements Link {
  readonly #servers: AggregatedServer[]
  readonly #aggregate: Aggregate
  readonly #links: Link[]
  readonly #prefix = `plantgw-${randomUUID()}-`
  #count = 0
  readonly #own = new Map<string, OwnRequest>()
  /** Requests of the client that one server has, by id. */
  readonly #routed = new Map<RequestId, { to: number; method: string }>()
  /** Requests of servers to the client, under ids that differ among servers. */
  readonly #asked = new Map<string, { from: number; id: RequestId }>()
  /** How the client began, for servers that come up later. */
  #begun: Beginning | undefined
  /** Handshakes with servers that were down; requests for one of them wait. */
  readonly #reviving = new Map<number, Promise<void>>()
  #closed = false

  constructor(
    private readonly options: AggregateSessionOptions,
    private readonly events: LinkEvents,
  ) {
    const { branches, onClash } = options
    this.#servers = branches.map(({ name, filter }) => ({ name, filter, capabilities: undefined }))
    this.#aggregate = new Aggregate(this.#servers, onClash)
    this.#links = branches.map(({ open }, i) => open(this.#eventsOf(i)))
  }

  async start(request: Request, text: string): Promise<Started> {
    const answers = await Promise.all(this.#links.map((link) => link.start(request, text)))
    const results = answers.map((answer, i) => {
      const result = answer instanceof Fault ? undefined : answer.response.raw.result
      const server = this.#servers[i] as AggregatedServer
      if (isObject(result)) {
        server.capabilities = isObject(result.capabilities) ? result.capabilities : {}
        return result
      }
      this.options.onDown(server.name, answer instanceof Fault ? answer.message : REFUSED)
      return undefined
    })
    const up = results.filter((result) => result !== undefined)
    if (!up.length)
      return (
        answers.find((answer) => answer instanceof Fault) ??
        new Fault('unreachable', 'No server took the handshake')
      )
    const instructions = mergeInstructions(
      results.map((result, i) => ({ name: this.#servers[i]!.name, text: result?.instructions })),
    )
    // The oldest that they speak is understood by all.
    const revision = up.map((each) => String(each.protocolVersion)).sort()[0] as string
    this.#begun = { request, text, revision }
    const result = {
      protocolVersion: revision,
      capabilities: mergeCapabilities(this.#servers),
      serverInfo: { ...this.options.info },
      ...(instructions !== undefined && { instructions }),
    }
    const raw: JsonObject = { jsonrpc: '2.0', id: request.id, result }
    return { response: readMessage(raw) as Response, text: stringify(raw) }
  }

  send(message: Message, text: string): undefined {
    if (message.kind === 'request') this.#take(message)
    else if (message.kind === 'response') {
      const to = this.#asked.get(String(message.id))
      this.#asked.delete(String(message.id))
      if (!to) return
      const raw = { ...message.raw, id: to.id }
      pass(this.#links[to.from], { ...message, id: to.id, raw }, stringify(raw))
    } else if (message.kind === 'notification') {
      const cancels = message.method === 'notifications/cancelled'
      const call = cancels ? this.#routed.get(message.params.requestId as RequestId) : undefined
      for (const [i, link] of this.#links.entries())
        if (this.#servers[i]?.capabilities && (!call || call.to === i)) pass(link, message, text)
    }
  }

  close(): void {
    this.#closed = true
    for (const link of this.#links) link.close()
    for (const id of [...this.#own.keys()]) this.#settle(id, new Fault('lost', 'The session has ended'))
  }

  #eventsOf(i: number): LinkEvents {
    return {
      message: (message, text) => this.#hear(i, message, text),
      lost: (fault) => {
        for (const [id, { to }] of [...this.#own]) if (to === i) this.#settle(id, fault)
        const ids = [...this.#routed].filter(([, call]) => call.to === i).map(([id]) => id)
        for (const id of ids) this.#routed.delete(id)
        this.events.lost(fault, ids)
      },
      rejected: (id, fault) => {
        // Without an id it may be the answer to any request of this server.
        for (const own of id === undefined ? [...this.#own.keys()] : [String(id)])
          if (this.#own.get(own)?.to === i) this.#settle(own, fault)
        for (const call of id === undefined ? [...this.#routed.keys()] : [id])
          if (this.#routed.get(call)?.to === i && this.#routed.delete(call)) this.events.rejected(call, fault)
      },
    }
  }

  /** Takes a message of a server. */
  #hear(i: number, message: Message, text: string): void {
    if (message.kind === 'request') {
      const id = this.#nextId()
      this.#asked.set(id, { from: i, id: message.id })
      this.#emit({ ...message.raw, id })
    } else if (message.kind !== 'response') this.events.message(message, text)
    else if (message.id !== null && !this.#settle(String(message.id), message.raw)) {
      const call = this.#routed.get(message.id)
      if (call && this.#routed.delete(message.id))
        this.#emit(this.#aggregate.shown(i, call.method, message.raw))
    }
  }

  /** Takes a request of the client. */
  #take(request: Request): void {
    const { id, method } = request
    const failed = unexpected(method, () => {
      this.#routed.delete(id)
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: FAILED } })
    })
    this.#answer(request).catch(failed)
  }

  async #answer(request: Request): Promise<void> {
    const { id, method, raw } = request
    if (method === 'ping') return this.#emit({ jsonrpc: '2.0', id, result: {} })
    if (method.endsWith('/list')) this.#reviveAll()
    const outcome = await this.#aggregate.decide(request, (to, asked, own) => this.#ask(to, asked, own))
    if (!('to' in outcome)) return this.#emit({ jsonrpc: '2.0', id, ...outcome } as JsonObject)
    const { to, params } = outcome
    this.#routed.set(id, { to, method })
    const sent = { ...raw, params }
    const fault = await this.#deliver(to, { ...request, params, raw: sent }, stringify(sent))
    if (fault && this.#routed.delete(id))
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: fault.message } })
  }

  #ask(to: number, method: string, params: JsonObject): Promise<JsonObject | Fault> {
    const id = this.#nextId()
    const answer = new Promise<JsonObject | Fault>((resolve) => {
      this.#own.set(id, { to, resolve })
      const raw: JsonObject = { jsonrpc: '2.0', id, method, params }
      this.#deliver(to, { kind: 'request', id, method, params, raw }, stringify(raw))
        .then((fault) => fault && this.#settle(id, fault))
        .catch(unexpected(method, () => this.#settle(id, new Fault('internal', FAILED))))
    })
    return answer.then((raw) => (raw instanceof Fault ? raw : this.#aggregate.shown(to, method, raw)))
  }

  #settle(id: string, answer: JsonObject | Fault): boolean {
    const own = this.#own.get(id)
    own?.resolve(answer)
    return this.#own.delete(id)
  }

  async #deliver(to: number, message: Request, text: string): Promise<Fault | undefined> {
    await this.#reviving.get(to)
    return this.#links[to]!.send(message, text)
  }

  /** Tries servers that were down once more, as their back-off allows; the client hears of those that are up. */
  #reviveAll(): void {
    for (const [i, { name, capabilities }] of this.#servers.entries()) {
      if (capabilities || this.#reviving.has(i) || !this.#begun) continue
      const revival = this.#revive(i, this.#begun)
        .then((reason) => {
          if (reason !== undefined) this.options.onDown(name, reason)
        })
        .catch(unexpected('initialize'))
        .finally(() => this.#reviving.delete(i))
      this.#reviving.set(i, revival)
    }
  }

  async #revive(i: number, { request, text, revision }: Beginning): Promise<string | undefined> {
    this.#links[i]!.close()
    const link = this.options.branches[i]!.open(this.#eventsOf(i))
    this.#links[i] = link
    const answer = await link.start(request, text)
    if (answer instanceof Fault) return answer.message
    const { result } = answer.response.raw
    // What the client knows of the protocol holds for the whole session.
    if (!isObject(result) || String(result.protocolVersion) < revision) return REFUSED
    if (this.#closed) return undefined
    const capabilities = isObject(result.capabilities) ? result.capabilities : {}
    this.#servers[i]!.capabilities = capabilities
    await link.send(noted('notifications/initialized'), INITIALIZED)
    for (const kind of ['tools', 'prompts', 'resources'])
      if (capabilities[kind]) this.#emit({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` })
    return undefined
  }

  #nextId(): string {
    return `${this.#prefix}${++this.#count}`
  }

  #emit(raw: JsonObject): void {
    this.events.message(readMessage(raw), stringify(raw))
  }
}

const REFUSED = 'it refused the handshake'
