import type { Credential } from '../../credentials/credential.ts'
import type { Json, JsonObject } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  Fault,
  isObject,
  LIST_KINDS,
  LISTEN,
  type ListKind,
  METHOD_NOT_FOUND,
  type Message,
  metaOf,
  negotiate,
  type Request,
  SERVER_INFO,
  SUBSCRIPTION_ID,
  SUPPORTED_VERSIONS,
} from '../../mcp/index.ts'
import { Cancellation } from '../../net/cancel.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { type StatelessUpstream, type UpstreamCall, withRequest } from '../rpc/stateless-upstream.ts'
import {
  completeHandshake,
  type RelayOptions,
  type Reply,
  type Restored,
  restoreIn,
  resultOf,
  type UpstreamSession,
  type UpstreamSessionEvents,
} from '../rpc/upstream-session.ts'
import { announce, announcedLists } from '../transport/lasting-stream.ts'
import { LISTS } from '../view/server-view.ts'

/** The capabilities that a client sees before its caller has logged in: lists of all kinds, which are empty and will change. */
const LISTS_ONLY: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true },
}

/** The empty list that answers a method; undefined: it asks for no list. */
function emptyList(method: string): JsonObject | undefined {
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
  #begun: Request | undefined
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

  async start(request: Request): Promise<Reply | Fault> {
    this.#begun = request
    const session = this.options.open()
    const reply = await session.start(request)
    if (reply instanceof Fault && reply.login && !this.#closed) {
      session.close()
      this.#stoodIn = true
      this.#hidesLists = true
      this.#lists = announcedLists(LISTS_ONLY)
      return resultOf(request.id, {
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

  async request(request: Request, options?: RelayOptions): Promise<Reply | Fault> {
    const { method } = request
    const empty = emptyList(method)
    if (!this.#current && (method === 'ping' || method === 'logging/setLevel'))
      return resultOf(request.id, {})
    const fault = this.#current ? undefined : await this.#open()
    const reply = fault ?? (await this.#current?.request(request, options)) ?? this.#ended()
    if (reply instanceof Fault) {
      if (!reply.login || !empty) return reply
      this.#hidesLists = true
      return resultOf(request.id, empty)
    }
    const { error } = reply.raw
    const isUnknown = isObject(error) && error.code === METHOD_NOT_FOUND
    // The client was promised lists that the server does not have.
    return this.#stoodIn && empty && isUnknown ? resultOf(request.id, empty) : reply
  }

  notify(message: Message): void {
    this.#isReady ||= message.kind === 'notification' && message.method === 'notifications/initialized'
    this.#current?.notify(message)
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
    const reply = await session.start(this.#begun)
    const isOpen = !(reply instanceof Fault) && isObject(reply.raw.result)
    if (!isOpen || this.#closed) {
      session.close()
      return reply instanceof Fault ? reply : this.#ended()
    }
    this.#current = session
    if (this.#isReady) completeHandshake(session)
    restoreIn(session, restore())
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

/**
 * A server where the caller of a stateless request has to log in. While there is no login, lists are empty, and calls fail with the
 * login that they need.
 * @param credential a login of the caller
 */
export function loginStateless(
  server: StatelessUpstream,
  credential: Credential,
  name: string,
): StatelessUpstream {
  return withRequest(server, async (call) => {
    const { id, method } = call.message
    if (method === LISTEN) return listen(server, credential, call)
    const answer = await server.request(call)
    if (!(answer instanceof Fault && answer.login)) return answer
    const result = method === 'server/discover' ? discovered(name) : emptyList(method)
    if (!result) return answer
    const whole = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result }
    return { jsonrpc: '2.0', id, result: whole }
  })
}

function discovered(name: string): JsonObject {
  return {
    ...SUPPORTED_VERSIONS,
    capabilities: LISTS_ONLY,
    _meta: { [SERVER_INFO]: { name, version: '' } },
  }
}

/** A subscription lasts over logins: when the caller logs in or out, all lists may have changed. */
async function listen(
  server: StatelessUpstream,
  credential: Credential,
  call: UpstreamCall,
): Promise<JsonObject | Fault | undefined> {
  const { message, signal, onMessage } = call
  let granted: JsonObject | undefined
  const acknowledge = (raw: JsonObject) => {
    if (granted) return
    const { notifications } = isObject(raw.params) ? raw.params : {}
    granted = isObject(notifications) ? notifications : {}
    onMessage(raw)
  }
  const send = (method: string, params: JsonObject) => {
    const _meta = { ...metaOf(params), [SUBSCRIPTION_ID]: message.id as Json }
    const raw = { jsonrpc: '2.0', method, params: { ...params, _meta } }
    if (method === ACKNOWLEDGED) acknowledge(raw)
    else onMessage(raw)
  }
  const announce = () => {
    for (const [key, list] of Object.entries(LIST_KINDS))
      if (granted?.[key] === true) send(`notifications/${list}/list_changed`, {})
  }
  for (;;) {
    if (await lacksLogin(credential)) {
      if (granted) announce()
      send(ACKNOWLEDGED, { notifications: listsIn(message.params.notifications) })
      await loginChange(credential, signal, async () => !(await lacksLogin(credential)))
      if (signal.aborted) return undefined
      announce()
    }
    const round = new Cancellation()
    signal.addEventListener('abort', round.abort)
    if (signal.aborted) round.abort()
    loginChange(credential, round, () => lacksLogin(credential))
      .then(round.abort)
      .catch(unexpected('a login'))
    const answer = await server.request({
      ...call,
      signal: round,
      onMessage: (raw) => (raw.method === ACKNOWLEDGED ? acknowledge(raw) : onMessage(raw)),
    })
    signal.removeEventListener('abort', round.abort)
    round.abort()
    if (signal.aborted || !(await lacksLogin(credential))) return answer
  }
}

/** The lists of a subscription; a server without its login has no resources to subscribe to. */
function listsIn(notifications: Json | undefined): JsonObject {
  const wanted = isObject(notifications) ? notifications : {}
  const keys = Object.keys(LIST_KINDS).filter((key) => wanted[key] === true)
  return Object.fromEntries(keys.map((key) => [key, true]))
}

async function lacksLogin(credential: Credential): Promise<boolean> {
  const header = await credential.header()
  return header instanceof Fault && header.login !== undefined
}

/** Resolves when the caller has logged in or out and `isSo` holds, or when the signal is aborted. */
function loginChange(
  credential: Credential,
  signal: UpstreamCall['signal'],
  isSo: () => Promise<boolean>,
): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stop?.()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const look = async () => {
      if (await isSo()) end()
    }
    const stop = credential.onLoginChange?.(() => look().catch(unexpected('a login')))
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
