import { connect, type Socket } from 'node:net'
import { META } from '../stateless-call.ts'

/**
 * Clients of a gateway in a process of their own. It gets a `Load` as a message, and answers with a `LoadResult`.
 * Sockets are written and read by hand: a client library would need more CPU than the gateway that it asks.
 */
export interface Load {
  port: number
  seconds: number
  /** Requests a second, whether or not earlier ones have an answer; absent: as fast as answers come. */
  rate?: number
  /** Connections at most, each with one request at a time. */
  connections: number
  clients: LoadClient[]
}

/** A kind of client; connections are of each kind in turn. */
export interface LoadClient {
  path: string
  /** With a session of this revision; absent: a client of 2026-07-28. */
  session?: string
  tokens: string[]
  tool: string
  /** Connections at most. */
  most?: number
}

export interface LoadResult {
  /** Requests sent, and those that no connection was free for. */
  sent: number
  unsent: number
  /** By kind: `200`, `200 isError`, `429`, `503`; anything else should not be. */
  answers: Record<string, number>
  /** Milliseconds that accepted calls took, in order. */
  p50: number
  p99: number
  most: number
  /** Calls accepted a second. */
  accepted: number
}

/** Milliseconds. */
const TICK = 4
const PATIENCE = 30_000

class Lane {
  #socket: Socket | undefined
  #text = ''
  #id = 0
  #began = 0
  #timer: NodeJS.Timeout | undefined
  #session: string | undefined
  #opening = false
  #isEnding = false
  #onFirst: (() => void) | undefined
  #busy = false
  readonly #head: string

