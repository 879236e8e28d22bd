import type { Readable } from 'node:stream'
import type { HttpResponse } from '../../access/http-response.ts'
import { limitReached } from '../../access/refusals.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { RequestContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { Fault } from '../fault.ts'
import { faultResponse, rpcError, tooMuch } from '../http.ts'
import { InFlight } from '../in-flight.ts'
import { listingOf } from '../listing.ts'
import {
  errorText,
  FIRST_REVISION,
  has,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  type Message,
  type Messages,
  notificationText,
  PROTOCOL_VERSION,
  type Request,
  type RequestId,
  type RpcError,
  readMessage,
  requestIdOf,
  type SessionRevision,
} from '../protocol.ts'
import { beginSession, handshake, migrate } from '../session/opening.ts'
import type { Session } from '../session/session.ts'
import { LineReply } from '../session/stream.ts'
import { idInEnds, lineSplitter, oneLine } from './message-lines.ts'
import { receive } from './receive.ts'
import { answerStateless, claimsRevision } from './stateless.ts'

/** One line of standard input as a request; call `end` when it is answered. */
export interface LineContext extends RequestContext {
  /** Reason for refusing its requests. */
  readonly refused: string | undefined
  /** Called when the client cancels it. */
  leave(): void
  end(): void
}

export interface StdioParts {
  /** The endpoint currently served; undefined: the prefix was removed. */
  endpoint(): Endpoint | undefined
  arrive(line: Buffer): Promise<LineContext>
  /** Sends one message as a line. */
  send(line: string): void
}

/** A handshake that can be repeated. */
interface Handshake {
  request: Request
  revision: SessionRevision
}

/**
 * A client on standard input and output (stdio of all revisions): one caller, at most one session, and stateless
 * requests beside it.
 */
export class StdioConnection {
  #session: Session | undefined
  /** The client's handshake, repeated if the session is lost, which a stdio client cannot notice. */
  #handshake: Handshake | undefined
  /** Whether the last `initialize` failed. */
  #refused = false
  readonly #stateless = new InFlight<RequestId, LineContext>()
  readonly #pending = new Set<Promise<void>>()
  #ended = false

  constructor(private readonly parts: StdioParts) {}

