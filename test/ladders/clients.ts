import { Agent, type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'
import { MODERN_META, modernHeaders } from '../support/served.ts'
import { ACCEPT, type Loose } from '../support/wire.ts'

/** How a request ended. `gone`: its session has ended, and the client knows. */
export type Outcome = { result: Loose } | { error: string } | { gone: string }

export type Speaks = 'session' | 'modern' | 'sse'

/** Milliseconds after which an answer will not come any more, on the slowest machine. */
const BOUND = 30_000

/** A client that records every frame, and what is wrong with any. */
export abstract class Talker {
  /** What must not be. */
  readonly violations: string[] = []
  /** Requests whose connection ended before the answer. */
  readonly cuts: string[] = []
  ready = false
  /** Resolves when a call of it has made progress. */
  readonly progressed: Promise<void>
  #onProgress = () => {}
  protected readonly agent = new Agent({ keepAlive: true })
  readonly #pending = new Map<unknown, (outcome: Outcome) => void>()
  readonly #answered = new Set<unknown>()
  /** Requests that may have arrived although their connection was cut. */
  readonly #uncertain = new Set<unknown>()
  #count = 0

  /**
   * @param url of the prefix
   * @param name is in everything that it sends, and in nothing that is for others
   */
  constructor(
    protected readonly url: string,
    readonly name: string,
  ) {
    this.progressed = new Promise((resolve) => {
      this.#onProgress = resolve
    })
  }

  /** A text that no other client sends. */
  token(): string {
    return `tok-${this.name}-${++this.#count}`
  }

  /** Opens its session, if it has one. */
  async open(): Promise<Outcome> {
    try {
      return await this.begin()
    } catch (error) {
      return this.cut(`its start was cut off: ${(error as Error).message}`)
    }
  }

  protected abstract begin(): Promise<Outcome>
  protected abstract send(text: string, id: string, settle: (outcome: Outcome) => void): Promise<void>
  protected abstract leave(): Promise<void>

  async request(method: string, params: object): Promise<Outcome> {
    const id = this.token()
    let timer: NodeJS.Timeout | undefined
    const outcome = new Promise<Outcome>((resolve) => {
      this.#pending.set(id, resolve)
      timer = setTimeout(() => this.settle(id, this.#wrong(`${method} got no answer`)), BOUND)
    })
    const text = this.textOf(id, method, params)
    this.send(text, id, (early) => this.settle(id, early)).catch((error) => {
      if (!this.isPending(id)) return
      this.#uncertain.add(id)
      this.settle(id, this.cut(`${method} was cut off: ${error.code ?? error.message}`))
    })
    return outcome.finally(() => clearTimeout(timer))
  }

  async close(): Promise<void> {
    await this.leave()
    this.agent.destroy()
  }

  protected textOf(id: string, method: string, params: object): string {
    return JSON.stringify({ jsonrpc: '2.0', id, method, params })
  }

  /** Ends a request without an answer. */
  protected settle(id: unknown, outcome: Outcome): boolean {
    const resolve = this.#pending.get(id)
    this.#pending.delete(id)
    resolve?.(outcome)
    return resolve !== undefined
  }

  /** Ends all requests. */
  protected settleAll(outcome: Outcome): void {
    for (const id of this.#pending.keys()) this.settle(id, outcome)
  }

  protected get waits(): boolean {
    return this.#pending.size > 0
  }

  protected isPending(id: unknown): boolean {
    return this.#pending.has(id)
  }

  #wrong(what: string): Outcome {
    this.violations.push(what)
    return { error: what }
  }

  protected cut(what: string): Outcome {
    this.cuts.push(what)
    return { gone: what }
  }

  /** Takes a frame of the gateway. */
  protected take(text: string): void {
    for (const [token] of text.matchAll(/tok-[a-z0-9]+-/g))
      if (token !== `tok-${this.name}-`) this.#wrong(`got what is for another client: ${text}`)
    let frame: Loose
    try {
      frame = JSON.parse(text)
    } catch {
      this.#wrong(`got a frame that is no JSON: ${text}`)
      return
    }
    if (frame.method === 'notifications/progress') this.#onProgress()
    if (frame.method !== undefined) return
    const { id, result, error } = frame
    const outcome: Outcome = result === undefined ? { error: String(error?.message ?? '') } : { result }
    if ('error' in outcome && outcome.error === '') this.#wrong(`got an error that says nothing: ${text}`)
    if (this.#answered.has(id)) this.#wrong(`got a second answer: ${text}`)
    else if (!this.settle(id, outcome) && !this.#uncertain.has(id))
      this.#wrong(`got an answer to nothing: ${text}`)
    this.#answered.add(id)
  }

  /** Sends a request of HTTP; resolves with its headers. */
  protected http(
    method: string,
    url: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, agent: this.agent, headers })
      sent.on('response', (response) => resolve(response.on('error', () => {})))
      sent.on('error', reject)
      sent.end(body)
    })
  }

  /** Reads an answer, be it JSON or events, to its end. @returns the id of the last event */
  protected async read(
    response: IncomingMessage,
    onEvent: (event: string, data: string) => void = (event, data) => {
      if (event === 'message') this.take(data)
    },
  ): Promise<string | undefined> {
    const type = String(response.headers['content-type'] ?? '')
    if (!type.startsWith('text/event-stream')) {
      const text = await textOf(response)
      if (text !== '') this.take(text)
      return undefined
    }
    let last: string | undefined
    let event = 'message'
    let id: string | undefined
    let data: string | undefined
    try {
      for await (const line of createInterface({ input: response })) {
        if (line.startsWith('event: ')) event = line.slice(7)
        else if (line.startsWith('id: ')) id = line.slice(4)
        else if (line.startsWith('data: ')) data = line.slice(6)
        else if (line === '') {
          last = id ?? last
          if (data) onEvent(event, data)
          event = 'message'
          id = data = undefined
        }
      }
    } catch {
      // The stream was cut: what is still awaited tells.
    }
    return last
  }

  /** The outcome of an answer that is an error of HTTP; undefined where it is none. */
  protected async refusal(response: IncomingMessage): Promise<Outcome | undefined> {
    const { statusCode = 0 } = response
    if (statusCode < 400) return undefined
    const text = await textOf(response)
    if (statusCode === 404) return { gone: text }
    const message = text.startsWith('{') ? JSON.parse(text).error?.message : text
    return message ? { error: message } : this.#wrong(`the answer ${statusCode} says nothing`)
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of response.setEncoding('utf8')) text += part
  return text
}

const POSTED = { 'content-type': 'application/json', accept: ACCEPT }
const HELLO = (protocolVersion: string) => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'ladder', version: '1' },
})
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

