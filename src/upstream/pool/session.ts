import { setTimeout as pause } from 'node:timers/promises'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { Fault, isObject, METHOD_NOT_FOUND, type Message, type Notification } from '../../mcp/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  initializeParams,
  metaOf,
  withSortedKeys,
} from '../../mcp/protocol.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import type { RequestOptions, RpcClient, SentRequest, ServerRequest } from '../rpc/rpc-client.ts'
import { SessionLock } from '../rpc/session-lock.ts'
import { handshakeRefused, levelOf } from '../rpc/upstream-session.ts'
import type { ConnectOptions, Upstream } from '../upstream.ts'

/** Client data for the handshake of a gateway-held session. */
export interface Hello {
  capabilities: JsonObject
  clientInfo: JsonObject
}

export interface SessionEvents {
  closed(): void
  /** Called when a use of the session has ended. */
  left(): void
  /** Called when a list changed, after this session's subscribers were notified. */
  listChanged(method: string): void
}

/** All that the gateway can forward to 2026-07-28 clients, which individually may support less. */
const CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  roots: {},
  sampling: { context: {}, tools: {} },
}

/** Server request for the client's roots. */
const ROOTS = 'roots/list'
/** Milliseconds that a server takes to apply roots, as it first looks for the folders. */
const SETTLES = 200
/** Milliseconds after which a session without a call refuses server requests. */
const IDLE = 30_000

/** Milliseconds allowed for a server to process a cancellation. */
const CALM = 2_000

/** The client data in a 2026-07-28 request. */
export function helloOf(params: JsonObject): Hello {
  const { [CLIENT_CAPABILITIES]: capabilities, [CLIENT_INFO]: clientInfo } = metaOf(params)
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: isObject(clientInfo) ? clientInfo : { name: 'unknown', version: '0' },
  }
}

/** The handshake of a session shared by clients with different capabilities. */
export function helloForAll({ clientInfo }: Hello): Hello {
  return { capabilities: CAPABILITIES, clientInfo }
}

/** Equal for handshakes that a server cannot distinguish. */
export function keyOfHello({ capabilities, clientInfo }: Hello): string {
  return stringify([withSortedKeys(capabilities), withSortedKeys(clientInfo)])
}

/** A session that the gateway holds for stateless callers. */
export class PooledSession {
  /** Called with list changes and resource updates. */
  readonly listeners = new Set<(method: string, params: JsonObject) => void>()
  /** Called when the session has ended. */
  readonly onEnd = new Set<() => void>()
  readonly lock: SessionLock
  /** Time of the last use, by `performance.now()`. */
  used = performance.now()
  /** `initialize`'s result, or the failure. */
  readonly #ready: Promise<JsonObject | Fault>
  #users = 0
  #client: RpcClient | undefined
  #lost: Fault | undefined
  /** Whether the server's request for roots was refused, or could be made during a call. */
  #roots: 'refused' | 'offered' | undefined
  /** Last level sent to the server. */
  #level: string | undefined

