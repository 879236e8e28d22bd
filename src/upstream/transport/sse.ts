import { Cancellation, Fault } from '../../mcp/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Mask } from '../../tools/mask.ts'
import type { Definition, Resolved } from '../definition.ts'
import { type Channel, type ChannelEvents, Outgoing, TOO_LARGE } from './channel.ts'
import { discard, type Http, mediaType, readAnswer } from './http.ts'
import { deliver, readTexts } from './messages.ts'

export interface HttpChannelOptions {
  http: Http
  /** Bytes of one message of the server. */
  maxMessage: number
  log: Logger
  /** Takes the server's secrets out of what it says. */
  mask: Mask
}

/** HTTP with SSE, the transport of 2024-11-05: a stream names the address that messages are sent to. */
export class SseChannel implements Channel {
  readonly ended: Promise<void>
  readonly #name: string
  readonly #abort = new Cancellation()
  readonly #outgoing: Outgoing
  #endpoint: Resolved | undefined
  /** Messages until the address is known. */
  #early: string[] | undefined = []
  /** Messages go out one after the other, so that the server gets them in order. */
  #last: Promise<void> = Promise.resolve()
  #closing = false

  constructor(
    { server }: Definition,
    private readonly resolved: Resolved,
    private readonly events: ChannelEvents,
    private readonly options: HttpChannelOptions,
  ) {
    this.#name = server.name
    this.#outgoing = new Outgoing(server.name)
    this.ended = this.#listen()
  }

  send(text: string): Fault | undefined {
    if (this.#closing) return new Fault('lost', `The session with the server ${this.#name} has ended`)
    const fault = this.#outgoing.add(text)
    if (fault) return fault
    if (this.#early) this.#early.push(text)
    else this.#post(text)
    return undefined
  }

  close(): void {
    this.#closing = true
    this.#early = []
    this.#outgoing.close()
    this.#abort.abort()
  }

  #fail(fault: Fault): void {
    if (this.#closing) return
    this.close()
    this.events.closed(fault)
  }

  #post(body: string): void {
    this.#last = this.#last.then(async () => {
      if (this.#closing || !this.#endpoint) return
      const headers = { 'content-type': 'application/json' }
      const request = { method: 'POST', headers, body, signal: this.#abort } as const
      const answer = await this.options.http.send(this.#endpoint, request)
      this.#outgoing.sent(body)
      if (answer instanceof Fault) return this.#fail(answer)
      discard(answer)
      const { status } = answer
      if (status >= 400)
        this.#fail(new Fault('status', `The server ${this.#name} refused a message (${status})`, { status }))
    })
  }

  async #listen(): Promise<void> {
    const { http, maxMessage } = this.options
    const headers = { accept: 'text/event-stream' }
    const answer = await http.send(this.resolved, { method: 'GET', headers, signal: this.#abort })
    if (answer instanceof Fault) return this.#fail(answer)
    const { status } = answer
    if (status !== 200 || mediaType(answer) !== 'text/event-stream') {
      discard(answer)
      const message = `The server ${this.#name} answered ${status} where an event stream was expected`
      return this.#fail(new Fault('status', message, { status }))
    }
    const tooLarge = () => this.events.rejected(undefined, TOO_LARGE)
    await readAnswer(answer, maxMessage, (data, event) => this.#take(data, event), tooLarge)
    this.#fail(new Fault('lost', `The server ${this.#name} closed its event stream`))
  }

  #take(data: string, event: string): void {
    if (this.#closing) return
    if (event === 'endpoint') this.#locate(data)
    if (event !== 'message') return
    const { log, mask } = this.options
    const taken = readTexts(mask(data, true))
    if (!taken.length) log.warn({ server: this.#name }, 'ignored an event that is not a message')
    deliver(taken, this.events, log, { server: this.#name })
  }

  #locate(data: string): void {
    const { origin, path } = this.resolved
    const base = `${origin}${path}`
    const url = URL.canParse(data, base) ? new URL(data, base) : undefined
    // Credentials must not follow an address to another host (2024-11-05, HTTP with SSE).
    if (url?.origin !== origin) {
      this.#fail(new Fault('invalid', `The server ${this.#name} named an address at another origin`))
      return
    }
    this.#endpoint = { ...this.resolved, path: url.pathname + url.search }
    for (const text of this.#early ?? []) this.#post(text)
    this.#early = undefined
  }
}