/** 2025-11-25 over streamable HTTP, with a GET stream. */
class SessionTalker extends Talker {
  #session: Record<string, string> = {}

  protected async begin(): Promise<Outcome> {
    const opened = await this.request('initialize', HELLO('2025-11-25'))
    if (!('result' in opened) || !this.#session['mcp-session-id']) return opened
    this.ready = true
    this.#session['mcp-protocol-version'] = opened.result.protocolVersion
    const noted = await this.http('POST', `${this.url}/mcp`, { ...POSTED, ...this.#session }, INITIALIZED)
    await textOf(noted)
    const stream = await this.http('GET', `${this.url}/mcp`, this.#listening())
    // A session that has ended by now ends the next request too.
    if (stream.statusCode === 200) this.read(stream).catch(() => {})
    else stream.resume()
    return opened
  }

  #listening(last?: string): Record<string, string> {
    return { accept: 'text/event-stream', ...this.#session, ...(last && { 'last-event-id': last }) }
  }

  protected async send(text: string, id: string, settle: (outcome: Outcome) => void): Promise<void> {
    let response = await this.http('POST', `${this.url}/mcp`, { ...POSTED, ...this.#session }, text)
    const session = response.headers['mcp-session-id']
    if (session) this.#session['mcp-session-id'] = String(session)
    const refused = await this.refusal(response)
    if (refused) return settle(refused)
    for (let again = 0; again < 3; again++) {
      const last = await this.read(response)
      if (!this.isPending(id)) return
      if (last === undefined) throw new Error('the stream ended')
      response = await this.http('GET', `${this.url}/mcp`, this.#listening(last))
      const lost = await this.refusal(response)
      if (lost) return settle(lost)
    }
    throw new Error('the stream ended again and again')
  }

  protected async leave(): Promise<void> {
    if (!this.#session['mcp-session-id']) return
    const left = await this.http('DELETE', `${this.url}/mcp`, this.#session)
    left.resume()
  }
}

/** 2026-07-28, where the calls of one client name their session. */
class ModernTalker extends Talker {
  readonly #own = { 'plantgw-session': crypto.randomUUID() }

  protected begin(): Promise<Outcome> {
    this.ready = true
    return this.request('server/discover', {})
  }

  protected override textOf(id: string, method: string, params: Loose): string {
    const _meta = { ...JSON.parse(`{${MODERN_META}}`)._meta, ...params._meta }
    return super.textOf(id, method, { ...params, _meta })
  }

  protected async send(text: string, id: string, settle: (outcome: Outcome) => void): Promise<void> {
    const { method, params } = JSON.parse(text)
    const name = params.name ?? params.uri
    const response = await this.http(
      'POST',
      `${this.url}/mcp`,
      {
        ...POSTED,
        ...this.#own,
        ...modernHeaders(method, name),
      },
      text,
    )
    const refused = await this.refusal(response)
    if (refused) return settle(refused)
    await this.read(response)
    if (this.isPending(id)) throw new Error('the stream ended')
  }

  protected async leave(): Promise<void> {}
}

/** HTTP with SSE, the transport of 2024-11-05. */
class SseTalker extends Talker {
  #endpoint: string | undefined
  #stream: IncomingMessage | undefined

  protected async begin(): Promise<Outcome> {
    const stream = await this.http('GET', `${this.url}/sse`, { accept: 'text/event-stream' })
    const refused = await this.refusal(stream)
    if (refused) return refused
    this.#stream = stream
    await new Promise<void>((located) => {
      const onEvent = (event: string, data: string) => {
        if (event === 'message') return this.take(data)
        this.#endpoint = new URL(data, this.url).href
        located()
      }
      const ended = () => {
        if (this.waits) this.cut('the stream ended before the answer')
        this.#endpoint = undefined
        this.settleAll({ gone: 'the stream ended' })
        located()
      }
      this.read(stream, onEvent).then(ended, ended)
    })
    const opened = await this.request('initialize', HELLO('2024-11-05'))
    if (!('result' in opened)) return opened
    this.ready = true
    const noted = await this.http('POST', this.#endpoint!, POSTED, INITIALIZED)
    await textOf(noted)
    return opened
  }

  protected async send(text: string, _id: string, settle: (outcome: Outcome) => void): Promise<void> {
    if (!this.#endpoint) return settle({ gone: 'the stream ended' })
    const response = await this.http('POST', this.#endpoint, POSTED, text)
    const refused = await this.refusal(response)
    if (refused) settle(refused)
    else response.resume()
  }

  protected async leave(): Promise<void> {
    this.#stream?.destroy()
  }
}

export function talker(speaks: Speaks, url: string, name: string): Talker {
  const Made = { session: SessionTalker, modern: ModernTalker, sse: SseTalker }[speaks]
  return new Made(url, name)
}
