import { randomUUID } from 'node:crypto'
import { type JsonObject, stringify } from '../json/index.ts'
import {
  Fault,
  INTERNAL_ERROR,
  isObject,
  LIST_KINDS,
  type ListKind,
  type Message,
  negotiate,
  type RequestId,
  readMessage,
  requestIdOf,
} from '../mcp/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { Absence } from './absence.ts'
import {
  Aggregate,
  type AggregatedServer,
  type AggregateOptions,
  isPart,
  LISTS,
  mergeCapabilities,
} from './aggregate.ts'
import { createLasting, type Lasting, type Restored } from './backend/session-state.ts'
import { mergeInstructions } from './instructions.ts'
import {
  INITIALIZED,
  type Link,
  type LinkEvents,
  noted,
  pass,
  type Request,
  type Response,
  type Started,
} from './rpc/link.ts'
import { withOwnTaskIds, withTaskIds } from './server-names.ts'
import type { ServerView } from './server-view.ts'
import type { ToolFilter } from './tool-filter.ts'
import { FAILED } from './transport/channel.ts'
import { announce, announcedLists } from './transport/lasting-stream.ts'
/** One of the servers: its name, its filter, and what opens its session. */
export interface Branch {
  name: string
  filter: ToolFilter | undefined
  view: ServerView
  /** @param restore requests that bring a new session into the state of a lost one */
  open(events: LinkEvents, restore: () => Restored[]): Link
}

export interface AggregateSessionOptions extends AggregateOptions {
  branches: readonly Branch[]
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
  /** What the client's requests have set in the session of each server. */
  readonly #states: Lasting[]
  readonly #prefix = `plantgw-${randomUUID()}-`
  #count = 0
  readonly #own = new Map<string, OwnRequest>()
  /** Requests of the client that one server has, by id. */
  readonly #routed = new Map<RequestId, { to: number; method: string; params: JsonObject }>()
  /** Requests of servers to the client, under ids that differ among servers. */
  readonly #asked = new Map<string, { from: number; id: RequestId }>()
  /** How the client began, for servers that come up later. */
  #begun: Beginning | undefined
  /** Handshakes with servers that were down; requests for one of them wait. */
  readonly #reviving = new Map<number, Promise<string | undefined>>()
  /** The servers that had no part in the last answer to a method, although they are up. */
  readonly #missing = new Map<string, string>()
  readonly #absence: Absence
  #closed = false