  /**
   * Handles the messages of an input in order, until it ends. Never rejects.
   * @param limit maximum bytes of a line
   */
  async read(input: Readable, limit: () => number): Promise<void> {
    const takes: (() => Promise<void>)[] = []
    const split = lineSplitter(
      limit,
      (line) => {
        if (!line.every(isBlank)) takes.push(() => this.#take(line))
      },
      (head, tail) => takes.push(async () => this.#refuseLong(head, tail, limit())),
    )
    const takeAll = async () => {
      for (const take of takes.splice(0)) await take().catch(unexpected('a line'))
    }
    try {
      for await (const chunk of input) {
        split(chunk)
        await takeAll()
      }
    } catch {
      // An unreadable input has ended.
    }
    split(Buffer.from('\n'))
    await takeAll()
  }

  /** Called at the end of input: the client cannot answer any more. */
  end(): void {
    this.#ended = true
    this.#session?.silence()
  }

  /** Resolves when all stateless requests are answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }

  async #take(line: Buffer): Promise<void> {
    const context = await this.parts.arrive(line)
    const searches = () => (this.#session ? this.#session.listing : listingOf(context)) !== undefined
    const received = await receive(context, searches, true)
    if ('refused' in received) await this.#say(received.refused)
    else if (context.refused !== undefined) this.#refuse(received, INVALID_REQUEST, context.refused)
    else if (await this.#dispatch(context, received)) return
    context.end()
  }

  /** Dispatches messages; true: the context ends later. */
  async #dispatch(context: LineContext, received: Messages): Promise<boolean> {
    const endpoint = this.parts.endpoint()
    if (!endpoint) {
      this.#refuse(received, INTERNAL_ERROR, 'The prefix is not served any more')
      return false
    }
    const { messages, batch, text } = received
    const [only] = messages as [Message]
    if (batch) await this.#inSession(context, received, endpoint)
    else if (only.kind === 'invalid') this.#send(errorOf(only.id, only.code, only.reason))
    else if (only.kind === 'refused') this.#send(errorText(only.id, only.error))
    else if (only.kind === 'request' && claimsRevision(only.params))
      return this.#serveStateless(context, only, text, endpoint)
    else if (only.kind === 'request' && only.method === 'initialize')
      await this.#initialize(context, only, endpoint)
    else if (!this.#cancels(only)) await this.#inSession(context, received, endpoint)
    return false
  }

  #serveStateless(context: LineContext, request: Request, text: string, endpoint: Endpoint): boolean {
    const { id } = request
    if (this.#stateless.has(id)) {
      this.#send(errorOf(id, INVALID_REQUEST, 'A request with this id is under way'))
      return false
    }
    this.#stateless.set(id, context)
    const failed = () => this.#send(errorOf(id, INTERNAL_ERROR, 'Internal error'))
    const stream = { send: (message: string) => this.#send(message) }
    const answered = answerStateless(context, request, text, endpoint, () => new LineReply(context, stream))
      .then((response) => response && this.#say(response))
      .catch(unexpected(request.method, failed))
      .finally(() => {
        this.#stateless.delete(id)
        this.#pending.delete(answered)
        context.end()
      })
    this.#pending.add(answered)
    return true
  }

  /** Whether a message cancels a stateless request, or claims a stateless revision. */
  #cancels(message: Message): boolean {
    if (message.kind !== 'notification') return false
    if (message.method === 'notifications/cancelled') {
      const found = this.#stateless.get(requestIdOf(message))
      found?.leave()
      if (found) return true
    }
    return claimsRevision(message.params)
  }

  /** Opens the session for `initialize`, and ends a previous one. */
  async #initialize(context: RequestContext, request: Request, endpoint: Endpoint): Promise<void> {
    const before = this.#session
    this.#session = undefined
    this.#handshake = undefined
    this.#refused = true
    if (before) endpoint.registry.endSession(before, true)
    const session = this.#begin(context, endpoint)
    if (typeof session === 'string') return this.#say(tooMuch(session, request.id))
    if (session instanceof Fault) return this.#say(faultResponse(session, request.id))
    const opened = await handshake(session, request, context, endpoint)
    if (opened.ok) {
      session.opened(context)
      this.#handshake = { request, revision: session.revision }
      this.#refused = false
    } else this.#drop(session, endpoint)
    this.#send(opened.text)
  }

  #begin(context: RequestContext, endpoint: Endpoint) {
    const session = beginSession(context, endpoint, { revision: FIRST_REVISION, onStream: true })
    if (typeof session === 'string' || session instanceof Fault) return session
    this.#session = session
    session.open({ send: (text) => this.#send(text), close: () => this.#lost(session) })
    return session
  }

  /** Ends a session that could not be opened. */
  #drop(session: Session, { registry }: Endpoint): void {
    if (this.#session === session) this.#session = undefined
    registry.endSession(session)
  }

  /** The client cannot notice the loss: it continues in a new session, whose lists may differ. */
  #lost(session: Session): void {
    if (this.#session !== session) return
    this.#session = undefined
    if (this.#ended) return
    for (const kind of session.changeableLists ?? [])
      this.#send(notificationText(`notifications/${kind}/list_changed`))
  }

  async #inSession(context: RequestContext, received: Messages, endpoint: Endpoint): Promise<void> {
    const session = await this.#current(context, endpoint)
    if (!session) this.#refuse(received, INVALID_REQUEST, this.#refused ? REFUSED : NO_SESSION)
    else if (session instanceof Fault) this.#refuse(received, INTERNAL_ERROR, session.message)
    else if (received.batch && !has('batches', session.revision)) {
      const message = `Protocol revision ${session.revision} has no batches`
      await this.#say(rpcError(400, { code: INVALID_REQUEST, message }))
    } else session.receive(context, received, endpoint)
  }

  /** The session, served by the current backend; undefined: the client has not initialized. */
  async #current(context: RequestContext, endpoint: Endpoint): Promise<Session | Fault | undefined> {
    const session = this.#session
    if (!session) return this.#again(context, endpoint)
    if (session.backendSession.backend === endpoint.backend) return session
    const served = await migrate(session, context, endpoint)
    if (served instanceof Fault) return served
    return served ? session : this.#again(context, endpoint)
  }

  /** Repeats the client's handshake after a session was lost. */
  async #again(context: RequestContext, endpoint: Endpoint): Promise<Session | Fault | undefined> {
    if (!this.#handshake) return undefined
    const { request, revision } = this.#handshake
    const session = this.#begin(context, endpoint)
    if (typeof session === 'string') return new Fault('busy', limitReached(session))
    if (session instanceof Fault) return session
    const opened = await handshake(session, request, context, endpoint)
    if (!opened.ok || session.revision !== revision) {
      this.#drop(session, endpoint)
      return new Fault('refused', 'The server was replaced, and the new one did not take the session')
    }
    session.opened(context)
    session.receive(context, INITIALIZED, endpoint)
    return session
  }

  /** Answers the requests among messages with an error. */
  #refuse({ messages, batch }: Messages, code: number, message: string): void {
    const ids = messages.flatMap((one) => (one.kind === 'request' || one.kind === 'refused' ? [one.id] : []))
    const errors = ids.map((id) => errorOf(id, code, message))
    if (errors.length) this.#send(batch ? `[${errors.join(',')}]` : errors.join(''))
  }

  /** An oversized line may be a request that waits for an answer. */
  #refuseLong(head: string, tail: string, limit: number): void {
    const id = REQUEST.test(head) ? idInEnds(head, tail) : undefined
    this.#send(errorOf(id ?? null, INVALID_REQUEST, `The message is larger than ${limit} bytes`))
  }

  async #say(response: HttpResponse): Promise<void> {
    this.#send(await response.text())
  }

  #send(text: string): void {
    this.parts.send(oneLine(text))
  }
}

const NO_SESSION = `Send initialize first, or name the revision in params._meta["${PROTOCOL_VERSION}"]`
const REFUSED =
  'There is no session: the response to initialize is an error that says why. Send initialize again'
/** The beginning of a request, as common writers order its members. */
const REQUEST = /^\s*\{(?:"jsonrpc":\s*"2\.0",\s*)?(?:"id":[^,{}]{1,210},\s*)?"method":/

const INITIALIZED: Messages = initialized()

function initialized(): Messages {
  const raw = { jsonrpc: '2.0', method: 'notifications/initialized' }
  return { messages: [readMessage(raw)], batch: false, text: JSON.stringify(raw) }
}

function errorOf(id: RequestId | null, code: number, message: string): string {
  const error: RpcError = { code, message }
  return errorText(id, error)
}

/** Whether a byte is one of JSON's blanks: clients on Windows end lines by CR and LF, some write empty lines. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d
}
