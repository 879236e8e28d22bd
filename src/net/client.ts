import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { unexpected } from '../telemetry/unexpected.ts'
import { timeText } from '../text/index.ts'
import { errorCode, NetFault, netFault } from './faults.ts'
import type {
  AnswerFilter,
  ByteHold,
  FetchOptions,
  HttpAnswer,
  HttpClientOptions,
  HttpRequest,
  OpenOptions,
  ProxyAddress,
  Route,
  StreamedAnswer,
} from './types.ts'

/** Loaded for the first request: commands that only look at configurations make none. */
const undici = () => createRequire(import.meta.url)('undici') as typeof import('undici')

/** An answer that says how long it is, and is not longer than this, is read in one piece. Bytes. */
const MAX_WHOLE = 1024 * 1024
/** Methods that may be sent again without harm. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Connections to one origin. */
interface Pool {
  dispatcher: Dispatcher
  /** When it was last used, by the client's own clock. */
  used: number
}

/** Sends HTTP requests, and keeps connections alive between them: one pool for each origin, connect time-out and proxy. */
export class HttpClient {
  private readonly pools = new Map<string, Pool>()
  private readonly draining = new Set<Promise<void>>()
  private clock = 0
  private readonly options: Required<Omit<HttpClientOptions, 'hold'>> & HttpClientOptions

  constructor(options: HttpClientOptions = {}) {
    this.options = {
      connectTimeout: 10_000,
      headersTimeout: 0,
      maxSockets: 1_200,
      maxOrigins: 256,
      ...options,
    }
  }

  /**
   * Sends one request and reads its answer whole, within the time and the size given. What can be sent twice without
   * harm is, where a connection that was kept alive turns out to be closed.
   * @throws NetFault
   */
  async fetch(request: HttpRequest, options: FetchOptions): Promise<HttpAnswer> {
    const { begin = performance.now() } = options
    try {
      return await this.fetchOnce(request, options, begin)
    } catch (error) {
      if (!SAFE.has(request.method) || !isStaleSocket(error)) throw error
    }
    return await this.fetchOnce(request, options, begin)
  }

  private fetchOnce(request: HttpRequest, options: FetchOptions, begin: number): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const left = options.timeout - (performance.now() - begin)
      const exchange = new WholeExchange(request, options, left, resolve, reject)
      exchange.start(() => this.poolOf(request.origin, options))
    })
  }

  /**
   * Sends one request. Never rejects; aborting the signal also ends a body that is on its way, with an error.
   * @param failed makes the result of a fault
   */
  open<Failed>(
    request: HttpRequest,
    options: OpenOptions,
    failed: (fault: NetFault) => Failed,
  ): Promise<StreamedAnswer | Failed> {
    return new Promise((resolve) => {
      const hold = options.hold ?? this.options.hold?.()
      const exchange = new StreamedExchange(request, options, hold, resolve, (fault) =>
        resolve(failed(fault)),
      )
      exchange.start(() => this.poolOf(request.origin, options))
    })
  }

  /** Ends every request and connection. */
  async close(): Promise<void> {
    const open = [...this.pools.values()]
    this.pools.clear()
    await Promise.all(open.map(({ dispatcher }) => dispatcher.destroy()))
  }

  /** Waits for the requests under way, then closes the connections. */
  async drain(): Promise<void> {
    for (const [key, pool] of this.pools) this.retire(key, pool)
    await Promise.all(this.draining)
  }

  private poolOf(origin: string, { connectTimeout = this.options.connectTimeout, proxy }: Route): Dispatcher {
    const key = `${origin} ${connectTimeout}${proxy ? ` ${proxyUrl(proxy)}` : ''}`
    let pool = this.pools.get(key)
    if (!pool) {
      if (this.pools.size >= this.options.maxOrigins) this.makeRoom()
      pool = { dispatcher: this.connect(origin, connectTimeout, proxy), used: 0 }
      this.pools.set(key, pool)
    }
    pool.used = ++this.clock
    return pool.dispatcher
  }

  private makeRoom(): void {
    let oldest: [string, Pool] | undefined
    for (const entry of this.pools) if (!oldest || entry[1].used < oldest[1].used) oldest = entry
    if (oldest) this.retire(...oldest)
  }

  private retire(key: string, { dispatcher }: Pool): void {
    this.pools.delete(key)
    const closed = dispatcher
      .close()
      .catch(unexpected('the end of a connection pool'))
      .finally(() => this.draining.delete(closed))
    this.draining.add(closed)
  }

  private connect(origin: string, timeout: number, proxy: ProxyAddress | undefined): Dispatcher {
    const { buildConnector, Pool, ProxyAgent, Socks5ProxyAgent } = undici()
    const { maxSockets, headersTimeout } = this.options
    // A stream may be silent for as long as it likes; an answer that is read whole has a time-out of its own.
    const options = { connections: maxSockets, headersTimeout, bodyTimeout: 0 }
    if (!proxy) return new Pool(origin, { ...options, connect: { timeout } })
    const uri = proxyUrl(proxy)
    if (proxy.type !== 'socks5')
      return new ProxyAgent({ ...options, uri, proxyTls: { timeout }, clientFactory: tunnelClient })
    return new Socks5ProxyAgent(uri, { ...options, connect: buildConnector({ timeout }) })
  }
}

