import { setTimeout as pause } from 'node:timers/promises'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { Fault, isObject, METHOD_NOT_FOUND, type Message, SESSION_REVISIONS } from '../../mcp/index.ts'
import { CLIENT_CAPABILITIES, CLIENT_INFO, canonical, metaOf } from '../../mcp/protocol.ts'
import { levelOf } from '../backend/session-state.ts'
import type { Resolved } from '../definition.ts'
import { handshakeRefused } from '../rpc/link.ts'
import type {
  Notification,
  RequestOptions,
  RpcClient,
  SentRequest,
  ServerRequest,
} from '../rpc/rpc-client.ts'
import type { Upstream } from '../upstream.ts'
import { Turns } from './turn.ts'

/** For whom a session of the gateway's own is opened. */
export interface Hello {
  capabilities: JsonObject
  clientInfo: JsonObject
}

export interface SessionEvents {
  closed(): void
  /** Something that used the session is over. */
  left(): void
  /** A list of the server's changed; subscriptions of this session have been notified. */
  listChanged(method: string): void
}

/** What the gateway can ask clients of 2026-07-28, one or another of which may be able to answer. */
const CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  roots: {},
  sampling: { context: {}, tools: {} },
}

/** Asks for the roots of the client. */
const ROOTS = 'roots/list'
/** Milliseconds in which a server makes the roots its own: it looks for the folders first. */
const SETTLES = 200
/** Milliseconds after which a session without a call refuses what it is asked. */
const IDLE = 30_000

/** Milliseconds that a server has to show that it took a cancellation. */
const CALM = 2_000

/** Whom a request of 2026-07-28 is from. */
export function helloOf(params: JsonObject): Hello {
  const { [CLIENT_CAPABILITIES]: capabilities, [CLIENT_INFO]: clientInfo } = metaOf(params)
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: isObject(clientInfo) ? clientInfo : { name: 'unknown', version: '0' },
  }
}

/** The same for a session that clients of different capabilities use. */
export function helloForAll({ clientInfo }: Hello): Hello {
  return { capabilities: CAPABILITIES, clientInfo }
}

/** Equal for handshakes that a server cannot tell apart. */
export function keyOfHello({ capabilities, clientInfo }: Hello): string {
  return stringify([canonical(capabilities), canonical(clientInfo)])
}

/** A session with a server that the gateway holds itself, for callers without sessions. */
export class PooledSession {
  /** Hear list changes and resource updates. */
  readonly listeners = new Set<(method: string, params: JsonObject) => void>()
  /** Run when the session has ended. */
  readonly onEnd = new Set<() => void>()
  readonly turns: Turns
  /** When it was last used, of `performance.now()`. */
  used = performance.now()
  /** `initialize`'s result, or why there is none. */
  readonly #ready: Promise<JsonObject | Fault>
  #users = 0
  #client: RpcClient | undefined
  #lost: Fault | undefined
  /** Whether the server was refused the roots of its client, or could ask for them during a call. */
  #roots: 'refused' | 'offered' | undefined
  /** The last that the server was told. */
  #level: string | undefined

  /** @param sharer whose share of the limits it is; undefined: it is kept for whoever comes */
  constructor(
    private readonly upstream: Upstream,
    private readonly resolved: Resolved,
    private readonly hello: Hello,
    private readonly events: SessionEvents,
    sharer: string | undefined,
  ) {
    this.turns = new Turns(upstream.name)
    // Not before the caller holds the session.
    this.#ready = Promise.resolve().then(() => this.#start(sharer))
  }

  /** Whether nothing is under way. */
  get idle(): boolean {
    const { turns, listeners } = this
    return this.#users + turns.size + listeners.size + (this.#client?.size ?? 0) === 0
  }

  /**
   * Does something with the session once it is open; it is in use until that is done.
   * @param work gets `initialize`'s result
   */
  async use<T>(work: (ready: JsonObject) => T | Promise<T>): Promise<T | Fault> {
    this.#users++
    this.used = performance.now()
    try {
      const ready = await this.#ready
      if (ready instanceof Fault) return ready
      return this.#lost ?? (await work(ready))
    } finally {
      this.#users--
      this.left()
    }
  }

  /** Something that used the session is over. */
  left(): void {
    this.used = performance.now()
    this.events.left()
  }

