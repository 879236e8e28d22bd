/** A network in memory: hosts, exchanges of HTTP over it, and what stands for undici's pool and for child processes. */
import childProcess, { type ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Readable, Writable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { clock } from './clock.ts'

/** Delays of a history, drawn from its seed. */
export type Latency = () => number

/** Something with an address: it can be away, or stand still, while what is sent to it or by it waits. */
export class Host {
  isUp = true
  private frozen = false
  private held: (() => void)[] = []
  readonly exchanges = new Set<Exchange>()

  constructor(
    readonly origin: string,
    readonly latency: Latency,
    readonly serve: (exchange: Exchange) => void,
  ) {}

  /** A way to or from the host, on which everything arrives in order. */
  wire(): (arrive: () => void) => void {
    const queue: (() => void)[] = []
    let last = 0
    const arrive = () => {
      if (this.frozen) this.held.push(arrive)
      else queue.shift()!()
    }
    return (then) => {
      queue.push(then)
      last = Math.max(last, clock.now + this.latency())
      clock.after(last - clock.now, arrive)
    }
  }

  freeze(): void {
    this.frozen = true
  }

  thaw(): void {
    this.frozen = false
    for (const arrive of this.held.splice(0)) clock.after(0, arrive)
  }

  /** Every connection breaks. */
  cut(which: (exchange: Exchange) => boolean = () => true): void {
    for (const exchange of [...this.exchanges]) if (which(exchange)) exchange.break('UND_ERR_SOCKET')
  }
}

export interface HttpMessage {
  method: string
  path: string
  headers: Record<string, string>
  body: string
}

/** Who has sent a request. */
export interface Requester {
  head(status: number, headers: Record<string, string>): void
  data(text: string): void
  end(): void
  /** @param code of the system or of undici */
  error(code: string): void
}

/** A socket as far as the gateway looks at it. */
export class Socket extends EventEmitter {
  destroyed = false
  constructor(readonly remoteAddress: string) {
    super()
    this.setMaxListeners(0)
  }
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }
}

/** One request to a host and its response. */
export class Exchange {
  /** Neither side hears more of the other. */
  over = false
  answered = false
  private isBroken = false
  private readonly up: (arrive: () => void) => void
  private readonly down: (arrive: () => void) => void
  private onGone: (() => void)[] = []

  constructor(
    readonly host: Host,
    readonly message: HttpMessage,
    readonly socket: Socket,
    private readonly requester: Requester,
  ) {
    this.up = host.wire()
    this.down = host.wire()
    if (!host.isUp) {
      clock.after(host.latency(), () => this.fail('ECONNREFUSED'))
      return
    }
    host.exchanges.add(this)
    this.up(() => {
      if (!this.over && !this.isBroken) host.serve(this)
    })
  }

  /** The requester goes away. */
  abort(): void {
    if (this.over) return
    this.over = true
    this.up(() => this.gone())
  }

  /** For the host: runs when nobody waits for the response any more. */
  whenGone(then: () => void): void {
    this.onGone.push(then)
  }

  respond(status: number, headers: Record<string, string>): void {
    this.answered = true
    this.down(() => {
      if (!this.over) this.requester.head(status, headers)
    })
  }

  write(text: string): void {
    this.down(() => {
      if (!this.over) this.requester.data(text)
    })
  }

  end(): void {
    this.host.exchanges.delete(this)
    this.down(() => {
      if (this.over) return
      this.over = true
      this.requester.end()
    })
  }

  /** A whole response. */
  answer(status: number, headers: Record<string, string> = {}, body = ''): void {
    this.respond(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) })
    if (body) this.write(body)
    this.end()
  }

  /** The connection breaks. */
  break(code: string): void {
    this.isBroken = true
    this.gone()
    this.down(() => this.fail(code))
  }

  private gone(): void {
    this.host.exchanges.delete(this)
    for (const then of this.onGone.splice(0)) then()
  }

  private fail(code: string): void {
    if (this.over) return
    this.over = true
    this.requester.error(code)
  }
}

/** What of the outer world a history replaces; set by the world that is running. */
export const outer: {
  host(origin: string): Host | undefined
  spawn(command: string, args: readonly string[]): Child
} = {
  host: () => undefined,
  spawn: (command) => {
    throw new Error(`nothing starts ${command} here`)
  },
}

/** In place of undici's. */
class MemoryPool {
  private readonly open = new Set<() => void>()
  private onIdle: (() => void) | undefined
  private readonly socket = new Socket('10.0.0.1')