function proxyUrl({ type, host, port }: ProxyAddress): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return `${type}://${name}:${port}`
}

/**
 * Asks a proxy for tunnels. A proxy that hangs up looks to undici like an upstream that closed a kept-alive socket:
 * it would ask again at once, a thousand times a second, until the time of the call is over.
 */
function tunnelClient(proxy: URL, options: object): Dispatcher {
  const { Pool } = undici()
  const pool = new Pool(proxy, options)
  const connect = pool.connect.bind(pool) as (
    how: Dispatcher.ConnectOptions,
  ) => Promise<Dispatcher.ConnectData>
  return Object.assign(pool, {
    connect: async (how: Dispatcher.ConnectOptions) => {
      try {
        return await connect(how)
      } catch (error) {
        if (errorCode(error) !== 'UND_ERR_SOCKET') throw error
        throw NetFault.of('proxy', how.origin ? String(how.origin) : 'the host')
      }
    },
  }) as Dispatcher
}

/** The socket had served an answer before, and was closed without a byte of this one. */
function isStaleSocket(error: unknown): boolean {
  if (!(error instanceof NetFault) || error.kind !== 'closed' || error.answered) return false
  const { socket } = error.cause as { socket?: { bytesRead?: number } | null }
  return error.code !== 'UND_ERR_SOCKET' || (socket?.bytesRead ?? 0) > 0
}

/** One request and what comes of it; undici's handlers in one object. */
abstract class Exchange implements Dispatcher.DispatchHandler {
  protected controller: Dispatcher.DispatchController | undefined
  protected answered = false
  protected over = false
  protected chunks: Buffer[] | undefined
  protected size = 0

  constructor(
    protected readonly request: HttpRequest,
    protected readonly route: FetchOptions | OpenOptions,
    protected readonly hold: ByteHold | undefined,
    private readonly reject: (fault: NetFault) => void,
  ) {}

  start(dispatcher: () => Dispatcher): void {
    const { signal } = this.route
    if (signal?.aborted) {
      this.cancel()
      return
    }
    signal?.addEventListener('abort', this.cancel)
    const { origin, path, headers, body } = this.request
    const method = this.request.method as Dispatcher.HttpMethod
    // An address or a header that cannot be sent throws.
    try {
      dispatcher().dispatch({ origin, path, method, headers, body: body ?? null }, this)
    } catch (error) {
      this.fail(error)
    }
  }

  private readonly cancel = (): void => this.fail(this.fault('cancelled'))

  protected fault(kind: 'cancelled' | 'no-room' | 'too-large'): NetFault {
    return NetFault.of(kind, this.request.origin)
  }

  /** Ends the exchange, once. */
  protected settle(): boolean {
    if (this.over) return false
    this.over = true
    this.route.signal?.removeEventListener('abort', this.cancel)
    return true
  }

  /** A request that still waits for a connection has no controller yet: it is aborted when it gets one. */
  protected fail(error: unknown): void {
    if (!this.settle()) return
    const fault = netFault(error, this.request.origin, this.route.proxy !== undefined)
    fault.uncertain = this.controller !== undefined && !SAFE.has(this.request.method)
    fault.answered = this.answered
    this.reject(fault)
    this.controller?.abort(fault)
  }