  constructor(
    private readonly upstream: Upstream,
    private readonly resolved: Resolved,
    private readonly hello: Hello,
    private readonly events: SessionEvents,
    options: Pick<ConnectOptions, 'quotaKey' | 'user'>,
  ) {
    this.lock = new SessionLock(upstream.name)
    const stop = resolved.credential?.onLoginChange?.(() => this.#leave().catch(unexpected('a login')))
    if (stop) this.onEnd.add(stop)
    // Start asynchronously, once the caller holds the session.
    this.#ready = Promise.resolve().then(() => this.#start(options))
  }

  /** Whether nothing is running. */
  get idle(): boolean {
    const { lock, listeners } = this
    return this.#users + lock.size + listeners.size + (this.#client?.size ?? 0) === 0
  }

  /**
   * Runs `work` once the session is open; it counts as in use until then.
   * @param work receives `initialize`'s result
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

  /** Called when a use of the session has ended. */
  left(): void {
    this.used = performance.now()
    this.events.left()
  }

  request(method: string, params: JsonObject, options?: RequestOptions): SentRequest {
    if (this.#client && !this.#lost) return this.#client.request(method, params, options)
    const fault = this.#lost ?? new Fault('lost', `The server ${this.upstream.name} is not connected`)
    return { answer: Promise.resolve(fault), cancel() {} }
  }

  /** Resolves when server-initiated messages can arrive. */
  get listening(): Promise<void> | undefined {
    return this.#client?.listening
  }

  /** Answers a request of the server. */
  respond(request: ServerRequest, answer: { result: Json } | { error: Json }): void {
    this.#client?.respond(request, answer)
  }

  /** Sets the server's log level, if it supports logging. */
  async setLevel(ready: JsonObject, given: Json): Promise<void> {
    const level = levelOf({ level: given })
    if (level === undefined || level === this.#level) return
    if (!isObject(ready.capabilities) || !ready.capabilities.logging) return
    this.#level = level
    const answer = await this.request('logging/setLevel', { level }).answer
    if (!('result' in answer) && this.#level === level) this.#level = undefined
  }

  /**
   * Resolves when the server has nothing more to say about a cancelled call, as it processes messages in order.
   * @param isShared whether another client may have the next turn: a silent session is then ended
   */
  async calm(isShared: boolean): Promise<void> {
    const answer = await this.request('ping', {}, { timeout: CALM }).answer
    if (isShared && answer instanceof Fault && answer.kind === 'timeout') this.#end(answer)
  }

  close(): void {
    this.#end(new Fault('lost', `The session with the server ${this.upstream.name} has ended`))
  }

  /** A person who has logged out does not get the server's further messages. */
  async #leave(): Promise<void> {
    const header = await this.resolved.credential?.header()
    if (header instanceof Fault && header.login) this.close()
  }

  async #start(options: Pick<ConnectOptions, 'quotaKey' | 'user'>): Promise<JsonObject | Fault> {
    const { upstream, resolved, hello } = this
    const client = upstream.connect(
      resolved,
      {
        message: (message) => this.#take(message),
        rejected() {},
        closed: (fault) => this.#end(fault),
      },
      { ...options, by: keyOfHello(hello) },
    )
    if (client instanceof Fault) return this.#end(client)
    this.#client = client
    const result = client.handshake?.result ?? (await this.#initialize(client))
    if (result instanceof Fault) {
      if (!this.#lost) upstream.startFailed(resolved.key, result)
      return this.#end(result)
    }
    upstream.started(resolved.key)
    client.notify('notifications/initialized')
    return result
  }

  async #initialize(client: RpcClient): Promise<JsonObject | Fault> {
    const { name, definition } = this.upstream
    const params = initializeParams(this.hello)
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
    const asked = this.lock.addressee
    if (asked?.ask) {
      asked.ask(request)
      return
    }
    const refuse = () => this.refuse(request, 'No client can answer this now')
    // A bridge may send the same question on all its sessions, so delay the refusal: the first answer counts.
    if (request.method === ROOTS) refuse()
    else setTimeout(refuse, IDLE).unref()
  }

  /** Refuses a request of the server. A server refused roots asks again only after `roots/list_changed`. */
  refuse(request: ServerRequest, message: string): void {
    if (request.method === ROOTS) this.#roots = 'refused'
    this.respond(request, { error: { code: METHOD_NOT_FOUND, message } })
  }

  /**
   * Lets a server ask for its client's roots before a call, as they limit what it does.
   * @param answered resolves when the client has answered; whether it was asked
   * @returns undefined if the server had the chance before
   */
  offerRoots(answered: () => Promise<boolean>): Promise<void> | undefined {
    const before = this.#roots
    if (before === 'offered') return undefined
    this.#roots = 'offered'
    if (before === 'refused') this.#client?.notify('notifications/roots/list_changed')
    // The server processes messages in order, so its question comes before the pong.
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
    this.lock.addressee?.message(raw)
  }

  #end(fault: Fault): Fault {
    if (this.#lost) return this.#lost
    this.#lost = fault
    this.#client?.close(fault)
    this.lock.close(fault)
    this.events.closed()
    this.listeners.clear()
    for (const listener of [...this.onEnd]) listener()
    this.onEnd.clear()
    return fault
  }
}