  constructor(
    private readonly origin: string,
    private readonly limits: { headersTimeout?: number } = {},
  ) {}

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const host = outer.host(this.origin)
    let over = false
    const { headersTimeout } = this.limits
    const late = () => fail(withCode('UND_ERR_HEADERS_TIMEOUT'))
    const timer = headersTimeout ? clock.after(headersTimeout, late) : undefined
    const end = () => {
      over = true
      timer?.close()
      this.open.delete(destroy)
      if (!this.open.size) this.onIdle?.()
    }
    const fail = (error: Error) => {
      if (over) return
      end()
      exchange?.abort()
      handler.onResponseError?.(controller, error)
    }
    const controller = { abort: fail, pause() {}, resume() {} } as unknown as Dispatcher.DispatchController
    const destroy = () => fail(withCode('UND_ERR_DESTROYED'))
    this.open.add(destroy)
    let exchange: Exchange | undefined
    if (!host) {
      clock.after(1, () => fail(withCode('ENOTFOUND')))
      return true
    }
    handler.onRequestStart?.(controller, {})
    if (over) return true
    const { path, method, headers, body } = options
    const message = { method, path, headers: { ...(headers as object) }, body: String(body ?? '') }
    exchange = new Exchange(host, message, this.socket, {
      head: (status, given) => {
        timer?.close()
        handler.onResponseStart?.(controller, status, given, '')
      },
      data: (text) => handler.onResponseData?.(controller, Buffer.from(text)),
      end: () => {
        end()
        handler.onResponseEnd?.(controller, {})
      },
      error: (code) => fail(withCode(code)),
    })
    return true
  }

  async close(): Promise<void> {
    if (this.open.size)
      await new Promise<void>((resolve) => {
        this.onIdle = resolve
      })
  }

  async destroy(): Promise<void> {
    for (const destroy of [...this.open]) destroy()
  }
}

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** A child process: lines in, lines out. */
export class Child extends EventEmitter {
  static count = 0
  readonly pid = 100_000_000 + ++Child.count
  exitCode: number | null = null
  signalCode: string | null = null
  readonly stdin: Writable
  readonly stdout = new Readable({ read() {} })
  readonly stderr = new Readable({ read() {} })
  private readonly out: (arrive: () => void) => void
  private rest = ''

  /** @param take gets each line; @param onEnd hears of the end of its input and of SIGTERM */
  constructor(
    host: Host,
    private readonly take: (line: string) => void,
    private readonly onEnd: (signal?: string) => void,
  ) {
    super()
    const into = host.wire()
    this.out = host.wire()
    this.stdin = new Writable({
      decodeStrings: false,
      write: (text, _encoding, done) => {
        into(() => this.read(String(text)))
        done()
      },
      final: (done) => {
        into(() => this.isAlive && this.onEnd())
        done()
      },
    })
    children.set(this.pid, this)
  }

  get isAlive(): boolean {
    return this.exitCode === null && this.signalCode === null
  }

  say(line: string): void {
    this.out(() => {
      if (this.isAlive) this.stdout.push(`${line}\n`)
    })
  }

  exit(code: number | null, signal: string | null = null): void {
    if (!this.isAlive) return
    this.exitCode = code
    this.signalCode = signal
    children.delete(this.pid)
    for (const stream of [this.stdout, this.stderr]) stream.push(null)
    this.emit('exit', code, signal)
    clock.after(0, () => this.emit('close', code, signal))
  }

  signal(name: string): void {
    if (name === 'SIGKILL') this.exit(null, name)
    else this.onEnd(name)
  }

  private read(text: string): void {
    const lines = (this.rest + text).split('\n')
    this.rest = lines.pop() as string
    for (const line of lines) if (this.isAlive && line) this.take(line)
  }
}

/** Children that live, by their id. */
export const children = new Map<number, Child>()

const require = createRequire(import.meta.url)
// As src/net/client.ts asks for it.
const pool = 'undici/lib/dispatcher/pool.js'
require(pool)
require.cache[require.resolve(pool)]!.exports = MemoryPool
childProcess.spawn = ((command: string, args: readonly string[]) =>
  outer.spawn(command, args) as unknown as ChildProcess) as typeof childProcess.spawn
syncBuiltinESMExports()
const kill = process.kill.bind(process)
process.kill = (pid, signal) => {
  const child = children.get(-pid)
  if (child) child.signal(String(signal))
  return child ? true : kill(pid, signal)
}
