import { type JsonObject, stringify } from '../../json/index.ts'
import {
  Fault,
  isObject,
  type Message,
  type Request,
  type RequestId,
  type Response,
  readMessage,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Restored } from '../backend/session-state.ts'
import type { Resolved } from '../definition.ts'
import type { Upstream } from '../upstream.ts'
import { NOBODY, type RpcClient } from './rpc-client.ts'

export type { Request, Response } from '../../mcp/index.ts'

/** The response to a client's `initialize`, or why there is none. */
export type Started = { response: Response; text: string } | Fault

/** A client's session with a server, whatever revision the server speaks. */
export interface Link {
  /** Opens the session with the client's `initialize`. */
  start(request: Request, text: string): Promise<Started>
  /** Sends a message of the client; a promise only while the session with the server is opened again. */
  send(message: Message, text: string): Fault | undefined | Promise<Fault | undefined>
  close(): void
}

export interface LinkEvents {
  message(message: Message, text: string): void
  /** These requests of the client, or all of them, will get no answer. */
  lost(fault: Fault, ids?: Iterable<RequestId>): void
  /** A message was not accepted; the request that it answers when that could be found. */
  rejected(id: RequestId | undefined, fault: Fault): void
}

/** Completes a handshake. */
export const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

export interface SessionLinkOptions {
  upstream: Upstream
  resolved: Resolved
  /** Whose share of the limits the session is. */
  sharer: string
  /** Requests that bring a new session into the state of a lost one; their answers go nowhere. */
  restore(): Restored[]
}

/**
 * A client's session with a session-based server, with the ids of the client. When the server dies or forgets the
 * session, the client's next request opens another one with the same handshake.
 */
export class SessionLink implements Link {
  readonly #options: SessionLinkOptions
  readonly #events: LinkEvents
  #client: RpcClient | undefined
  #reopening: Promise<Fault | undefined> | undefined
  #initialize: Request | undefined
  #closed = false

  constructor(options: SessionLinkOptions, events: LinkEvents) {
    this.#options = options
    this.#events = events
  }

  start(request: Request): Promise<Started> {
    this.#initialize = request
    return this.#open(request)
  }

  send(message: Message, text: string): Fault | undefined | Promise<Fault | undefined> {
    if (this.#client && !this.#reopening) return this.#client.forward(text)
    if (this.#closed || !this.#initialize) return this.#ended()
    // Only the lost session could make sense of anything but a request.
    if (message.kind !== 'request' && !this.#reopening) return undefined
    this.#reopening ??= this.#reopen(this.#initialize).finally(() => {
      this.#reopening = undefined
    })
    return this.#reopening.then((fault) => fault ?? this.#client?.forward(text) ?? undefined)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#client?.close()
    this.#client = undefined
  }

  /** Ends the link, and leaves its connection to a probe. */
  release(): RpcClient | undefined {
    const client = this.#client
    if (client) client.events = NOBODY
    this.#client = undefined
    this.#closed = true
    return client
  }

  async #open({ id, params }: Request): Promise<Started> {
    const { upstream, resolved, sharer } = this.#options
    const { backoff, definition } = upstream
    const { message, lost, rejected } = this.#events
    let ready = false
    const closed = (fault: Fault) => {
      this.#client = undefined
      if (ready) lost(fault)
    }
    const client = upstream.connect(resolved, { message, rejected, closed }, sharer)
    if (client instanceof Fault) return client
    this.#client = client
    const onMessage = (raw: JsonObject) => message(readMessage(raw), stringify(raw))
    const options = { timeout: definition.server.startupTimeout, onMessage }
    const answer = await client.request('initialize', params, options).answer
    ready = true
    if (answer instanceof Fault) {
      if (this.#closed) return this.#ended()
      backoff.failed(resolved.key, answer.message)
      client.close()
      this.#client = undefined
      return answer
    }
    backoff.worked(resolved.key)
    const raw = { ...answer, id }
    return { response: { kind: 'response', id, raw }, text: stringify(raw) }
  }

  async #reopen(initialize: Request): Promise<Fault | undefined> {
    const answer = await this.#open(initialize)
    if (answer instanceof Fault) return answer
    if (answer.response.raw.error !== undefined)
      return new Fault(
        'lost',
        `The server ${this.#options.upstream.name} was restarted, but refused the handshake`,
      )
    this.#client?.forward(INITIALIZED)
    for (const { method, params } of this.#options.restore())
      this.#client?.request(method, params).answer.catch(unexpected(method))
    return undefined
  }

  #ended(): Fault {
    return new Fault('lost', `The session with the server ${this.#options.upstream.name} has ended`)
  }
}

/** A notification of the gateway's own, whose text goes beside it. */
export function noted(method: string): Message {
  return { kind: 'notification', method, params: {}, raw: { jsonrpc: '2.0', method } }
}

/** Sends a message that gets no response. */
export function pass(link: Link | undefined, message: Message, text: string): void {
  const outcome = link?.send(message, text)
  if (outcome instanceof Promise) outcome.catch(unexpected('a notification'))
}

/** The fault of a server that answered a handshake with an error. */
export function handshakeRefused(name: string, { error }: JsonObject): Fault {
  const said = isObject(error) && typeof error.message === 'string' ? error.message.slice(0, 300) : ''
  return new Fault('unreachable', `The server ${name} refused the handshake${said && `: ${said}`}`)
}
