import type { Credential } from '../../credentials/credential.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import {
  Fault,
  isObject,
  type ListKind,
  METHOD_NOT_FOUND,
  type Message,
  negotiate,
  ownRequest,
  type Request,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Restored } from '../backend/session-state.ts'
import { announce, announcedLists } from '../transport/lasting-stream.ts'
import {
  INITIALIZED,
  noted,
  type RelayOptions,
  type Reply,
  type UpstreamSession,
  type UpstreamSessionEvents,
} from './upstream-session.ts'

/** The capabilities that a client sees before its caller has logged in: lists of all kinds, which are empty and will change. */
export const LISTS_ONLY: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true },
}

const LISTS: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}

/** The empty list that answers a method; undefined: it asks for no list. */
export function emptyList(method: string): JsonObject | undefined {
  const list = Object.hasOwn(LISTS, method) ? LISTS[method] : undefined
  return list === undefined ? undefined : { [list]: [] }
}

export interface LoginSessionOptions {
  name: string
  /** A login of the caller. */
  credential: Credential
  open(): UpstreamSession
  /** Requests that restore the state of the client's session. */
  restore(): Restored[]
  /** A session that another replica opened; absent: `start` follows. */
  current?: UpstreamSession
}

/**
 * A client's session with a server where its caller has to log in. While there is no login, lists are empty, and calls fail with
 * the login that they need. With the login, the session with the server is opened, and its lists are announced.
 */
export class LoginSession implements UpstreamSession {
  #current: UpstreamSession | undefined
  #begun: { request: Request; text: string } | undefined
  #opening: Promise<Fault | undefined> | undefined
  /** Whether the client was answered in the server's place, and so knows other capabilities. */
  #stoodIn = false
  /** Whether the client has completed its handshake. */
  #isReady = false
  /** Whether lists were answered as empty. */
  #hidesLists = false
  #lists: ListKind[] = []
  #closed = false
  readonly #stopListening: (() => void) | undefined

  constructor(
    private readonly options: LoginSessionOptions,
    private readonly events: UpstreamSessionEvents,
  ) {
    this.#current = options.current
    this.#stopListening = options.credential.onLoginChange?.(() =>
      this.#changed().catch(unexpected('a login')),
    )
  }

  async start(request: Request, text: string): Promise<Reply | Fault> {
    this.#begun = { request, text }
    const session = this.options.open()
    const reply = await session.start(request, text)
    if (reply instanceof Fault && reply.login && !this.#closed) {
      session.close()
      this.#stoodIn = true
      this.#hidesLists = true
      this.#lists = announcedLists(LISTS_ONLY)
      return replyOf(request, {
        protocolVersion: negotiate(String(request.params.protocolVersion)),
        capabilities: LISTS_ONLY,
        serverInfo: { name: this.options.name, version: '' },
      })
    }
    this.#current = session
    const { result } = reply instanceof Fault ? {} : reply.raw
    if (isObject(result)) this.#lists = announcedLists(result.capabilities)
    return reply
  }

  async request(request: Request, text: string, options?: RelayOptions): Promise<Reply | Fault> {
    const { method } = request
    const empty = emptyList(method)
    if (!this.#current && (method === 'ping' || method === 'logging/setLevel')) return replyOf(request, {})
    const fault = this.#current ? undefined : await this.#open()
    const reply = fault ?? (await this.#current?.request(request, text, options)) ?? this.#ended()
    if (reply instanceof Fault) {
      if (!reply.login || !empty) return reply
      this.#hidesLists = true
      return replyOf(request, empty)
    }
    const { error } = reply.raw
    const isUnknown = isObject(error) && error.code === METHOD_NOT_FOUND
    // The client was promised lists that the server does not have.
    return this.#stoodIn && empty && isUnknown ? replyOf(request, empty) : reply
  }

  notify(message: Message, text: string): void {
    this.#isReady ||= message.kind === 'notification' && message.method === 'notifications/initialized'
    this.#current?.notify(message, text)
  }

  /** The id of a session that began without the server does not name the server's. */
  resume(): ReturnType<NonNullable<UpstreamSession['resume']>> {
    return this.#stoodIn ? undefined : this.#current?.resume?.()
  }

  listen(): void {
    this.#current?.listen?.()
  }

  close(keep?: boolean): void {
    this.#closed = true
    this.#stopListening?.()
    this.#current?.close(keep && !this.#stoodIn)
    this.#current = undefined
  }

  /** Opens the session with the server, once for all that wait; a fault: there is no login, or the server is down. */
  #open(): Promise<Fault | undefined> {
    this.#opening ??= this.#opened().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #opened(): Promise<Fault | undefined> {
    const { credential, open, restore } = this.options
    const header = await credential.header()
    if (header instanceof Fault) return header
    if (!this.#begun || this.#closed) return this.#ended()
    const session = open()
    const reply = await session.start(this.#begun.request, this.#begun.text)
    const isOpen = !(reply instanceof Fault) && isObject(reply.raw.result)
    if (!isOpen || this.#closed) {
      session.close()
      return reply instanceof Fault ? reply : this.#ended()
    }
    this.#current = session
    if (this.#isReady) session.notify(noted('notifications/initialized'), INITIALIZED)
    for (const { method, params } of restore()) {
      const request = ownRequest(method, params)
      // The answer is ignored.
      session.request(request, stringify(request.raw)).catch(unexpected(method))
    }
    this.#announce()
    return undefined
  }

  /** The caller has logged in or out. */
  async #changed(): Promise<void> {
    const header = await this.options.credential.header()
    if (this.#closed) return
    if (header instanceof Fault && header.login) {
      // A person who has logged out does not get the server's further messages.
      this.#current?.close()
      this.#current = undefined
      this.#stoodIn = true
      this.#hidesLists = true
      announce(this.#lists, this.events.message)
    } else if (this.#current) this.#announce()
    else await this.#open()
  }

  #announce(): void {
    if (this.#hidesLists) announce(this.#lists, this.events.message)
    this.#hidesLists = false
  }

  #ended(): Fault {
    return new Fault('lost', `The session with the server ${this.options.name} has ended`)
  }
}

function replyOf({ id }: Request, result: JsonObject): Reply {
  const raw = { jsonrpc: '2.0', id, result }
  return { raw, text: stringify(raw) }
}