  protected collect(chunk: Buffer): void {
    if (this.hold && !this.hold.add(chunk.length)) this.fail(this.fault('no-room'))
    else if (!this.over) this.chunks?.push(chunk)
  }

  protected collected(): Buffer {
    const chunks = this.chunks ?? []
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.over) controller.abort(this.fault('cancelled'))
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(error)
  }

  abstract onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: StreamedAnswer['headers'],
    reason?: string,
  ): void
  abstract onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void
  abstract onResponseEnd(): void
}

class WholeExchange extends Exchange {
  private answer: HttpAnswer | undefined
  private readonly timer: NodeJS.Timeout

  constructor(
    request: HttpRequest,
    private readonly options: FetchOptions,
    left: number,
    private readonly resolve: (answer: HttpAnswer) => void,
    reject: (fault: NetFault) => void,
  ) {
    super(request, options, options.hold, reject)
    const late = () => {
      const clause = `${request.origin} did not respond completely within ${timeText(options.timeout)}`
      this.fail(new NetFault('timeout', request.origin, clause))
    }
    this.timer = setTimeout(late, Math.max(1, left))
  }

  protected override settle(): boolean {
    clearTimeout(this.timer)
    return super.settle()
  }

  onResponseStart(_controller: unknown, status: number, headers: HttpAnswer['headers'], reason = ''): void {
    if (status < 200) return
    this.answered = true
    this.answer = { status, reason, headers, body: EMPTY }
    this.chunks = []
    const isLarge = Number(headers['content-length']) > this.options.maxSize
    if (isLarge && this.request.method !== 'HEAD') this.fail(this.tooLarge())
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.size += chunk.length
    if (this.size > this.options.maxSize) this.fail(this.tooLarge())
    else this.collect(chunk)
  }

  onResponseEnd(): void {
    if (!this.answer || !this.settle()) return
    this.answer.body = this.collected()
    this.resolve(this.answer)
  }

  private tooLarge(): NetFault {
    const fault = this.fault('too-large')
    fault.status = this.answer?.status
    return fault
  }
}

/** Leaner than undici's own `request`, which makes a stream of every body. */
class StreamedExchange extends Exchange {
  private answer: StreamedAnswer | undefined
  private body: Readable | undefined
  private readonly filter: AnswerFilter | undefined
  private readonly ownsHold: boolean

  constructor(
    request: HttpRequest,
    options: OpenOptions,
    hold: ByteHold | undefined,
    private readonly resolve: (answer: StreamedAnswer) => void,
    reject: (fault: NetFault) => void,
  ) {
    super(request, options, hold, reject)
    this.filter = options.filter
    this.ownsHold = options.hold === undefined
  }

  protected override settle(): boolean {
    if (!super.settle()) return false
    if (this.ownsHold) this.hold?.free()
    return true
  }

  protected override fail(error: unknown): void {
    if (!this.body) super.fail(error)
    else if (this.settle() && !this.body.destroyed)
      this.body.destroy(netFault(error, this.request.origin, this.route.proxy !== undefined))
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: StreamedAnswer['headers'],
  ): void {
    if (status < 200) return
    this.answered = true
    const length = Number(headers['content-length'] ?? (status === 204 ? 0 : Number.NaN))
    const shown = this.filter?.headers(headers) ?? headers
    this.answer = { status, headers: shown, whole: undefined, body: NOTHING }
    if (length <= MAX_WHOLE) {
      this.chunks = []
      return
    }
    this.body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        // A response that has ended cannot be aborted, and need not be.
        if (!this.body?.readableEnded) controller.abort(error ?? this.fault('cancelled'))
        done(error)
      },
    })
    this.answer.body = this.body
    this.resolve(this.answer)
  }

  onResponseData(controller: Dispatcher.DispatchController, received: Buffer): void {
    const chunk = this.filter?.push(received) ?? received
    if (this.chunks) this.collect(chunk)
    else if (this.body && !this.body.push(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    if (!this.settle()) return
    const held = this.filter?.end()
    if (held?.length) (this.chunks ?? this.body)?.push(held)
    if (this.body) this.body.push(null)
    else if (this.answer) this.resolve({ ...this.answer, whole: this.collected() })
  }
}

const EMPTY = Buffer.alloc(0)
const NOTHING = Readable.from([])
