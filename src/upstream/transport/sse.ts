import { stringify } from '../../json/index.ts'
import { Fault, type Message, messageOf, ownId, type RequestId, textOf } from '../../mcp/index.ts'
import type { Resolved } from '../definition.ts'
import { deliver, readData, tooLarge } from './channel.ts'
import { discard, type HttpAnswer, mediaType, readAnswer, refusal, refusedCaller, wordsOf } from './http.ts'
import { EVENTS, HttpChannel, isUnexecuted, logForgotten } from './http-channel.ts'

/** A message for the server. */
interface Sent {
  text: string
  /** Undefined: it is not a request. */
  id: RequestId | undefined
}

/** HTTP with SSE, the transport of 2024-11-05: the stream names the address for messages. */
export class SseChannel extends HttpChannel {
  readonly ended: Promise<void>
  get isOpen(): boolean {
    return this.#endpoint !== undefined
  }
  #endpoint: Resolved | undefined
  /** Messages queued until the address is known. */
  #early: Sent[] | undefined = []
  /** Messages are sent one after another, to keep their order. */
  #last: Promise<void> = Promise.resolve()

  constructor(...given: ConstructorParameters<typeof HttpChannel>) {
    super(...given)
    this.ended = this.#listen()
  }

  protected take(message: Message): Fault | undefined {
    const text = textOf(message)
    const fault = this.outgoing.add(text)
    if (fault) return fault
    const sent = { text, id: message.kind === 'request' ? message.id : undefined }
    if (this.#early) this.#early.push(sent)
    else this.#post(sent)
    return undefined
  }

  protected leave(): void {
    this.#early = []
  }

  #post({ text: body, id }: Sent): void {
    this.#last = this.#last.then(async () => {
      if (this.closing || !this.#endpoint) return
      const headers = { 'content-type': 'application/json' }
      const request = { method: 'POST', headers, body, signal: this.abort } as const
      const answer = await this.options.http.send(this.#endpoint, request)
      this.outgoing.sent(body)
      if (answer instanceof Fault) return this.#unsent(id, answer)
      discard(answer)
      if (answer.status >= 400) await this.#refused(id, answer)
    })
  }

  /** Handles a message that was not sent; without a login of the caller, the session can wait for one. */
  #unsent(id: RequestId | undefined, fault: Fault): void {
    const mayFollow = fault.login !== undefined || fault.isUnexecuted
    if (mayFollow && id !== undefined) this.events.rejected(id, fault)
    if (!fault.login) this.fail(fault)
  }

  /** Handles a refused message: the session is lost if a ping is refused too. */
  async #refused(id: RequestId | undefined, refused: HttpAnswer): Promise<void> {
    const { http, log } = this.options
    const { name } = this
    const { status } = refused
    const reject = (fault: Fault) => {
      if (id !== undefined) this.events.rejected(id, fault)
    }
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      signal: this.abort,
    } as const
    const ping = stringify(messageOf('ping', {}, ownId()))
    const answer = await http.send(this.#endpoint as Resolved, { ...request, body: ping })
    if (!(answer instanceof Fault)) discard(answer)
    if (this.closing) return
    if (answer instanceof Fault || answer.status !== status) {
      const own = new Fault('status', `The server ${name} refused a message (${status})`, { status })
      return reject(refusedCaller(refused, this) ?? refusal(refused, id ?? null, this) ?? own)
    }
    logForgotten({ name, log }, String(status))
    const message = `The server ${name} has forgotten the session`
    if (isUnexecuted(status)) reject(new Fault('lost', message, { status: 404, isUnexecuted: true }))
    this.fail(new Fault('lost', message, { status: 404 }))
  }

  async #listen(): Promise<void> {
    const { http, maxMessage } = this.options
    const headers = { accept: EVENTS }
    const answer = await http.send(this.resolved, { method: 'GET', headers, signal: this.abort })
    if (answer instanceof Fault) return this.fail(answer)
    const { status } = answer
    if (status >= 300 || mediaType(answer) !== EVENTS) {
      discard(answer)
      const message = `The server ${this.name} answered ${status} where an event stream was expected${wordsOf(answer)}`
      const own = new Fault('status', message, { status })
      return this.fail(refusedCaller(answer, this) ?? refusal(answer, null, this) ?? own)
    }
    const onTooLarge = () => this.events.rejected(undefined, tooLarge(this.name, maxMessage))
    await readAnswer(answer, maxMessage, (data, event) => this.#take(data, event), onTooLarge)
    this.fail(new Fault('lost', `The server ${this.name} closed its event stream`))
  }

  #take(data: string, event: string): void {
    if (this.closing) return
    if (event === 'endpoint') this.#locate(data)
    if (event !== 'message') return
    const { log, mask } = this.options
    const taken = readData(mask(data, true))
    if (!taken.length) log.warn({ server: this.name }, 'ignored an event that is not a message')
    deliver(taken, this.events, log, { server: this.name })
  }

  #locate(data: string): void {
    const { origin, path } = this.resolved
    const base = `${origin}${path}`
    const url = URL.canParse(data, base) ? new URL(data, base) : undefined
    // Credentials must not be sent to another host (2024-11-05, HTTP with SSE).
    if (url?.origin !== origin) {
      this.fail(new Fault('invalid', `The server ${this.name} named an address at another origin`))
      return
    }
    this.#endpoint = { ...this.resolved, path: url.pathname + url.search }
    for (const sent of this.#early ?? []) this.#post(sent)
    this.#early = undefined
  }
}