  constructor(
    readonly port: number,
    readonly client: LoadClient,
    token: string,
    /** Is told how a request ended, and the milliseconds of a call that was accepted. */
    readonly done: (kind: string, ms: number | undefined) => void,
  ) {
    this.#head = [
      ` ${client.path} HTTP/1.1`,
      'host: 127.0.0.1',
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      `authorization: Bearer ${token}`,
      `mcp-protocol-version: ${client.session ?? '2026-07-28'}`,
      '',
    ].join('\r\n')
  }

  /** Sends a request that does not count. */
  first(): Promise<void> {
    return new Promise((resolve) => {
      this.#onFirst = resolve
      this.send()
    })
  }

  send(): void {
    this.#busy = true
    this.#began = performance.now()
    const { client } = this
    this.#opening = client.session !== undefined && this.#session === undefined
    const call = { name: client.tool, arguments: { id: 42 }, ...(!client.session && { _meta: META }) }
    const open = {
      protocolVersion: client.session,
      capabilities: {},
      clientInfo: { name: 'soak', version: '1' },
    }
    const [method, params] = this.#opening ? ['initialize', open] : ['tools/call', call]
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++this.#id, method, params })
    const mirrored = client.session ? '' : `mcp-method: tools/call\r\nmcp-name: ${client.tool}\r\n`
    this.#write('POST', mirrored, body)
  }

  /** Ends the session and closes the connection. */
  end(): void {
    if (this.#session === undefined) return void this.#socket?.destroy()
    this.#busy = true
    this.#isEnding = true
    this.#write('DELETE')
  }

  #write(method: string, headers = '', body = ''): void {
    const session = this.#session === undefined ? '' : `mcp-session-id: ${this.#session}\r\n`
    const head = `${method}${this.#head}${session}${headers}content-length: ${body.length}\r\n\r\n`
    this.#connected().write(head + body)
    this.#timer = setTimeout(() => this.#fail('timeout'), PATIENCE)
  }

  #connected(): Socket {
    if (this.#socket) return this.#socket
    const socket = connect(this.port, '127.0.0.1').setNoDelay().setEncoding('latin1')
    socket.on('data', (text) => this.#take(String(text)))
    socket.on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message))
    socket.on('close', () => {
      if (this.#socket !== socket) return
      this.#fail('closed without an answer')
      this.#socket = undefined
    })
    this.#socket = socket
    return socket
  }

  #fail(kind: string): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.destroy()
    if (this.#busy) this.#settle(kind)
  }

  #take(text: string): void {
    this.#text += text
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#text.slice(0, end).toLowerCase()
    const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1]
    const isWhole = length
      ? this.#text.length >= end + 4 + Number(length)
      : /\r\ntransfer-encoding: chunked/.test(head)
        ? this.#text.endsWith('0\r\n\r\n')
        : true
    if (!isWhole) return
    const session = /\r\nmcp-session-id: ([^\r]+)/i.exec(this.#text.slice(0, end))?.[1]
    const body = this.#text.slice(end + 4)
    if (/\r\nconnection: close/.test(head)) {
      const socket = this.#socket
      this.#socket = undefined
      socket?.destroy()
    }
    this.#settle(kindOf(head, body), session)
  }

  #settle(kind: string, session?: string): void {
    clearTimeout(this.#timer)
    this.#text = ''
    this.#busy = false
    if (this.#isEnding) return void this.#socket?.destroy()
    const ms = performance.now() - this.#began
    if (this.#opening && kind === '200') this.#session = session
    const first = this.#onFirst
    this.#onFirst = undefined
    if (first) first()
    else this.done(kind, !this.#opening && kind.startsWith('200') ? ms : undefined)
  }
}

function kindOf(head: string, body: string): string {
  const status = head.slice(9, 12)
  if (status === '200' && body.includes('"isError":true')) return '200 isError'
  if (status === '200') return body.includes('"result"') ? '200' : `200 without result: ${body.slice(0, 200)}`
  const isLater = status === '429' || status === '503'
  if (isLater) return head.includes('\r\nretry-after: ') ? status : `${status} without Retry-After`
  return `${status}: ${body.slice(0, 200)}`
}

/** All connections of one load. */
class Run {
  readonly #answers: Record<string, number> = {}
  readonly #times: number[] = []
  readonly #lanes: Lane[] = []
  readonly #idle: Lane[] = []
  readonly #perClient: number[]
  #began = 0
  #sent = 0
  #unsent = 0
  #open = 0
  #next = 0
  #isOver = false
  #isDone = false
  #finish: (result: LoadResult) => void = () => {}

  constructor(readonly load: Load) {
    this.#perClient = load.clients.map(() => 0)
  }

  /**
   * Opens the connections and sessions, a few at a time: Node accepts one connection in each turn of its event loop, so that in
   * overload there would be a measurement of that.
   */
  async connect(): Promise<void> {
    for (;;) {
      const lanes = Array.from({ length: 16 }, () => this.#newLane()).filter((lane) => lane !== undefined)
      if (!lanes.length) break
      await Promise.all(lanes.map((lane) => lane.first()))
      this.#idle.push(...lanes)
    }
    this.#began = performance.now()
  }

  result(): Promise<LoadResult> {
    const { rate, connections, seconds } = this.load
    if (rate === undefined) for (let i = 0; i < connections; i++) this.#go()
    let due = 0
    const ticker = setInterval(() => {
      const elapsed = performance.now() - this.#began
      this.#isOver = elapsed >= seconds * 1000
      if (this.#isOver) clearInterval(ticker)
      else if (rate !== undefined)
        for (; due < (elapsed * rate) / 1000; due++) if (!this.#go()) this.#unsent++
      this.#endIfDone()
    }, TICK)
    return new Promise((resolve) => {
      this.#finish = resolve
    })
  }

  /** Sends a request by the connection that waited for the longest time, so that all kinds of clients call. */
  #go(): boolean {
    const lane = this.#idle.shift()
    if (!lane) return false
    this.#sent++
    this.#open++
    lane.send()
    return true
  }

  #newLane(): Lane | undefined {
    const { clients, connections } = this.load
    if (this.#lanes.length >= connections) return undefined
    const at = clients.findIndex((_, i) => this.#hasRoom((this.#next + i) % clients.length))
    if (at < 0) return undefined
    const chosen = (this.#next + at) % clients.length
    this.#next = chosen + 1
    const client = clients[chosen]!
    const token = client.tokens[this.#perClient[chosen]!++ % client.tokens.length]!
    const lane = new Lane(this.load.port, client, token, (kind, ms) => this.#settled(lane, kind, ms))
    this.#lanes.push(lane)
    return lane
  }

  #hasRoom(client: number): boolean {
    return this.#perClient[client]! < (this.load.clients[client]!.most ?? Number.POSITIVE_INFINITY)
  }

  #settled(lane: Lane, kind: string, ms: number | undefined): void {
    this.#answers[kind] = (this.#answers[kind] ?? 0) + 1
    if (ms !== undefined) this.#times.push(ms)
    this.#open--
    this.#idle.push(lane)
    if (!this.#isOver && this.load.rate === undefined) this.#go()
    this.#endIfDone()
  }

  #endIfDone(): void {
    if (!this.#isOver || this.#open > 0 || this.#isDone) return
    this.#isDone = true
    for (const lane of this.#lanes) lane.end()
    const times = this.#times.sort((a, b) => a - b)
    const seconds = (performance.now() - this.#began) / 1000
    const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
    this.#finish({
      sent: this.#sent,
      unsent: this.#unsent,
      answers: this.#answers,
      p50: at(0.5),
      p99: at(0.99),
      most: times.at(-1) ?? 0,
      accepted: times.length / seconds,
    })
  }
}

process.on('message', async (load: Load) => {
  const run = new Run(load)
  await run.connect()
  process.send!(await run.result())
})
console.log('ready')
