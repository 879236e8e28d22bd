import { randomUUID } from 'node:crypto'
import { type JsonObject, stringify } from '../json/index.ts'
import {
  Fault,
  INTERNAL_ERROR,
  isObject,
  isSessionRevision,
  LIST_KINDS,
  type ListKind,
  type Message,
  negotiate,
  ownId,
  ownRequest,
  type RequestId,
  readMessage,
  requestIdOf,
} from '../mcp/index.ts'
import type { Shaping } from '../shaping/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { Absence } from './absence.ts'
import {
  Aggregate,
  type AggregatedServer,
  type AggregateOptions,
  isPart,
  LISTS,
  mergeCapabilities,
  saidOf,
} from './aggregate.ts'
import type { AnswerTimeout } from './answer-timeout.ts'
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
import { ASSUMED_CAPABILITIES, HANDSHAKE_WAIT, MAX_START_WAIT, within } from './starting.ts'
import type { ToolFilter } from './tool-filter.ts'
import { FAILED } from './transport/channel.ts'
import { announce, announcedLists } from './transport/lasting-stream.ts'

/** One server of an aggregate: its name, its filter, and how to open its session. */
export interface Branch {
  /** Identity of the server, unchanged if a reload does not change its definition. */
  of: object
  name: string
  filter: ToolFilter | undefined
  view: ServerView
  answerTimeout: AnswerTimeout
  /** @param restore requests that restore the state of a lost session in a new one */
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

/** The session with one of the servers. After a reload that changes other servers, it moves to the new aggregate. */
interface Seat {
  in: AggregateSession
  /** Its index there. */
  at: number
  link: Link
  /** State that the client's requests have set in it. */
  state: Lasting
  /** Ends it, if no successor took it over; absent: it stays. */
  leave?: () => void
}

/** Running requests of a client's session, shared by its successive aggregates. */
interface UnderWay {
  /** The gateway's own requests. */
  own: Map<RequestId, { seat: Seat; resolve(raw: JsonObject | Fault): void }>
  /** Requests of the client sent to one server, by id. */
  routed: Map<RequestId, { seat: Seat; method: string; params: JsonObject }>
  /** Requests of servers to the client, under ids that are unique among servers. */
  asked: Map<string, { seat: Seat; id: RequestId }>
  leaving: Set<Seat>
}

/** A client's session with several servers behind one prefix, presented as one. */
export class AggregateSession implements Link {
  readonly #servers: AggregatedServer[]
  readonly #aggregate: Aggregate
  readonly #seats: Seat[]
  readonly #prefix = `plantgw-${randomUUID()}-`
  #count = 0
  readonly #underWay: UnderWay
  /** The client's handshake, for servers that come up later. */
  #begun: Beginning | undefined
  /** Handshakes with servers that were down; requests to those servers wait for them. */
  readonly #reviving = new Map<Seat, Promise<string | undefined>>()
  /** Running servers missing from the last answer to each method. */
  readonly #missing = new Map<string, string>()
  readonly #absence: Absence
  /** Whether the client has completed its handshake. */
  #isReady: boolean
  /** Servers whose first start is not finished. */
  readonly #starting = new Set<Seat>()
  /** Resolves when these have started, failed or exceeded the time allowed before the first lists. */
  #settled: Promise<unknown> = Promise.resolve()
  /** Reason for the last failure of a server. */
  #reason = ''
  #closed = false

