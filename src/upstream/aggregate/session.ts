import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../json/index.ts'
import {
  type ClientSession,
  errorResponse,
  Fault,
  INTERNAL_ERROR,
  isObject,
  isSessionRevision,
  LIST_KINDS,
  type ListKind,
  type Message,
  negotiate,
  ownRequest,
  type Request,
  type RequestId,
  readMessage,
  requestIdOf,
  withParams,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { within } from '../../text/index.ts'
import {
  completeHandshake,
  createLasting,
  handshakeRefused,
  type Lasting,
  type RelayOptions,
  type Reply,
  type Restored,
  replyOf,
  resultOf,
  type UpstreamSession,
  type UpstreamSessionEvents,
} from '../rpc/upstream-session.ts'
import { announce, announcedLists } from '../transport/lasting-stream.ts'
import { ASSUMED_CAPABILITIES, HANDSHAKE_WAIT, MAX_START_WAIT } from '../waits.ts'
import { Absence } from './absence.ts'
import {
  Aggregate,
  type AggregatedServer,
  isPart,
  LISTS,
  type Member,
  type MemberOptions,
  mergeCapabilities,
  mergeInstructions,
  saidOf,
} from './aggregate.ts'
import { withOwnTaskIds, withTaskIds } from './server-names.ts'

interface Beginning {
  request: Request
  revision: string
}

/** The session with one of the servers. After a reload that changes other servers, it moves to the new aggregate. */
interface MemberSession extends Member, AggregatedServer {
  in: AggregateSession
  /** Its index there. */
  at: number
  session: UpstreamSession
  /** State that the client's requests have set in it. */
  state: Lasting
  /** Number of requests without a reply. */
  running: number
  /** Ends it, if no successor took it over; absent: it stays. */
  leave?: () => void
}

/** Facts that the successive aggregates of a client's session share. */
interface UnderWay {
  /** The servers of the client's requests, by id. */
  routed: Map<RequestId, MemberSession>
  /** Requests of servers to the client, under ids that are unique among servers. */
  asked: Map<string, { member: MemberSession; id: RequestId }>
  leaving: Set<MemberSession>
}

/** A client's session with several servers behind one prefix, presented as one. */
export class AggregateSession implements UpstreamSession {
  readonly #aggregate: Aggregate
  readonly #sessions: MemberSession[]
  readonly #prefix = `plantgw-${randomUUID()}-`
  #count = 0
  readonly #underWay: UnderWay
  /** The client's handshake, for servers that come up later. */
  #begun: Beginning | undefined
  /** Handshakes with servers that were down; requests to those servers wait for them. */
  readonly #reviving = new Map<MemberSession, Promise<string | undefined>>()
  /** Running servers missing from the last answer to each method. */
  readonly #missing = new Map<string, string>()
  readonly #absence: Absence
  /** Whether the client has completed its handshake. */
  #isReady: boolean
  /** Servers whose first start is not finished. */
  readonly #starting = new Set<MemberSession>()
  /** Resolves when these have started, failed or exceeded the time allowed before the first lists. */
  #settled: Promise<unknown> = Promise.resolve()
  /** Reason for the last failure of a server. */
  #reason = ''
  #closed = false

  /** @param before the client's session until a reload; call `takeOver` next. Absent: it is new, and `start` follows */
  constructor(
    private readonly options: MemberOptions,
    private readonly client: Pick<ClientSession, 'caller' | 'quotaKey'>,
    private readonly events: UpstreamSessionEvents,
    before?: AggregateSession,
  ) {
    this.#isReady = before !== undefined
    this.#absence = new Absence({
      find: (i) => this.#find(i),
      announce: (kinds) => announce(kinds, this.events.message),
    })
    this.#underWay = before ? before.#underWay : { routed: new Map(), asked: new Map(), leaving: new Set() }
    const given = (member: Member, at: number) => (before ? before.#handOver(member, this, at) : undefined)
    this.#sessions = options.members.map((one, at) => given(one, at) ?? this.#memberSession(one, at))
    this.#aggregate = new Aggregate(this.#sessions, options, (method, servers) =>
      this.#compare(method, servers),
    )
  }

  /** Servers that start slowly join later, as clients give up soon; they are assumed to have lists of all kinds. */
  async start(request: Request): Promise<Reply | Fault> {
    const starts = this.#sessions.map((member) => this.#greet(member, member.session, request))
    const answers = await Promise.all(starts.map((each) => within(HANDSHAKE_WAIT, each)))
    const results = answers.map((answer, i) => this.#started(i, answer))
    const up = results.filter((result) => result !== undefined)
    const late = this.#sessions.filter(({ at }) => !answers[at])
    const local = this.options.local()
    const fault = answers.find((answer) => answer instanceof Fault)
    if (fault && !up.length && !local && !late.length) return fault
    for (const [i, answer] of answers.entries()) if (answer && !results[i]) this.#absence.add(i)
    const instructions = mergeInstructions(
      results.map((result, i) => ({ name: this.#sessions[i]!.name, text: result?.instructions })),
      local?.instructions,
    )
    // All servers understand the oldest revision that any of them negotiated.
    const oldest = up.map((each) => String(each.protocolVersion)).sort()[0]
    const revision = oldest ?? negotiate(String(request.params.protocolVersion))
    this.#begun = { request, revision }
    this.#joinLater(late, async (member) =>
      this.#join(member, member.session, await starts[member.at]!),
    ).catch(unexpected('initialize'))
    const result = {
      protocolVersion: revision,
      capabilities: mergeCapabilities([
        ...this.#sessions,
        ...late.map(() => ({ capabilities: ASSUMED_CAPABILITIES })),
        ...(local ? [{ capabilities: local.capabilitiesFor(revision) }] : []),
      ]),
      serverInfo: { ...this.options.info },
      ...(instructions !== undefined && { instructions }),
    }
    return resultOf(request.id, result)
  }

  /** Starts a session with a server. @returns the result of `initialize` */
  async #greet(
    { name }: MemberSession,
    session: UpstreamSession,
    request: Request,
  ): Promise<JsonObject | Fault> {
    const answer = await session.start(request)
    if (answer instanceof Fault) return answer
    const { result } = answer.raw
    return isObject(result) ? result : handshakeRefused(name, answer.raw)
  }

  /** The `initialize` result of a server; undefined: it is down or still starting. */
  #started(i: number, answer: JsonObject | Fault | undefined): JsonObject | undefined {
    if (!(answer instanceof Fault)) {
      if (answer) this.#sessions[i]!.capabilities = saidOf(answer)
      return answer
    }
    this.#down(i, answer.message)
    return undefined
  }

  #down(i: number, reason: string): void {
    this.#reason = reason
    if (!this.#closed) this.options.onDown(this.#sessions[i]!.name, reason)
  }

  /** Lets starting servers join when they are up; the first requests wait for them for a limited time. */
  #joinLater(
    members: readonly MemberSession[],
    join: (member: MemberSession) => Promise<string | undefined>,
  ): Promise<unknown> {
    const joined = members.map(async (member) => {
      this.#starting.add(member)
      const up = this.#revival(member, join)
        .finally(() => this.#starting.delete(member))
        .then((reason) => (reason === undefined ? true : new Fault('unreachable', reason)))
      const answer = await member.server.answerTimeout.limit(up)
      if (!(answer instanceof Fault)) return
      this.#down(member.at, answer.message)
      this.#absence.add(member.at)
    })
    const all = Promise.all(joined).catch(unexpected('initialize'))
    this.#settled = within(MAX_START_WAIT, all)
    return within(HANDSHAKE_WAIT, all)
  }

  /**
   * Continues the session of `before`: unchanged servers notice nothing, new servers start, removed servers end.
   * @param limit milliseconds allowed for running calls of removed servers
   */
  async takeOver(before: AggregateSession, limit: number): Promise<void> {
    const begun = before.#begun
    if (!begun) return
    this.#begun = begun
    this.options.owners.learnFrom(before.options.owners, (i) => {
      const member = before.#sessions[i]
      return member?.in === this ? member.at : undefined
    })
    const fresh = this.#sessions.filter(({ capabilities }) => !capabilities)
    for (const { name, state } of fresh) for (const each of before.#stateOf(name)) state.remember(each)
    before.#absence.close()
    before.trim(new Set(), limit).catch(unexpected('the end of a server'))
    await this.#joinLater(fresh, (member) => this.#revive(member, begun))
  }

  /**
   * Ends the sessions with removed or replaced servers, each when its calls have ended.
   * @param kept servers that stay
   * @param limit milliseconds after which calls end anyway
   */
  async trim(kept: ReadonlySet<object>, limit: number): Promise<void> {
    const left = this.#sessions.filter(
      (member) => member.in === this && !member.leave && !kept.has(member.server),
    )
    await Promise.all(left.map((member) => this.#leave(member, limit)))
  }

  async request(request: Request, options: RelayOptions = {}): Promise<Reply | Fault> {
    const { id, method } = request
    if (method === 'ping') return resultOf(id, {})
    if (method.endsWith('/list')) this.#reviveAll()
    // A tool or prompt name may identify its server, and then only that server is waited for.
    if (method !== 'tools/call' && method !== 'prompts/get') await this.#settled
    if (Object.hasOwn(LISTS, method) && this.#isDown())
      return replyOf(errorResponse(id, { code: INTERNAL_ERROR, message: this.#reason }))
    // Servers that are down get the level when they are up again.
    if (method === 'logging/setLevel') for (const { state } of this.#sessions) state.remember(request)
    const outcome = await this.#aggregate.decide(request, (to, asked, own) => {
      const member = this.#sessions[to] as MemberSession
      return member.server.answerTimeout.limit(this.#ask(member, asked, own, request.span))
    })
    if (!('to' in outcome)) return replyOf({ jsonrpc: '2.0', id, ...outcome })
    const { to, params } = outcome
    const { routed } = this.#underWay
    const member = this.#sessions[to] as MemberSession
    routed.set(id, member)
    member.state.remember({ method, params })
    const reply = await this.#send(member, withParams(request, params), options)
    routed.delete(id)
    if (reply instanceof Fault) return reply
    // The member may have moved to a successor.
    const aggregate = member.in.#aggregate
    const shown = aggregate.shown(member.at, method, reply.raw)
    const shaping = aggregate.shaping(member.at, method, params)
    return shown === reply.raw ? { ...reply, shaping } : { ...replyOf(shown), shaping }
  }

  notify(message: Message): void {
    const { asked, routed } = this.#underWay
    if (message.kind === 'response') {
      const to = asked.get(String(message.id))
      asked.delete(String(message.id))
      if (!to) return
      const { member, id } = to
      const raw = withOwnTaskIds({ ...message.raw, id }, member.name)
      member.session.notify({ kind: 'response', id, raw })
    } else if (message.kind === 'notification') {
      this.#isReady ||= message.method === 'notifications/initialized'
      // Other requests belong to HTTP tools, or to all servers through the gateway's own requests.
      if (message.method === 'notifications/cancelled')
        routed.get(requestIdOf(message))?.session.notify(message)
      else for (const { session, capabilities } of this.#sessions) if (capabilities) session.notify(message)
    }
  }

  close(): void {
    this.#closed = true
    this.#absence.close()
    for (const { leave } of [...this.#underWay.leaving]) leave?.()
    for (const { session, state } of this.#sessions) {
      session.close()
      state.forget()
    }
  }

  #memberSession(given: Member, at: number): MemberSession {
    const session = undefined as unknown as UpstreamSession
    const own = { in: this, at, state: createLasting(), running: 0, session, capabilities: undefined }
    const member: MemberSession = { ...given, ...own }
    member.session = this.#open(member)
    return member
  }

  #open(member: MemberSession): UpstreamSession {
    const { server, resolved, state } = member
    return server.session(resolved, this.client, AggregateSession.#eventsOf(member), state.restore, true)
  }

  /** Moves the session of a running server to a successor. */
  #handOver(given: Member, to: AggregateSession, at: number): MemberSession | undefined {
    const member = this.#sessions.find((one) => one.in === this && one.server === given.server)
    if (!member?.capabilities || member.leave) return undefined
    return Object.assign(member, given, { in: to, at })
  }

  /** The state for a server that replaces one of the same name; a new server gets only the log level. */
  #stateOf(name: string): Restored[] {
    const all = this.#sessions.map(({ state }) => state.restore())
    const own = this.#sessions.findIndex((member) => member.name === name)
    return all[own] ?? all.flat().filter(({ method }) => method === 'logging/setLevel')
  }

  #leave(member: MemberSession, limit: number): Promise<void> {
    const { leaving } = this.#underWay
    member.capabilities = undefined
    leaving.add(member)
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer)
        if (!leaving.delete(member)) return
        member.session.close()
        member.state.forget()
        resolve()
      }
      const timer = setTimeout(leave, limit)
      member.leave = leave
      this.#over(member)
    })
  }

  /** Ends a member that is leaving and has no more requests. */
  #over({ leave, running }: MemberSession): void {
    if (!running) leave?.()
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

  static #eventsOf(member: MemberSession): UpstreamSessionEvents {
    return {
      message: (message) => member.in.#hear(member, message),
      refused: () => member.in.#refused(member),
      silent: () => {
        member.in.#absence.changed(listsOf(member))
        member.in.#absence.add(member.at)
      },
      lost: () => {
        const { asked } = member.in.#underWay
        for (const [id, question] of asked) if (question.member === member) asked.delete(id)
        member.in.#absence.changed(listsOf(member))
      },
    }
  }

  #refused(member: MemberSession): void {
    const kinds = announcedLists(member.capabilities)
    member.capabilities = undefined
    this.options.onDown(member.name, REFUSED)
    announce(kinds, this.events.message)
    this.#absence.add(member.at)
  }

  /** Handles a request or notification of a server. */
  #hear(member: MemberSession, message: Message): void {
    const { name } = member
    if (message.kind === 'request') {
      const id = this.#nextId()
      this.#underWay.asked.set(id, { member, id: message.id })
      this.#emit(withTaskIds({ ...message.raw, id }, name))
    } else if (message.kind === 'notification') {
      const shown = this.#cancelled(member, message) ?? withTaskIds(message.raw, name)
      if (shown === message.raw) this.events.message(message)
      else this.#emit(shown)
    }
  }

  /** A server's cancellation of its own request, with the id known to the client; undefined: another notification. */
  #cancelled(member: MemberSession, { method, params, raw }: Extract<Message, { kind: 'notification' }>) {
    if (method !== 'notifications/cancelled') return undefined
    const { asked } = this.#underWay
    for (const [id, question] of asked) {
      if (question.member !== member || question.id !== params.requestId) continue
      asked.delete(id)
      return { ...raw, params: { ...params, requestId: id } }
    }
    return undefined
  }

  /** Sends a server one of the gateway's own requests. @param begins whether it belongs to a handshake */
  async #ask(
    member: MemberSession,
    method: string,
    params: JsonObject,
    span?: Request['span'],
    begins = false,
  ): Promise<JsonObject | Fault> {
    const request: Request = { ...ownRequest(method, params), ...(span && { span }) }
    const reply = await this.#send(member, request, {}, begins)
    if (reply instanceof Fault) return reply
    if ('result' in reply.raw) member.state.remember({ method, params })
    return member.in.#aggregate.shown(member.at, method, reply.raw)
  }

  async #send(
    member: MemberSession,
    request: Request,
    options: RelayOptions,
    begins = false,
  ): Promise<Reply | Fault> {
    member.running++
    try {
      // The session itself reports why the server is down.
      if (!begins) await member.in.#reviving.get(member)?.catch(() => {})
      return await member.session.request(request, options)
    } finally {
      member.running--
      member.in.#over(member)
    }
  }

  /** Whether a server that was down is up again; if so, notifies the client. */
  async #find(i: number): Promise<boolean> {
    const member = this.#sessions[i] as MemberSession
    const begun = this.#begun
    const revive = (one: MemberSession) => this.#revive(one, begun!)
    if (!member.capabilities)
      return begun !== undefined && (await this.#revival(member, revive)) === undefined
    const kinds = listsOf(member)
    if (kinds[0] && !isPart(await this.#ask(member, `${kinds[0]}/list`, {}))) return false
    this.#absence.changed(kinds)
    return true
  }

  /** Retries servers that were down, as their back-off allows, and notifies the client of those that are up. */
  #reviveAll(): void {
    const begun = this.#begun
    for (const member of this.#sessions) {
      if (member.capabilities || this.#reviving.has(member) || !begun) continue
      this.#revival(member, (one) => this.#revive(one, begun))
        .then((reason) => {
          if (reason !== undefined) this.#down(member.at, reason)
        })
        .catch(unexpected('initialize'))
    }
  }

  /** Opens the session of a server that is down, one attempt at a time. @returns why it is still down */
  #revival(
    member: MemberSession,
    join: (member: MemberSession) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    const known = this.#reviving.get(member)
    if (known) return known
    const revival = join(member).finally(() => this.#reviving.delete(member))
    this.#reviving.set(member, revival)
    return revival
  }

  async #revive(member: MemberSession, beginning: Beginning): Promise<string | undefined> {
    if (member.leave) return REPLACED
    member.session.close()
    const session = this.#open(member)
    member.session = session
    return this.#join(member, session, await this.#greet(member, session, beginning.request))
  }

  /** Adds a server that has come up to the client's session. @returns why it is down */
  async #join(
    member: MemberSession,
    session: UpstreamSession,
    result: JsonObject | Fault,
  ): Promise<string | undefined> {
    if (result instanceof Fault) return result.message
    // A server of an older revision declares no newer capabilities, so the client does not use them with it.
    if (!isSessionRevision(result.protocolVersion)) return REFUSED
    if (this.#closed || member.leave) return undefined
    member.capabilities = saidOf(result)
    // Otherwise the client's own notification reaches it, and the client has no lists yet.
    if (!this.#isReady) return undefined
    completeHandshake(session)
    for (const { method, params } of member.state.restore())
      await this.#ask(member, method, params, undefined, true)
    announce(listsOf(member), this.events.message)
    return undefined
  }

  /** Whether no server and no HTTP tool could provide a list. */
  #isDown(): boolean {
    const isUp = this.#sessions.some(({ capabilities }) => capabilities)
    return !isUp && !this.#starting.size && !this.options.local()
  }

  #nextId(): string {
    return `${this.#prefix}${++this.#count}`
  }

  #emit(raw: JsonObject): void {
    this.events.message(readMessage(raw))
  }
}

/** The kinds of lists that a server has. */
function listsOf({ capabilities }: MemberSession): ListKind[] {
  return Object.values(LIST_KINDS).filter((kind) => capabilities?.[kind])
}

const REFUSED = 'it refused the handshake'
const REPLACED = 'the server was replaced or taken away'
