import { type Json, parse } from '../../json/index.ts'
import { Cancellation, Fault, InFlight, isObject, type RequestId } from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Definition, Resolved } from '../definition.ts'
import { type Channel, type ChannelEvents, FAILED, Outgoing, TOO_LARGE } from './channel.ts'
import { discard, type HttpAnswer, mediaType, readAnswer } from './http.ts'
import { deliver, readTexts } from './messages.ts'
import type { HttpChannelOptions } from './sse.ts'

const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** A session with a streamable HTTP server of a session-based revision, as one channel of messages. */
export class StreamableChannel implements Channel {
  readonly ended: Promise<void>
  readonly #name: string
  readonly #abort = new Cancellation()
  readonly #outgoing: Outgoing
  /** Requests without an answer. */
  readonly #awaited = new Set<RequestId>()
  readonly #work = new InFlight<Promise<void>, true>()
  /** Requests wait for the notifications and responses before them, as those must have arrived. */
  #noted: Promise<void> = Promise.resolve()
  #sessionId: string | undefined
  #revision: string | undefined
  #listening = false
  #closing = false
  #finish: () => void = () => {}

  constructor(
    { server }: Definition,
    private readonly resolved: Resolved,
    private readonly events: ChannelEvents,
    private readonly options: HttpChannelOptions,
  ) {
    this.#name = server.name
    this.#outgoing = new Outgoing(server.name)
    this.ended = new Promise((resolve) => {
      this.#finish = resolve
    })
  }

  send(text: string): Fault | undefined {
    if (this.#closing) return new Fault('lost', `The session with the server ${this.#name} has ended`)
    const value = jsonOf(text)
    const id = isObject(value) && 'method' in value ? value.id : undefined
    if (typeof id === 'string' || typeof id === 'number') {
      this.#track(this.#request(text, id, this.#noted))
      return undefined
    }
    const fault = this.#outgoing.add(text)
    if (fault) return fault
    this.#noted = this.#noted
      .then(() => (this.#closing ? undefined : this.#note('POST', text)))
      .finally(() => this.#outgoing.sent(text))
    this.#track(this.#noted)
    if (isObject(value) && value.method === 'notifications/initialized' && !this.#listening) {
      this.#listening = true
      this.#track(this.#noted.then(() => (this.#closing ? undefined : this.#listen())))
    }
    return undefined
  }

  close(): void {
    if (this.#closing) return
    this.#closing = true
    this.#outgoing.close()
    this.#abort.abort()
    if (this.#sessionId !== undefined) this.#track(this.#note('DELETE'))
    Promise.all(this.#work.keys()).then(this.#finish, this.#finish)
  }

  /** Work that the end of the session waits for; a fault of the gateway's own ends the session. */
  #track(promise: Promise<void>): void {
    const fall = () => {
      if (this.#closing) return
      this.close()
      this.events.closed(new Fault('internal', FAILED))
    }
    const tracked = promise
      .catch(unexpected('a session over streamable HTTP', fall))
      .finally(() => this.#work.delete(tracked))
    this.#work.set(tracked, true)
  }

  async #request(body: string, id: RequestId, before: Promise<void>): Promise<void> {
    await before
    if (this.#closing) return
    this.#awaited.add(id)
    const headers = { ...ACCEPT, ...this.#headers() }
    const answer = await this.options.http.send(this.resolved, {
      method: 'POST',
      headers,
      body,
      signal: this.#abort,
    })
    if (answer instanceof Fault) return this.#fail(id, answer)
    if (answer.status === 404 && this.#sessionId !== undefined) {
      discard(answer)
      this.#sessionId = undefined
      if (this.#closing) return
      this.close()
      return this.events.closed(new Fault('lost', `The server ${this.#name} has forgotten the session`))
    }
    const given = answer.headers['mcp-session-id']
    if (given !== undefined) this.#sessionId ??= String(given)
    await this.#read(answer, id)
    this.#fail(id, unanswered(this.#name, answer.status))
  }

  /** Sends what is not answered. */
  async #note(method: 'POST' | 'DELETE', body?: string): Promise<void> {
    const headers = { ...(body !== undefined && ACCEPT), ...this.#headers() }
    const request = { method, headers, ...(body !== undefined && { body }) }
    const answer = await this.options.http.send(this.resolved, request)
    if (!(answer instanceof Fault)) discard(answer)
  }

  /** The stream for messages that answer no request; servers may have none. */
  async #listen(): Promise<void> {
    const headers = { accept: 'text/event-stream', ...this.#headers() }
    const answer = await this.options.http.send(this.resolved, {
      method: 'GET',
      headers,
      signal: this.#abort,
    })
    if (answer instanceof Fault) return
    if (answer.status === 200 && mediaType(answer) === 'text/event-stream') await this.#read(answer)
    else discard(answer)
  }

  #headers(): Record<string, string> {
    return {
      ...(this.#sessionId !== undefined && { 'mcp-session-id': this.#sessionId }),
      ...(this.#revision !== undefined && { 'mcp-protocol-version': this.#revision }),
    }
  }

  #read(answer: HttpAnswer, id?: RequestId): Promise<void> {
    const tooLarge = () => this.events.rejected(id, TOO_LARGE)
    return readAnswer(answer, this.options.maxMessage, (data) => this.#take(data, id), tooLarge)
  }

  /** @param own the request in whose answer it came */
  #take(data: string, own?: RequestId): void {
    if (this.#closing) return
    const taker: Pick<ChannelEvents, 'message' | 'rejected'> = {
      message: (message, text) => {
        if (message.kind === 'response' && message.id !== null) {
          this.#awaited.delete(message.id)
          const { result } = message.raw
          if (isObject(result) && typeof result.protocolVersion === 'string')
            this.#revision ??= result.protocolVersion
        }
        this.events.message(message, text)
      },
      rejected: (id = own, fault) => {
        if (id !== undefined) this.#awaited.delete(id)
        this.events.rejected(id, fault)
      },
    }
    deliver(readTexts(data), taker, this.options.log, { server: this.#name })
  }

  /** Ends a request in the server's place. */
  #fail(id: RequestId, fault: Fault): void {
    if (!this.#closing && this.#awaited.delete(id)) this.events.rejected(id, fault)
  }
}

/** The fault of an answer that holds no response. */
export function unanswered(server: string, status: number): Fault {
  if (status === 200) return new Fault('invalid', `The server ${server} ended the call without an answer`)
  return new Fault('status', `The server ${server} ended the call with the status ${status}`, { status })
}

function jsonOf(text: string): Json | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
