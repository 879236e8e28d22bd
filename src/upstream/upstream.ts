import type { BreakerSettings, Limits, Redact } from '../config/model.ts'
import { Fault } from '../mcp/index.ts'
import { Breaker, ENCODINGS, type Guards, type Resilience } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { shorten } from '../text/index.ts'
import {
  chained,
  type Mask,
  maskKnown,
  maskOf,
  type OnRedacted,
  streamMaskKnown,
  streamMaskOf,
} from '../tools/mask.ts'
import { textsToMask } from '../tools/secrets.ts'
import type { Definition, Resolved } from './definition.ts'
import { RpcClient, type RpcEvents } from './rpc/rpc-client.ts'
import { type Measures, Operations } from './sent-requests.ts'
import type { Channel, ChannelEvents, ResumeToken } from './transport/channel.ts'
import { type AnswerMasks, Http } from './transport/http.ts'
import type { HttpChannelOptions } from './transport/http-channel.ts'
import { type StreamChange, StreamWatch } from './transport/lasting-stream.ts'
import { SseChannel } from './transport/sse.ts'
import { ChildLog, StdioChannel } from './transport/stdio.ts'
import { StreamableChannel } from './transport/streamable-http.ts'
import { type PinChange, Pins } from './view/pins.ts'
import { ServerView } from './view/server-view.ts'
import { createToolFilter, type ToolFilter } from './view/tool-filter.ts'

export interface UpstreamContext {
  /** The gateway's environment. */
  env: Readonly<Record<string, string | undefined>>
  /** Limits of the process; the server's own take precedence. */
  limits: Limits
  log: Logger
  /** Counters of requests and sessions; absent: none. */
  measures?: Measures | undefined
  /** Checks outbound HTTP connections; absent: every address is allowed. */
  guards?: Guards | undefined
  /** Called when an event stream is lost or restored. */
  onStream?: (server: string, change: StreamChange) => void
  /** Creates the retries and circuit breaker of an HTTP server; absent: none. */
  createResilience?: (server: string, breaker: BreakerSettings | undefined) => Resilience | undefined
  /** Called once for each difference from the pin file. */
  onPinChange?: (server: string, change: PinChange, blocked: boolean) => void
  /** Called when a list changed, to notify other workers. @param key of the template values */
  onListChanged?: (key: string, method: string) => void
  /** Called when secrets were masked in answers. */
  onRedacted?: (server: string, ...what: Parameters<OnRedacted>) => void
}

export interface ConnectOptions {
  /** Quota key of the session; absent: shared. */
  quotaKey?: string | undefined
  /** Client data for which a probe's handshake may be reused; absent: it cannot be. */
  by?: string
  /** Session to continue; absent: the connection opens one. */
  resume?: ResumeToken | undefined
  /** Identifies what opens one session after another; its losses delay the next one. Absent: nothing does. */
  user?: string
}

const UNNAMED: Measures = { tenant: '', prefix: '' }
/** Milliseconds of silence after which a call times out, unless `limits.timeout` of the server is set. */
const SILENCE = 300_000

/** A quarter of the sessions is reserved for other callers; without `auth`, callers are addresses. */
const LEFT_FOR_OTHERS = 4

/** The children of one server. */
export interface ServerChildren {
  name: string
  /** Process ids, and milliseconds since the start. */
  running: { pid: number; ms: number }[]
  /** Children started since the configuration was loaded, and those of them that ended by themselves. */
  started: number
  lost: number
  /** The last lines of standard error, the oldest first, with the milliseconds since then; secrets are masked. */
  stderr: { pid: number | undefined; text: string; ms: number }[]
}

/** A connection of a server. */
interface Live {
  /** Process id of its child, if any. */
  pid: number | undefined
  /** When it began, by `performance.now()`. */
  since: number
  /** Undefined: shared. */
  quotaKey: string | undefined
}