  /** @param before the client's session until a reload; call `resume` next. Absent: it is new, and `start` follows */
  constructor(
    private readonly options: AggregateSessionOptions,
    private readonly events: LinkEvents,
    before?: AggregateSession,
  ) {
    const { branches } = options
    this.#isReady = before !== undefined
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
    this.#underWay = before
      ? before.#underWay
      : {
          own: new Map(),
          routed: new Map(),
          asked: new Map(),
          leaving: new Set(),
        }
    const given = (at: number) => (before ? before.#handOver(branches[at]!.of, this, at) : undefined)
    this.#seats = branches.map((_, at) => given(at) ?? this.#seat(at))
  }

  /** Servers that start slowly join later, as clients give up soon; they are assumed to have lists of all kinds. */
  async start(request: Request, text: string): Promise<Started> {
    const starts = this.#seats.map(({ link }) => link.start(request, text))
    const answers = await Promise.all(starts.map((each) => within(HANDSHAKE_WAIT, each)))
    const results = answers.map((answer, i) => this.#started(i, answer))
    const up = results.filter((result) => result !== undefined)
    const late = this.#seats.filter(({ at }) => !answers[at])
    const local = this.options.local()
    if (!up.length && !local && !late.length)
      return (
        answers.find((answer) => answer instanceof Fault) ??
        new Fault('unreachable', 'No server took the handshake')
      )
    for (const [i, answer] of answers.entries()) if (answer && !results[i]) this.#absence.add(i)
    const instructions = mergeInstructions(
      results.map((result, i) => ({ name: this.#servers[i]!.name, text: result?.instructions })),
      local?.instructions,
    )
    // All servers understand the oldest revision that any of them negotiated.
    const oldest = up.map((each) => String(each.protocolVersion)).sort()[0]
    const revision = oldest ?? negotiate(String(request.params.protocolVersion))
    this.#begun = { request, text, revision }
    this.#joinLater(late, async (seat) => this.#join(seat, seat.link, await starts[seat.at]!)).catch(
      unexpected('initialize'),
    )
    const result = {
      protocolVersion: revision,
      capabilities: mergeCapabilities([
        ...this.#servers,
        ...late.map(() => ({ capabilities: ASSUMED_CAPABILITIES })),
        ...(local ? [{ capabilities: local.capabilitiesFor(revision) }] : []),
      ]),
      serverInfo: { ...this.options.info },
      ...(instructions !== undefined && { instructions }),
    }
    const raw: JsonObject = { jsonrpc: '2.0', id: request.id, result }
    return { response: readMessage(raw) as Response, text: stringify(raw) }
  }

  /** The `initialize` result of a server; undefined: it is down or still starting. */
  #started(i: number, answer: Started | undefined): JsonObject | undefined {
    if (!answer) return undefined
    const result = answer instanceof Fault ? undefined : answer.response.raw.result
    const server = this.#servers[i] as AggregatedServer
    if (isObject(result)) {
      server.capabilities = saidOf(result)
      return result
    }
    this.#down(i, answer instanceof Fault ? answer.message : REFUSED)
    return undefined
  }

  #down(i: number, reason: string): void {
    this.#reason = reason
    if (!this.#closed) this.options.onDown(this.#servers[i]!.name, reason)
  }

  /** Lets starting servers join when they are up; the first requests wait for them for a limited time. */
  #joinLater(seats: readonly Seat[], join: (seat: Seat) => Promise<string | undefined>): Promise<unknown> {
    const joined = seats.map(async (seat) => {
      this.#starting.add(seat)
      const up = this.#revival(seat, join)
        .finally(() => this.#starting.delete(seat))
        .then((reason) => (reason === undefined ? true : new Fault('unreachable', reason)))
      const answer = await this.options.branches[seat.at]!.answerTimeout.limit(up)
      if (!(answer instanceof Fault)) return
      this.#down(seat.at, answer.message)
      this.#absence.add(seat.at)
    })
    const all = Promise.all(joined).catch(unexpected('initialize'))
    this.#settled = within(MAX_START_WAIT, all)
    return within(HANDSHAKE_WAIT, all)
  }

  /**
   * Continues the session of `before`: unchanged servers notice nothing, new servers start, removed servers end.
   * @param limit milliseconds allowed for running calls of removed servers
   */
  async resume(before: AggregateSession, limit: number): Promise<void> {
    const begun = before.#begun
    if (!begun) return
    this.#begun = begun
    this.options.owners.learnFrom(before.options.owners, (i) => {
      const seat = before.#seats[i]
      return seat?.in === this ? seat.at : undefined
    })
    const fresh = this.#seats.filter(({ at }) => !this.#servers[at]!.capabilities)
    for (const { at, state } of fresh)
      for (const each of before.#stateOf(this.#servers[at]!.name)) state.remember(each)
    before.#absence.close()
    before.trim(new Set(), limit).catch(unexpected('the end of a server'))
    await this.#joinLater(fresh, (seat) => this.#revive(seat, begun))
  }

  /**
   * Ends the sessions with removed or replaced servers, each when its calls have ended.
   * @param kept servers that stay
   * @param limit milliseconds after which calls end anyway
   */
  async trim(kept: ReadonlySet<object>, limit: number): Promise<void> {
    const { branches } = this.options
    const left = this.#seats.filter(
      (seat) => seat.in === this && !seat.leave && !kept.has(branches[seat.at]!.of),
    )
    await Promise.all(left.map((seat) => this.#leave(seat, limit)))
  }

  send(message: Message, text: string): undefined {
    const { asked, routed } = this.#underWay
    if (message.kind === 'request') this.#take(message)
    else if (message.kind === 'response') {
      const to = asked.get(String(message.id))
      asked.delete(String(message.id))
      if (!to) return
      const { seat, id } = to
      const raw = withOwnTaskIds({ ...message.raw, id }, seat.in.#servers[seat.at]!.name)
      pass(seat.link, { ...message, id, raw }, stringify(raw))
    } else if (message.kind === 'notification') {
      this.#isReady ||= message.method === 'notifications/initialized'
      const cancels = message.method === 'notifications/cancelled'
      const call = cancels ? routed.get(requestIdOf(message)) : undefined
      // The request belonged to HTTP tools, or to all servers through the gateway's own requests.
      if (cancels && !call) return
      if (call) pass(call.seat.link, message, text)
      else
        for (const { link, at } of this.#seats) if (this.#servers[at]?.capabilities) pass(link, message, text)
    }
  }

  close(): void {
    const { own, leaving } = this.#underWay
    this.#closed = true
    this.#absence.close()
    for (const { leave } of [...leaving]) leave?.()
    for (const { link, state } of this.#seats) {
      link.close()
      state.forget()
    }
    for (const id of [...own.keys()]) this.#settle(id, new Fault('lost', 'The session has ended'))
  }

  #seat(at: number): Seat {
    const seat: Seat = { in: this, at, state: createLasting(), link: undefined as unknown as Link }
    seat.link = this.#open(seat)
    return seat
  }

  #open(seat: Seat): Link {
    return this.options.branches[seat.at]!.open(AggregateSession.#eventsOf(seat), () => seat.state.restore())
  }

  /** Moves the session of a running server to a successor. */
  #handOver(of: object, to: AggregateSession, at: number): Seat | undefined {
    const seat = this.#seats.find((one) => one.in === this && this.options.branches[one.at]!.of === of)
    const capabilities = seat && this.#servers[seat.at]!.capabilities
    if (!capabilities || seat.leave) return undefined
    to.#servers[at]!.capabilities = capabilities
    return Object.assign(seat, { in: to, at })
  }

  /** The state for a server that replaces one of the same name; a new server gets only the log level. */
  #stateOf(name: string): Restored[] {
    const all = this.#seats.map(({ state }) => state.restore())
    const own = this.#servers.findIndex((server) => server.name === name)
    return all[own] ?? all.flat().filter(({ method }) => method === 'logging/setLevel')
  }

  #leave(seat: Seat, limit: number): Promise<void> {
    const { leaving } = this.#underWay
    this.#servers[seat.at]!.capabilities = undefined
    leaving.add(seat)
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer)
        if (!leaving.delete(seat)) return
        seat.link.close()
        seat.state.forget()
        AggregateSession.#lose(seat, REPLACED)
        resolve()
      }
      const timer = setTimeout(leave, limit)
      seat.leave = leave
      this.#over(seat)
    })
  }