  constructor(
    private readonly options: AggregateSessionOptions,
    private readonly events: LinkEvents,
  ) {
    const { branches } = options
    this.#servers = branches.map(({ name, filter, view }) => ({
      name,
      filter,
      view,
      capabilities: undefined,
    }))
    this.#aggregate = new Aggregate(this.#servers, options, (method, servers) =>
      this.#compare(method, servers),
    )
    this.#absence = new Absence({
      find: (i) => this.#find(i),
      announce: (kinds) => announce(kinds, this.events.message),
    })
    this.#states = branches.map(() => createLasting())
    this.#links = branches.map((_, i) => this.#open(i))
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
    const local = this.options.local()
    if (up.length || local) for (const [i, result] of results.entries()) if (!result) this.#absence.add(i)
    if (!up.length && !local)
      return (
        answers.find((answer) => answer instanceof Fault) ??
        new Fault('unreachable', 'No server took the handshake')
      )
    const instructions = mergeInstructions(
      results.map((result, i) => ({ name: this.#servers[i]!.name, text: result?.instructions })),
      local?.instructions,
    )
    // The oldest that they speak is understood by all.
    const oldest = up.map((each) => String(each.protocolVersion)).sort()[0]
    const revision = oldest ?? negotiate(String(request.params.protocolVersion))
    this.#begun = { request, text, revision }
    const result = {
      protocolVersion: revision,
      capabilities: mergeCapabilities([
        ...this.#servers,
        ...(local ? [{ capabilities: local.capabilitiesFor(revision) }] : []),
      ]),
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
      const raw = withOwnTaskIds({ ...message.raw, id: to.id }, this.#servers[to.from]!.name)
      pass(this.#links[to.from], { ...message, id: to.id, raw }, stringify(raw))
    } else if (message.kind === 'notification') {
      const cancels = message.method === 'notifications/cancelled'
      const call = cancels ? this.#routed.get(requestIdOf(message)) : undefined
      // What no server has, HTTP tools had, or all servers for the gateway.
      if (cancels && !call) return
      for (const [i, link] of this.#links.entries())
        if (this.#servers[i]?.capabilities && (!call || call.to === i)) pass(link, message, text)
    }
  }

  close(): void {
    this.#closed = true
    this.#absence.close()
    for (const link of this.#links) link.close()
    for (const state of this.#states) state.forget()
    for (const id of [...this.#own.keys()]) this.#settle(id, new Fault('lost', 'The session has ended'))
  }

  /** Tells the client that a list has more or less than it had, because of who answers. */
  #compare(method: string, servers: readonly number[]): void {
    const kind = Object.values(LIST_KINDS).find((one) => one === LISTS[method]?.capability)
    const missing = servers.join()
    for (const i of servers) this.#absence.add(i)
    if ((this.#missing.get(method) ?? '') === missing) return
    this.#missing.set(method, missing)
    if (kind) announce([kind], this.events.message)
  }

  #open(i: number): Link {
    return this.options.branches[i]!.open(this.#eventsOf(i), () => this.#states[i]!.restore())
  }

  #eventsOf(i: number): LinkEvents {
    return {
      message: (message, text) => this.#hear(i, message, text),
      refused: () => {
        const server = this.#servers[i] as AggregatedServer
        const kinds = announcedLists(server.capabilities)
        server.capabilities = undefined
        this.options.onDown(server.name, REFUSED)
        announce(kinds, this.events.message)
        this.#absence.add(i)
      },
      silent: () => {
        this.#absence.changed(this.#listsOf(i))
        this.#absence.add(i)
      },
      lost: (fault, only, kept) => {
        if (!only) this.#absence.changed(this.#listsOf(i))
        const concerns = (id: RequestId) => !kept?.has(id) && (!only || [...only].includes(id))
        for (const [id, { to }] of [...this.#own]) if (to === i && concerns(id)) this.#settle(id, fault)
        const routed = [...this.#routed].filter(([id, call]) => call.to === i && concerns(id))
        const ids = routed.map(([id]) => id)
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
    const { name } = this.#servers[i] as AggregatedServer
    if (message.kind === 'request') {
      const id = this.#nextId()
      this.#asked.set(id, { from: i, id: message.id })
      this.#emit(withTaskIds({ ...message.raw, id }, name))
    } else if (message.kind === 'notification') {
      const shown = withTaskIds(message.raw, name)
      if (shown === message.raw) this.events.message(message, text)
      else this.#emit(shown)
    } else if (message.kind !== 'response') this.events.message(message, text)
    else if (message.id !== null && !this.#settle(String(message.id), message.raw)) {
      const call = this.#routed.get(message.id)
      if (call && this.#routed.delete(message.id)) this.#give(i, call, message.id, message.raw)
    }
  }

  /** Gives the client the response of a server. */
  #give(
    i: number,
    { method, params }: { method: string; params: JsonObject },
    id: RequestId,
    raw: JsonObject,
  ): void {
    const shown = this.#aggregate.answer(i, method, params, raw)
    const failed = unexpected(method, () =>
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: FAILED } }),
    )
    if (shown instanceof Promise) shown.then((one) => this.#emit(one)).catch(failed)
    else this.#emit(shown)
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
    // Servers that are down are told once they are up.
    if (method === 'logging/setLevel') for (const state of this.#states) state.remember(request)
    const outcome = await this.#aggregate.decide(request, (to, asked, own) =>
      this.#ask(to, asked, own, request.span),
    )
    if (!('to' in outcome)) return this.#emit({ jsonrpc: '2.0', id, ...outcome } as JsonObject)
    const { to, params } = outcome
    this.#routed.set(id, { to, method, params })
    this.#states[to]!.remember({ method, params })
    const sent = { ...raw, params }
    const fault = await this.#deliver(to, { ...request, params, raw: sent }, stringify(sent))
    if (fault && this.#routed.delete(id))
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: fault.message } })
  }

  #ask(to: number, method: string, params: JsonObject, span?: Request['span']): Promise<JsonObject | Fault> {
    const id = this.#nextId()
    const answer = new Promise<JsonObject | Fault>((resolve) => {
      this.#own.set(id, { to, resolve })
      const raw: JsonObject = { jsonrpc: '2.0', id, method, params }
      const asked: Request = { kind: 'request', id, method, params, raw, ...(span && { span }) }
      this.#deliver(to, asked, stringify(raw))
        .then((fault) => fault && this.#settle(id, fault))
        .catch(unexpected(method, () => this.#settle(id, new Fault('internal', FAILED))))
    })
    return answer.then((raw) => {
      if (raw instanceof Fault) return raw
      if ('result' in raw) this.#states[to]!.remember({ method, params })
      return this.#aggregate.shown(to, method, raw)
    })
  }

  #settle(id: string, answer: JsonObject | Fault): boolean {
    const own = this.#own.get(id)
    own?.resolve(answer)
    return this.#own.delete(id)
  }

  async #deliver(to: number, message: Request, text: string): Promise<Fault | undefined> {
    // Why it is down is told by its link.
    await this.#reviving.get(to)?.catch(() => {})
    return this.#links[to]!.send(message, text)
  }

  /** The lists that a server has. */
  #listsOf(i: number): ListKind[] {
    const { capabilities } = this.#servers[i] as AggregatedServer
    return Object.values(LIST_KINDS).filter((kind) => capabilities?.[kind])
  }

  /** Whether a server that was down is there again; the client hears of it. */
  async #find(i: number): Promise<boolean> {
    const { capabilities } = this.#servers[i] as AggregatedServer
    const begun = this.#begun
    if (!capabilities) return begun !== undefined && (await this.#revival(i, begun)) === undefined
    const kinds = this.#listsOf(i)
    if (kinds[0] && !isPart(await this.#ask(i, `${kinds[0]}/list`, {}))) return false
    this.#absence.changed(kinds)
    return true
  }

  /** Tries servers that were down once more, as their back-off allows; the client hears of those that are up. */
  #reviveAll(): void {
    for (const [i, { name, capabilities }] of this.#servers.entries()) {
      if (capabilities || this.#reviving.has(i) || !this.#begun) continue
      this.#revival(i, this.#begun)
        .then((reason) => {
          if (reason !== undefined) this.options.onDown(name, reason)
        })
        .catch(unexpected('initialize'))
    }
  }

  /** One try at a time to open the session of a server that was down. @returns why it is still down */
  #revival(i: number, begun: Beginning): Promise<string | undefined> {
    const known = this.#reviving.get(i)
    if (known) return known
    const revival = this.#revive(i, begun).finally(() => this.#reviving.delete(i))
    this.#reviving.set(i, revival)
    return revival
  }

  async #revive(i: number, { request, text, revision }: Beginning): Promise<string | undefined> {
    this.#links[i]!.close()
    const link = this.#open(i)
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
    for (const { method, params } of this.#states[i]!.restore()) await this.#ask(i, method, params)
    announce(this.#listsOf(i), this.events.message)
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
