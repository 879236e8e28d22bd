import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { Fault, isObject, METHOD_NOT_FOUND, type Message, SESSION_REVISIONS } from '../../mcp/index.ts'
import { CLIENT_CAPABILITIES, CLIENT_INFO, canonical, metaOf } from '../../mcp/meta.ts'
import type { Resolved } from '../definition.ts'
import { handshakeRefused } from '../rpc/link.ts'
import type {
  Notification,
  PendingRequest,
  RequestOptions,
  RpcClient,
  SentRequest,
  ServerRequest,
} from '../rpc/rpc-client.ts'
import type { Upstream } from '../upstream.ts'

/** For whom a session of the gateway's own is opened. */
export interface Hello {
  capabilities: JsonObject
  clientInfo: JsonObject
}

export interface SessionEvents {
  closed(): void
  /** A list of the server's changed; subscriptions of this session have been notified. */
  listChanged(method: string): void
}

/** Whom a request of 2026-07-28 is from. */
export function helloOf(params: JsonObject): Hello {
  const { [CLIENT_CAPABILITIES]: capabilities, [CLIENT_INFO]: clientInfo } = metaOf(params)
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: isObject(clientInfo) ? clientInfo : { name: 'unknown', version: '0' },
  }
}

/** Equal for handshakes that a server cannot tell apart. */
export function keyOfHello({ capabilities, clientInfo }: Hello): string {
  return stringify([canonical(capabilities), canonical(clientInfo)])
}

/** A session with a server that the gateway holds itself, for callers without sessions. */
export class PooledSession {
  /** `initialize`'s result, or why there is none. */
  readonly ready: Promise<JsonObject | Fault>
  /** Hear list changes and resource updates. */
  readonly listeners = new Set<(method: string, params: JsonObject) => void>()
  /** Run when the session has ended. */
  readonly onEnd = new Set<() => void>()
  #client: RpcClient | undefined
  #lost: Fault | undefined

  /** @param sharer whose share of the limits it is; undefined: it is kept for whoever comes */
  constructor(
    private readonly upstream: Upstream,
    private readonly resolved: Resolved,
    private readonly hello: Hello,
    private readonly events: SessionEvents,
    sharer: string | undefined,
  ) {
    // Not before the caller holds the session.
    this.ready = Promise.resolve().then(() => this.#start(sharer))
  }

  /** Requests and subscriptions. */
  size(): number {
    return (this.#client?.size ?? 0) + this.listeners.size
  }

  request(method: string, params: JsonObject, options?: RequestOptions): SentRequest {
    if (this.#client && !this.#lost) return this.#client.request(method, params, options)
    const fault = this.#lost ?? new Fault('lost', `The server ${this.upstream.name} is not connected`)
    return { answer: Promise.resolve(fault), cancel() {} }
  }

  /** Answers a request of the server. */
  respond(request: ServerRequest, answer: { result: Json } | { error: Json }): void {
    this.#client?.respond(request, answer)
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
      if (!this.#lost) upstream.backoff.failed(resolved.key, result.message)
      return this.#end(result)
    }
    upstream.backoff.worked(resolved.key)
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
    const asked = this.#client?.only(({ onRequest }) => onRequest !== undefined)
    asked?.timer?.refresh()
    if (asked?.onRequest) asked.onRequest(request)
    else
      this.respond(request, { error: { code: METHOD_NOT_FOUND, message: 'No client can answer this now' } })
  }

  #notify({ method, params, raw }: Notification): void {
    if (/\/(?:list_changed|updated)$/.test(method)) {
      for (const listener of this.listeners) listener(method, params)
      if (method.endsWith('/list_changed')) this.events.listChanged(method)
      return
    }
    if (/^notifications\/(?:cancelled|progress|elicitation\/complete)$/.test(method)) return
    // Sessions are given out so that at most one call can have such messages.
    const hears = ({ onMessage, logs }: PendingRequest) =>
      onMessage !== undefined && (method !== 'notifications/message' || logs === true)
    this.#client?.only(hears)?.onMessage?.(raw)
  }

  #end(fault: Fault): Fault {
    if (this.#lost) return this.#lost
    this.#lost = fault
    this.#client?.close(fault)
    this.events.closed()
    this.listeners.clear()
    for (const listener of [...this.onEnd]) listener()
    this.onEnd.clear()
    return fault
  }
}