  request(method: string, params: JsonObject, options?: RequestOptions): SentRequest {
    if (this.#client && !this.#lost) return this.#client.request(method, params, options)
    const fault = this.#lost ?? new Fault('lost', `The server ${this.upstream.name} is not connected`)
    return { answer: Promise.resolve(fault), cancel() {} }
  }

  /** Resolves when what the server says on its own arrives. */
  get listening(): Promise<void> | undefined {
    return this.#client?.listening
  }

  /** Answers a request of the server. */
  respond(request: ServerRequest, answer: { result: Json } | { error: Json }): void {
    this.#client?.respond(request, answer)
  }

  /** Tells the server which log messages are wanted; of no effect where it has none. */
  async setLevel(ready: JsonObject, given: Json): Promise<void> {
    const level = levelOf({ level: given })
    if (level === undefined || level === this.#level) return
    if (!isObject(ready.capabilities) || !ready.capabilities.logging) return
    this.#level = level
    const answer = await this.request('logging/setLevel', { level }).answer
    if (!('result' in answer) && this.#level === level) this.#level = undefined
  }

  /**
   * Resolves when the server has said what it had to say of a call that it was told to forget: it takes one message after
   * the other. One that stays silent may say it at any time.
   * @param isShared whether somebody else may have the next turn: a session that stays silent ends then
   */
  async calm(isShared: boolean): Promise<void> {
    const answer = await this.request('ping', {}, { timeout: CALM }).answer
    if (isShared && answer instanceof Fault && answer.kind === 'timeout') this.#end(answer)
  }

  close(): void {
    this.#end(new Fault('lost', `The session with the server ${this.upstream.name} has ended`))
  }

  async #start(sharer: string | undefined): Promise<JsonObject | Fault> {
    const { upstream, resolved, hello } = this
    const client = upstream.connect(
      resolved,
      {
        message: (message) => this.#take(message),
        rejected() {},
        closed: (fault) => this.#end(fault),
      },
      sharer,
      keyOfHello(hello),
    )
    if (client instanceof Fault) return this.#end(client)
    this.#client = client
    const result = client.handshake?.result ?? (await this.#initialize(client))
    if (result instanceof Fault) {
      if (!this.#lost) upstream.startFailed(resolved.key, result)
      return this.#end(result)
    }
    upstream.starts.worked(resolved.key)
    client.notify('notifications/initialized')
    return result
  }

  async #initialize(client: RpcClient): Promise<JsonObject | Fault> {
    const { name, definition } = this.upstream
    const params = { protocolVersion: SESSION_REVISIONS[0], ...this.hello }
    const timeout = definition.server.startupTimeout
    const raw = await client.request('initialize', params, { timeout }).answer
    if (raw instanceof Fault) return raw
    return isObject(raw.result) ? raw.result : handshakeRefused(name, raw)
  }

  #take(message: Message): void {
    if (message.kind === 'request') this.#ask(message)
    else if (message.kind === 'notification') this.#notify(message)
  }

  #ask(request: ServerRequest): void {
    if (request.method === 'ping') {
      this.respond(request, { result: {} })
      return
    }
    const asked = this.turns.addressee
    if (asked?.ask) {
      asked.ask(request)
      return
    }
    const refuse = () => this.refuse(request, 'No client can answer this now')
    // A bridge may send all its sessions what one of them is asked: the first answer counts.
    if (request.method === ROOTS) refuse()
    else setTimeout(refuse, IDLE).unref()
  }

  /** Refuses a request of the server. Who asked for roots in vain does not ask again before it hears of others. */
  refuse(request: ServerRequest, message: string): void {
    if (request.method === ROOTS) this.#roots = 'refused'
    this.respond(request, { error: { code: METHOD_NOT_FOUND, message } })
  }

  /**
   * Gives a server that wants the roots of its client the chance to ask for them before a call: they limit what it does.
   * @param answered resolves when the client has answered what it is asked; whether it was asked
   * @returns undefined when it had the chance already
   */
  offerRoots(answered: () => Promise<boolean>): Promise<void> | undefined {
    const before = this.#roots
    if (before === 'offered') return undefined
    this.#roots = 'offered'
    if (before === 'refused') this.#client?.notify('notifications/roots/list_changed')
    // A server takes one message after the other.
    const pong = () => this.request('ping', {}, { timeout: CALM }).answer
    return pong()
      .then(answered)
      .then((wasAsked) => (wasAsked ? pause(SETTLES) : undefined))
      .then(pong)
      .then(() => {})
  }

  #notify({ method, params, raw }: Notification): void {
    if (/\/(?:list_changed|updated)$/.test(method)) {
      for (const listener of this.listeners) listener(method, params)
      if (method.endsWith('/list_changed')) this.events.listChanged(method)
      return
    }
    if (/^notifications\/(?:cancelled|progress|elicitation\/complete)$/.test(method)) return
    this.turns.addressee?.message(raw)
  }

  #end(fault: Fault): Fault {
    if (this.#lost) return this.#lost
    this.#lost = fault
    this.#client?.close(fault)
    this.turns.close(fault)
    this.events.closed()
    this.listeners.clear()
    for (const listener of [...this.onEnd]) listener()
    this.onEnd.clear()
    return fault
  }
}