  /** Called when a request to a server has ended. */
  #over(seat: Seat): void {
    if (!seat.leave) return
    const { own, routed } = this.#underWay
    const isUsed = [...own.values(), ...routed.values()].some((one) => one.seat === seat)
    if (!isUsed) seat.leave()
  }

  /** Notifies the client that a list changed because different servers answered. */
  #compare(method: string, servers: readonly number[]): void {
    const kind = Object.values(LIST_KINDS).find((one) => one === LISTS[method]?.capability)
    const missing = servers.join()
    for (const i of servers) this.#absence.add(i)
    if ((this.#missing.get(method) ?? '') === missing) return
    this.#missing.set(method, missing)
    if (kind) announce([kind], this.events.message)
  }

  /** Fails the requests to a lost server. @param concerns absent: all of them */
  static #lose(seat: Seat, fault: Fault, concerns: (id: RequestId) => boolean = () => true): void {
    const { own, routed } = seat.in.#underWay
    for (const [id, one] of [...own]) if (one.seat === seat && concerns(id)) seat.in.#settle(id, fault)
    const ids = [...routed].flatMap(([id, call]) => (call.seat === seat && concerns(id) ? [id] : []))
    for (const id of ids) routed.delete(id)
    seat.in.events.lost(fault, ids)
  }

  static #eventsOf(seat: Seat): LinkEvents {
    return {
      message: (message, text) => seat.in.#hear(seat, message, text),
      refused: () => seat.in.#refused(seat),
      silent: () => {
        seat.in.#absence.changed(seat.in.#listsOf(seat.at))
        seat.in.#absence.add(seat.at)
      },
      lost: (fault, only, kept) => {
        if (!only) seat.in.#absence.changed(seat.in.#listsOf(seat.at))
        const ids = only && new Set(only)
        AggregateSession.#lose(seat, fault, (id) => !kept?.has(id) && (!ids || ids.has(id)))
        seat.in.#over(seat)
      },
      rejected: (id, fault) => {
        const { own, routed } = seat.in.#underWay
        // Without an id, it may answer any request to this server.
        for (const one of id === undefined ? [...own.keys()] : [id])
          if (own.get(one)?.seat === seat) seat.in.#settle(one, fault)
        for (const call of id === undefined ? [...routed.keys()] : [id])
          if (routed.get(call)?.seat === seat && routed.delete(call)) seat.in.events.rejected(call, fault)
        seat.in.#over(seat)
      },
    }
  }

  #refused({ at }: Seat): void {
    const server = this.#servers[at] as AggregatedServer
    const kinds = announcedLists(server.capabilities)
    server.capabilities = undefined
    this.options.onDown(server.name, REFUSED)
    announce(kinds, this.events.message)
    this.#absence.add(at)
  }

  /** Handles a message of a server. */
  #hear(seat: Seat, message: Message, text: string): void {
    const { asked, own, routed } = this.#underWay
    const { name } = this.#servers[seat.at] as AggregatedServer
    if (message.kind === 'request') {
      const id = this.#nextId()
      asked.set(id, { seat, id: message.id })
      this.#emit(withTaskIds({ ...message.raw, id }, name))
    } else if (message.kind === 'notification') {
      const shown = this.#cancelled(seat, message) ?? withTaskIds(message.raw, name)
      if (shown === message.raw) this.events.message(message, text)
      else this.#emit(shown)
    } else if (message.kind !== 'response') this.events.message(message, text)
    else if (message.id !== null && own.get(message.id)?.seat === seat) this.#settle(message.id, message.raw)
    else if (message.id !== null) {
      const call = routed.get(message.id)
      // Servers can guess the client's ids, so only the server that was asked may answer.
      if (call?.seat !== seat) return
      routed.delete(message.id)
      this.#give(seat, call, message.raw)
    }
  }

  /** A server's cancellation of its own request, with the id known to the client; undefined: another notification. */
  #cancelled(seat: Seat, { method, params, raw }: Extract<Message, { kind: 'notification' }>) {
    if (method !== 'notifications/cancelled') return undefined
    const { asked } = this.#underWay
    for (const [id, question] of asked) {
      if (question.seat !== seat || question.id !== params.requestId) continue
      asked.delete(id)
      return { ...raw, params: { ...params, requestId: id } }
    }
    return undefined
  }

  /** Sends the client the response of a server. */
  #give(seat: Seat, { method, params }: { method: string; params: JsonObject }, raw: JsonObject): void {
    this.#emit(this.#aggregate.shown(seat.at, method, raw), this.#aggregate.shaping(seat.at, method, params))
    this.#over(seat)
  }

  /** Handles a request of the client. */
  #take(request: Request): void {
    const { id, method } = request
    const failed = unexpected(method, () => {
      this.#underWay.routed.delete(id)
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: FAILED } })
    })
    this.#answer(request).catch(failed)
  }

  async #answer(request: Request): Promise<void> {
    const { id, method, raw } = request
    const { routed } = this.#underWay
    if (method === 'ping') return this.#emit({ jsonrpc: '2.0', id, result: {} })
    if (method.endsWith('/list')) this.#reviveAll()
    // A tool or prompt name may identify its server, and then only that server is waited for.
    if (method !== 'tools/call' && method !== 'prompts/get') await this.#settled
    if (Object.hasOwn(LISTS, method) && this.#isDown())
      return this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: this.#reason } })
    // Servers that are down get the level when they are up again.
    if (method === 'logging/setLevel') for (const { state } of this.#seats) state.remember(request)
    const outcome = await this.#aggregate.decide(request, (to, asked, own) =>
      this.options.branches[to]!.answerTimeout.limit(this.#ask(this.#seats[to]!, asked, own, request.span)),
    )
    if (!('to' in outcome)) return this.#emit({ jsonrpc: '2.0', id, ...outcome } as JsonObject)
    const { to, params } = outcome
    const seat = this.#seats[to] as Seat
    routed.set(id, { seat, method, params })
    seat.state.remember({ method, params })
    const sent = { ...raw, params }
    const fault = await this.#deliver(seat, { ...request, params, raw: sent }, stringify(sent))
    if (fault && routed.delete(id))
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: fault.message } })
    if (fault) this.#over(seat)
  }

  /** @param begins whether it belongs to a handshake, which other requests wait for */
  #ask(
    seat: Seat,
    method: string,
    params: JsonObject,
    span?: Request['span'],
    begins = false,
  ): Promise<JsonObject | Fault> {
    const id = ownId()
    const answer = new Promise<JsonObject | Fault>((resolve) => {
      this.#underWay.own.set(id, { seat, resolve })
      const asked: Request = { ...ownRequest(method, params, id), ...(span && { span }) }
      this.#deliver(seat, asked, stringify(asked.raw), begins)
        .then((fault) => fault && this.#settle(id, fault))
        .catch(unexpected(method, () => this.#settle(id, new Fault('internal', FAILED))))
    })
    return answer.then((raw) => {
      if (raw instanceof Fault) return raw
      if ('result' in raw) seat.state.remember({ method, params })
      return seat.in.#aggregate.shown(seat.at, method, raw)
    })
  }

  #settle(id: RequestId, answer: JsonObject | Fault): void {
    const { own } = this.#underWay
    const asked = own.get(id)
    own.delete(id)
    asked?.resolve(answer)
    if (asked) this.#over(asked.seat)
  }

  async #deliver(seat: Seat, message: Request, text: string, begins = false): Promise<Fault | undefined> {
    // The link itself reports why the server is down.
    if (!begins) await seat.in.#reviving.get(seat)?.catch(() => {})
    return seat.link.send(message, text)
  }

  /** The kinds of lists that a server has. */
  #listsOf(i: number): ListKind[] {
    const { capabilities } = this.#servers[i] as AggregatedServer
    return Object.values(LIST_KINDS).filter((kind) => capabilities?.[kind])
  }

  /** Whether a server that was down is up again; if so, notifies the client. */
  async #find(i: number): Promise<boolean> {
    const { capabilities } = this.#servers[i] as AggregatedServer
    const seat = this.#seats[i] as Seat
    const begun = this.#begun
    const revive = (one: Seat) => this.#revive(one, begun!)
    if (!capabilities) return begun !== undefined && (await this.#revival(seat, revive)) === undefined
    const kinds = this.#listsOf(i)
    if (kinds[0] && !isPart(await this.#ask(seat, `${kinds[0]}/list`, {}))) return false
    this.#absence.changed(kinds)
    return true
  }

  /** Retries servers that were down, as their back-off allows, and notifies the client of those that are up. */
  #reviveAll(): void {
    const begun = this.#begun
    for (const [i, { capabilities }] of this.#servers.entries()) {
      const seat = this.#seats[i] as Seat
      if (capabilities || this.#reviving.has(seat) || !begun) continue
      this.#revival(seat, (one) => this.#revive(one, begun))
        .then((reason) => {
          if (reason !== undefined) this.#down(i, reason)
        })
        .catch(unexpected('initialize'))
    }
  }

  /** Opens the session of a server that is down, one attempt at a time. @returns why it is still down */
  #revival(seat: Seat, join: (seat: Seat) => Promise<string | undefined>): Promise<string | undefined> {
    const known = this.#reviving.get(seat)
    if (known) return known
    const revival = join(seat).finally(() => this.#reviving.delete(seat))
    this.#reviving.set(seat, revival)
    return revival
  }

  async #revive(seat: Seat, { request, text }: Beginning): Promise<string | undefined> {
    if (seat.leave) return REPLACED.message
    seat.link.close()
    const link = this.#open(seat)
    seat.link = link
    return this.#join(seat, link, await link.start(request, text))
  }

  /** Adds a server that has come up to the client's session. @returns why it is down */
  async #join(seat: Seat, link: Link, answer: Started): Promise<string | undefined> {
    if (answer instanceof Fault) return answer.message
    const { result } = answer.response.raw
    // A server of an older revision declares no newer capabilities, so the client does not use them with it.
    if (!isObject(result) || !isSessionRevision(result.protocolVersion)) return REFUSED
    if (this.#closed || seat.leave) return undefined
    this.#servers[seat.at]!.capabilities = saidOf(result)
    // Otherwise the client's own notification reaches it, and the client has no lists yet.
    if (!this.#isReady) return undefined
    await link.send(noted('notifications/initialized'), INITIALIZED)
    for (const { method, params } of seat.state.restore())
      await this.#ask(seat, method, params, undefined, true)
    announce(this.#listsOf(seat.at), this.events.message)
    return undefined
  }

  /** Whether no server and no HTTP tool could provide a list. */
  #isDown(): boolean {
    const isUp = this.#servers.some(({ capabilities }) => capabilities)
    return !isUp && !this.#starting.size && !this.options.local()
  }

  #nextId(): string {
    return `${this.#prefix}${++this.#count}`
  }

  #emit(raw: JsonObject, shaping?: Shaping): void {
    this.events.message(readMessage(raw), stringify(raw), shaping)
  }
}

const REFUSED = 'it refused the handshake'
const REPLACED = new Fault('lost', 'The server was replaced or taken away')