/** One proxied MCP server with all its connections. */
export class Upstream {
  readonly name: string
  readonly filter: ToolFilter | undefined
  readonly view: ServerView
  readonly http: Http
  readonly resilience: Resilience | undefined
  readonly limits: Limits
  readonly log: Logger
  readonly onListChanged: UpstreamContext['onListChanged']
  /** Back-off of failed connections, by template values. */
  readonly starts = new Breaker()
  /** Back-off of sessions that were lost before they were of use, by user. */
  readonly #losses = new Breaker({ failures: 10, pause: 250, longest: 5_000 })
  readonly streams: StreamWatch
  readonly operations: Operations
  readonly #live = new Map<RpcClient, Live>()
  readonly #ending = new Set<Promise<void>>()
  /** A connection opened to probe the server, reused for its first session. */
  #probed: { client: RpcClient; key: string; since: number } | undefined
  #closed = false
  /** The fault of the last start; undefined: the server has answered since then. */
  #failure: string | undefined
  readonly #faults = new Set<string>()
  readonly #masksOf: ReturnType<typeof masksOf>
  readonly #options: {
    env: UpstreamContext['env']
    maxMessage: number
    log: Logger
    mask: Mask
    logMask: Mask
    children: ChildLog
  }

  /** @param makeRoom ends an idle session of the caller, or one that may be ended for the caller */
  constructor(
    readonly definition: Definition,
    given: UpstreamContext,
    private readonly makeRoom: (quotaKey: string | undefined, ownOnly?: boolean) => boolean,
  ) {
    const {
      env,
      limits,
      log,
      guards,
      measures = UNNAMED,
      onStream,
      onListChanged,
      onPinChange,
      onRedacted,
      createResilience,
    } = given
    const { server, transport, secrets, pinned, varies } = definition
    this.name = server.name
    this.onListChanged = onListChanged
    const blocks = server.pin === 'block'
    const pins = pinned && new Pins(pinned, blocks, (change) => onPinChange?.(this.name, change, blocks))
    this.filter = createToolFilter(server, pins)
    this.view = new ServerView(this.filter, pins, server.toolOverrides, (...fault) => this.#faulty(...fault))
    this.log = log
    this.limits = { ...limits, timeout: SILENCE, ...server.limits }
    const fixed = varies ? undefined : definition.resolve({ headers: {}, query: () => ({}) })
    const origin = fixed instanceof Fault ? undefined : fixed?.origin
    this.operations = new Operations(server.name, measures, transport.network, origin)
    this.streams = new StreamWatch((change) => onStream?.(this.name, change))
    const { redact = 'own' } = server
    this.#masksOf = masksOf(secrets, redact, (kind, count) => onRedacted?.(this.name, kind, count))
    const as: Mask = (text) => text
    const mask = this.#masksOf([])?.text ?? as
    const logMask = masksOf(secrets, redact === 'off' ? 'own' : redact)([])?.text ?? as
    this.#options = {
      env,
      maxMessage: this.limits.maxResponseSize,
      log,
      mask,
      logMask,
      children: new ChildLog(),
    }
    // The SSE stream contains an address that must not change, so its messages are masked one by one.
    const masked =
      transport.messages === 'requests' &&
      redact !== 'off' &&
      (secrets.length > 0 || server.credentials !== undefined || redact === 'patterns')
    // A configured header takes precedence over the default encodings.
    const encodes = Object.keys(server.headers).some((name) => name.toLowerCase() === 'accept-encoding')
    const { breaker, retry, name } = server
    if ((breaker || retry) && transport.keys.includes('retry'))
      this.resilience = createResilience?.(name, breaker)
    this.http = new Http({
      ...this.limits,
      name,
      connection: definition.connection,
      guards,
      resilience: this.resilience,
      attempts: retry?.attempts,
      ...(!encodes && { headers: { 'accept-encoding': ENCODINGS } }),
      ...(masked && { masks: this.#masksOf }),
    })
  }

  /** Logs a declaration that clients cannot read, once. */
  #faulty(kind: string, name: string, fault: string): void {
    const key = `${kind} ${shorten(name, 200)}: ${fault}`
    if (this.#faults.has(key) || this.#faults.size >= MAX_FAULTS) return
    this.#faults.add(key)
    const about = { server: this.name, kind, name: shorten(name, 200), fault }
    this.log.warn(about, 'an MCP server declares what clients cannot read')
  }

  /** Declarations that clients could not read, which were repaired or omitted. */
  declarationFaults(): string[] {
    return [...this.#faults]
  }

  /** Records a failure to connect; the gateway's own refusals and missing logins do not count. */
  startFailed(key: string, { kind, message, login }: Fault): void {
    if (kind === 'busy' || login) return
    this.starts.failed(key, message)
    this.#failure = message
  }

  /** Records that the server has answered. */
  started(key: string): void {
    this.starts.worked(key)
    this.#failure = undefined
  }

  /** Why the server failed last and has not answered since then, or is not called now; without duplicates. */
  faults(): string[] {
    const { children, logMask } = this.#options
    const failure = children.fault(logMask) ?? this.#failure
    const starts = failure === undefined ? this.starts.faults() : [failure]
    return [...starts, ...(this.resilience?.faults() ?? [])]
  }

  /** Number of live connections. */
  size(): number {
    return this.#live.size
  }

  /** Process ids of children. */
  pids(): number[] {
    return this.children().running.map(({ pid }) => pid)
  }

  /** Its children, with the last lines of their standard error. */
  children(): ServerChildren {
    const { children, logMask } = this.#options
    const now = performance.now()
    return {
      name: this.name,
      running: [...this.#live.values()].flatMap(({ pid, since }) =>
        pid === undefined ? [] : [{ pid, ms: now - since }],
      ),
      started: children.started,
      lost: children.lost,
      stderr: children.lines.map(({ pid, text, at }) => ({ pid, text: logMask(text), ms: now - at })),
    }
  }

  /** Opens a connection, or takes the probed one. */
  connect(
    resolved: Resolved,
    events: RpcEvents,
    { quotaKey, by, resume, user }: ConnectOptions = {},
  ): RpcClient | Fault {
    // During shutdown, an interrupted probe would retry.
    if (this.#closed) return new Fault('lost', `The server ${this.name} is being closed`)
    const refusal = user && this.#losses.refusal(user)
    if (refusal) return new Fault('unreachable', refusal)
    const refused = this.#shareTaken(quotaKey)
    if (refused) return refused
    const client = this.#fresh(resolved, quotaKey, by, resume)
    if (client instanceof Fault) return client
    client.events = events
    client.onLost = user === undefined ? undefined : (fault) => this.#countLoss(client, user, fault)
    const live = this.#live.get(client)
    if (live && !client.ended) live.quotaKey = quotaKey
    return client
  }

  /** The probed connection, or a new one if the limit allows. */
  #fresh(
    resolved: Resolved,
    quotaKey: string | undefined,
    by: string | undefined,
    resume: ResumeToken | undefined,
  ): RpcClient | Fault {
    const probed = resume ? undefined : this.takeProbed(resolved.key)
    if (probed && (!probed.handshake || probed.handshake.by === by)) return probed
    probed?.close()
    const refusal = this.starts.refusal(resolved.key)
    if (refusal) return new Fault('unreachable', refusal)
    const { maxSessions } = this.definition.server
    if (this.#live.size >= maxSessions && !this.#dropProbed() && !this.makeRoom(quotaKey))
      return new Fault(
        'busy',
        `All ${maxSessions} sessions with the server ${this.name} are in use (maxSessions): try again later`,
      )
    return this.#open(resolved, resume)
  }

  /** The fault if a caller has too many sessions and none is idle; some are reserved for other callers. */
  #shareTaken(quotaKey: string | undefined): Fault | undefined {
    const { maxSessions } = this.definition.server
    const left = Math.floor(maxSessions / LEFT_FOR_OTHERS)
    const most = maxSessions - left
    if (quotaKey === undefined || left === 0 || this.#live.size < most) return undefined
    const own = [...this.#live.values()].filter((live) => live.quotaKey === quotaKey)
    if (own.length < most) return undefined
    if (this.makeRoom(quotaKey, true)) return undefined
    const of = `of the ${maxSessions} sessions with the server ${this.name} (maxSessions)`
    return new Fault(
      'busy',
      `The caller has ${most} ${of}, the others are for other callers: try again later`,
    )
  }

  /** Counts sessions lost in a row before they were of use, as each request would open another one. */
  #countLoss(client: RpcClient, user: string, { message, login }: Fault): void {
    const { since = 0 } = this.#live.get(client) ?? {}
    if (client.wasUseful || performance.now() - since >= LASTING) this.#losses.worked(user)
    else if (client.answered && !login) this.#losses.failed(user, message)
  }

  /** Keeps a probe's connection for the first session with the same values. */
  keepProbed(client: RpcClient, key: string): void {
    this.#dropProbed()
    const live = this.#live.get(client)
    if (!live || client.ended) return
    live.quotaKey = undefined
    const closed = () => {
      if (this.#probed?.client === client) this.#probed = undefined
    }
    client.events = { message() {}, rejected() {}, closed }
    this.#probed = { client, key, since: performance.now() }
  }

  /** Starts a child in advance for the next session with the same values, if the limit allows. */
  prepare(resolved: Resolved): void {
    const { server, transport } = this.definition
    if (!transport.startsProcess || this.#closed || this.#probed) return
    if (this.#live.size >= server.maxSessions) return
    if (!this.faults().length) this.keepProbed(this.#open(resolved), resolved.key)
  }

  takeProbed(key: string): RpcClient | undefined {
    if (this.#probed?.key !== key) return undefined
    const { client } = this.#probed
    this.#probed = undefined
    return client
  }

  /** Ends a probe's connection unused for `idle` milliseconds. */
  sweep(idle: number): void {
    if (this.#probed && this.#probed.since <= performance.now() - idle) this.#dropProbed()
  }

  /** Ends every connection and child; resolves when all have ended. */
  async close(): Promise<void> {
    this.#closed = true
    for (const client of [...this.#live.keys()]) client.close()
    await Promise.all(this.#ending)
    await this.http.close()
  }

  #dropProbed(): boolean {
    const probed = this.#probed
    this.#probed = undefined
    probed?.client.close()
    return probed !== undefined
  }

  #open(resolved: Resolved, resume?: ResumeToken): RpcClient {
    let channel: Channel | undefined
    const open = (events: ChannelEvents) => {
      channel = this.#transport(resolved, events, resume)
      return channel
    }
    const client: RpcClient = new RpcClient(this.name, this.limits.timeout, this.operations, open, () => {
      this.#live.delete(client)
    })
    this.#live.set(client, { pid: channel?.pid, since: performance.now(), quotaKey: undefined })
    const ended = channel?.ended
      .catch((error) => client.fail(error))
      .finally(() => {
        this.#live.delete(client)
        if (ended) this.#ending.delete(ended)
      })
    if (ended) this.#ending.add(ended)
    return client
  }

  #transport(resolved: Resolved, events: ChannelEvents, resume: ResumeToken | undefined): Channel {
    const { definition, http } = this
    const repeat: HttpChannelOptions['repeat'] = (request) => this.view.repeat(request)
    const options = { http, streams: this.streams, repeat, limits: this.limits, resume, ...this.#options }
    const { credential } = resolved
    if (credential) {
      options.mask = (text, json) => this.#masksOf(credential.sent())?.text(text, json) ?? text
    }
    switch (definition.server.type) {
      case 'stdio':
        return new StdioChannel(definition, resolved, events, this.#options)
      case 'sse':
        return new SseChannel(definition, resolved, events, options)
      case 'streamable-http':
        return new StreamableChannel(definition, resolved, events, options)
    }
  }
}

/** Milliseconds after which a session counts as useful in any case. */
const LASTING = 5_000

/** Maximum declaration faults remembered. */
const MAX_FAULTS = 100

/** @returns a function that creates masks for the secrets of a configuration and those sent by a credential */
function masksOf(
  secrets: readonly string[],
  redact: Redact,
  onRedacted?: OnRedacted,
): (sent: readonly string[]) => AnswerMasks | undefined {
  if (redact === 'off') return () => undefined
  /** By list of sent values, which is a new object when they change. */
  const made = new WeakMap<readonly string[], AnswerMasks | undefined>()
  const known: AnswerMasks = {
    stream: () => streamMaskKnown(onRedacted),
    text: (text: string, json?: boolean) => maskKnown(text, json, onRedacted),
  }
  const make = (sent: readonly string[]) => {
    const all = [...new Set([...secrets, ...textsToMask(sent)])]
    if (all.length === 0) return redact === 'own' ? undefined : known
    const mask = maskOf(all)
    const own: AnswerMasks = {
      stream: streamMaskOf(all, onRedacted),
      text: (text, json) => mask(text, json, onRedacted),
    }
    if (redact === 'own') return own
    return {
      stream: () => chained(own.stream(), known.stream()),
      text: (text: string, json?: boolean) => known.text(own.text(text, json), json),
    }
  }
  return (sent) => {
    if (!made.has(sent)) made.set(sent, make(sent))
    return made.get(sent)
  }
}
