import { isUtf8 } from 'node:buffer'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type { buildConnector, Dispatcher, Pool, ProxyAgent } from 'undici'
import { unexpected } from '../telemetry/unexpected.ts'
import { timeText } from '../text/index.ts'
import { createDecoder, type Decoder, encodingsOf } from './decode.ts'
import { errorCode, NetFault, netFault } from './faults.ts'
import { guardedConnector, guardedLookup, judgeBehindProxy, judgeLiteral } from './guard.ts'
import type { ClientTls } from './tls-files.ts'
import type {
  AnswerHeaders,
  ConnectOptions,
  FetchOptions,
  HttpAnswer,
  HttpClientOptions,
  HttpRequest,
  OpenOptions,
  ProxyAddress,
  StreamedAnswer,
} from './types.ts'

/** Maximum bytes of a body that is passed on in one piece. */
const MAX_AT_ONCE = 64 * 1024
/** Milliseconds to wait for the end of a short body, before it becomes a stream. */
const SOON = 20
/** Methods that are safe to repeat. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Sends HTTP requests over kept-alive connections: one pool for each origin and its `ConnectOptions`. */
export class HttpClient {
  /** Pools in order of their last use, oldest first. */
  private readonly pools = new Map<string, Dispatcher>()
  private readonly draining = new Set<Promise<void>>()
  private readonly options: Required<Omit<HttpClientOptions, 'reservation' | 'socketPath'>> &
    HttpClientOptions

  constructor(options: HttpClientOptions = {}) {
    this.options = {
      connectTimeout: 10_000,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxSockets: 1_200,
      maxOrigins: 256,
      ...options,
    }
  }

  /**
   * Sends one request and reads its whole answer within the limits of time and size. Repeats a safe request if its
   * kept-alive connection was closed, unless `once` is set.
   * @throws NetFault
   */
  fetch(request: HttpRequest, options: FetchOptions): Promise<HttpAnswer> {
    const { begin = performance.now() } = options
    return new Promise((resolve, reject) =>
      this.fetchOnce(request, options, begin, resolve, (fault) => {
        if (options.once || !SAFE.has(request.method) || !isStaleSocket(fault)) return reject(fault)
        // The pool must notice the closed socket first.
        queueMicrotask(() => this.fetchOnce(request, options, begin, resolve, reject))
      }),
    )
  }

  private fetchOnce(
    request: HttpRequest,
    options: FetchOptions,
    begin: number,
    resolve: (answer: HttpAnswer) => void,
    reject: (fault: NetFault) => void,
  ): void {
    const exchange = new Exchange(request, options, {
      resolve: (head, body) => resolve(Object.assign(head, { body: body as Buffer })),
      reject,
      over: () => clearTimeout(deadline),
    })
    const left = begin + options.timeout - performance.now()
    // The timer need not keep the process alive, because the socket does.
    const deadline = setTimeout(() => exchange.expire(), left).unref()
    exchange.start(() => this.poolOf(request.origin, options))
  }

  /**
   * Sends one request. Never rejects. Aborting the signal also ends an incomplete body, with an error.
   * @param failed converts a fault to the result
   * @param answered converts an answer to the result. Default: the answer itself
   */
  open<Failed>(
    request: HttpRequest,
    options: OpenOptions,
    failed: (fault: NetFault) => Failed,
    answered: (answer: StreamedAnswer) => StreamedAnswer | Promise<StreamedAnswer | Failed> = (answer) =>
      answer,
  ): Promise<StreamedAnswer | Failed> {
    return new Promise((resolve) => {
      const own = options.reservation ? undefined : this.options.reservation?.()
      const exchange = new Exchange(
        request,
        { bodyTimeout: this.options.bodyTimeout, ...options, reservation: own ?? options.reservation },
        {
          resolve: ({ status, headers }, body) =>
            resolve(
              answered(
                Buffer.isBuffer(body)
                  ? { status, headers, whole: body, body: NOTHING }
                  : { status, headers, whole: undefined, body },
              ),
            ),
          reject: (fault) => resolve(failed(fault)),
          over: () => own?.free(),
        },
      )
      exchange.start(() => this.poolOf(request.origin, options))
    })
  }

  /** Ends every request and connection. */
  async close(): Promise<void> {
    const open = [...this.pools.values()]
    this.pools.clear()
    await Promise.all(open.map((pool) => pool.destroy()))
  }

  /** Waits for running requests, then closes the connections. */
  async drain(): Promise<void> {
    for (const [key, pool] of this.pools) this.retire(key, pool)
    await Promise.all(this.draining)
  }

  private poolOf(origin: string, options: ConnectOptions): Dispatcher {
    const { connectTimeout = this.options.connectTimeout, proxy, tls, guard } = options
    const key = `${origin} ${connectTimeout} ${guard ? guard.key : ''}${proxy || tls ? keyOf(options) : ''}`
    const pool = this.pools.get(key) ?? this.connect(origin, connectTimeout, options)
    this.pools.delete(key)
    const [oldest] = this.pools.size >= this.options.maxOrigins ? this.pools : []
    if (oldest) this.retire(...oldest)
    this.pools.set(key, pool)
    return pool
  }

  private retire(key: string, pool: Dispatcher): void {
    this.pools.delete(key)
    const closed = pool
      .close()
      .catch(unexpected('the end of a connection pool'))
      .finally(() => this.draining.delete(closed))
    this.draining.add(closed)
  }

  private connect(origin: string, timeout: number, { proxy, tls, guard }: ConnectOptions): Dispatcher {
    const { buildConnector, Pool } = pools()
    const { maxSockets, headersTimeout, socketPath } = this.options
    // A stream may be silent for any time; `fetch` has its own time-out.
    const options = { connections: maxSockets, headersTimeout, bodyTimeout: 0 }
    if (proxy) return proxied(origin, options, { timeout, proxy, tls, guard })
    if (socketPath) return new Pool(origin, { ...options, connect: { timeout, socketPath } })
    const build = (how: buildConnector.BuildOptions) =>
      counting(
        named(buildConnector({ timeout, ...secured(tls), ...how } as buildConnector.BuildOptions), tls),
      )
    const connect = guard ? guardedConnector(build, origin, guard) : build({})
    return new Pool(origin, { ...options, connect })
  }
}

/** Key of a proxy and a TLS identity, so that different identities never share a connection. */
function keyOf({ proxy, tls }: ConnectOptions): string {
  return ` ${JSON.stringify([proxy ? [proxyUrl(proxy), proxy.username, proxy.password] : null, tls?.key])}`
}

function secured(tls: ClientTls | undefined): object {
  return tls ? { secureContext: tls.context, ...(tls.serverName && { servername: tls.serverName }) } : {}
}

/** Sends the configured server name in TLS, not the `Host` of a request. */
function named(connect: buildConnector.connector, tls: ClientTls | undefined): buildConnector.connector {
  const servername = tls?.serverName
  return servername === undefined ? connect : (how, callback) => connect({ ...how, servername }, callback)
}

/** Adds the received bytes of the socket to each of its errors; undici adds them only to some. */
function counting(connect: buildConnector.connector): buildConnector.connector {
  return (how, callback) =>
    connect(how, (...made) => {
      const [, socket] = made
      socket?.once('error', (error) => Object.assign(error, { socket: { bytesRead: socket.bytesRead } }))
      callback(...made)
    })
}

/** `HttpClient.fetch` with a client for this request alone. @throws NetFault */
export async function fetchOnce(
  request: HttpRequest,
  options: FetchOptions,
  connection: Pick<HttpClientOptions, 'socketPath'> = {},
): Promise<HttpAnswer> {
  const http = new HttpClient(connection)
  try {
    return await http.fetch(request, options)
  } finally {
    await http.close()
  }
}

function proxyUrl({ type, host, port }: ProxyAddress): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return `${type}://${name}:${port}`
}

interface ProxyConnectOptions extends ConnectOptions {
  /** Milliseconds to connect to the proxy. */
  timeout: number
  proxy: ProxyAddress
}

/** @throws NetFault */
function proxied(
  origin: string,
  options: Pool.Options,
  { timeout, proxy, tls, guard }: ProxyConnectOptions,
): Dispatcher {
  const uri = proxyUrl(proxy)
  if (guard) {
    judgeLiteral(guard.forProxies, uri)
    judgeLiteral(guard, origin)
  }
  const { username, password = '' } = proxy
  const toProxy = { timeout, ...(guard && { lookup: guardedLookup(guard.forProxies, uri) }) }
  const judge = () => (guard ? judgeBehindProxy(guard, origin) : undefined)
  const { ProxyAgent, Socks5ProxyAgent } = agents()
  if (proxy.type !== 'socks5')
    return new ProxyAgent({
      ...options,
      uri,
      proxyTls: toProxy,
      ...(tls && { requestTls: { timeout, ...secured(tls) } }),
      ...(username !== undefined && { token: basicLogin(username, password) }),
      clientFactory: tunnelsTo(origin, judge),
    } as ProxyAgent.Options)
  const dial = pools().buildConnector(toProxy as buildConnector.BuildOptions)
  const connect: buildConnector.connector = (how, callback) => {
    Promise.resolve(judge()).then(
      () => dial(how, callback),
      (fault: NetFault) => callback(fault, null),
    )
  }
  const login = username === undefined ? {} : { username, password }
  return new Socks5ProxyAgent(uri, {
    ...options,
    connect,
    ...login,
    ...(tls && { requestTls: secured(tls) }),
  })
}

/** RFC 7617. */
function basicLogin(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

/**
 * Opens tunnels through a proxy. undici mistakes a proxy that hangs up for an upstream that closed a kept-alive socket,
 * and would retry a thousand times a second until the call's time-out.
 * @param judge rejects if connections to the host are denied
 */
function tunnelsTo(origin: string, judge: () => Promise<void> | undefined) {
  return (proxy: URL, options: object): Dispatcher => {
    const { Pool } = pools()
    const pool = new Pool(proxy, options)
    const connect = pool.connect.bind(pool) as (
      how: Dispatcher.ConnectOptions,
    ) => Promise<Dispatcher.ConnectData>
    return Object.assign(pool, {
      connect: async (how: Dispatcher.ConnectOptions) => {
        await judge()
        const data = await connect(how).catch((error: unknown) => {
          throw errorCode(error) === 'UND_ERR_SOCKET' ? NetFault.of('proxy', origin) : error
        })
        if (data.statusCode === 200) return data
        data.socket.on('error', () => {}).destroy()
        throw NetFault.of('proxy', origin, `status ${data.statusCode}`)
      },
    }) as Dispatcher
  }
}

/** Whether a socket that had served an answer was closed before any byte of this one. */
function isStaleSocket(error: unknown): boolean {
  if (!(error instanceof NetFault) || error.kind !== 'closed' || error.answered) return false
  const { socket } = error.cause as { socket?: { bytesRead?: number } | null }
  // A reset without a socket comes from a proxy or a Unix socket, and does not show whether it had served.
  return socket ? (socket.bytesRead ?? 0) > 0 : error.code !== 'UND_ERR_SOCKET'
}

/** Result of an exchange. */
interface Outcome {
  /** @param body a stream only if the options have no `maxSize` */
  resolve(head: Omit<HttpAnswer, 'body'>, body: Buffer | Readable): void
  reject(fault: NetFault): void
  /** Called once, at the end of the exchange: before `resolve` or `reject`, or after a streamed body. */
  over?(): void
}

/**
 * One request and its answer. Implements undici's handlers, because undici's own `request` makes a stream of every
 * body, which is slower.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private head: Omit<HttpAnswer, 'body'> | undefined
  private stream: Readable | undefined
  /** Content encodings of the body, if any. Other code sees only decoded bytes. */
  private encodings: string[] | undefined
  private decoder: Decoder | undefined
  private readonly chunks: Buffer[] = []
  private size = 0
  /** `received`: the body has arrived, but may not be decoded yet; `over`: the exchange has ended. */
  private state: 'open' | 'received' | 'over' = 'open'
  /** Cleared when the exchange ends. */
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly request: HttpRequest,
    private readonly options: OpenOptions & Partial<Pick<FetchOptions, 'timeout' | 'maxSize'>>,
    private readonly outcome: Outcome,
  ) {}

  /** Fails the exchange when the time for the whole answer is over. */
  expire(): void {
    const clause = `${this.origin} did not respond completely within ${timeText(this.options.timeout ?? 0)}`
    this.fail(new NetFault('timeout', this.origin, clause))
  }

  get origin(): string {
    return this.request.origin
  }

  start(dispatcher: () => Dispatcher): void {
    const { signal } = this.options
    if (signal?.aborted) {
      this.cancel()
      return
    }
    signal?.addEventListener('abort', this.cancel)
    const { origin, path, headers, body } = this.request
    const method = this.request.method as Dispatcher.HttpMethod
    // An invalid address or header throws.
    try {
      dispatcher().dispatch({ origin, path, method, headers, body: body ?? null }, this)
    } catch (error) {
      this.fail(error)
    }
  }

  private readonly cancel = (): void => this.fail(this.fault('cancelled'))

  private fault(kind: 'cancelled' | 'no-room'): NetFault {
    return NetFault.of(kind, this.origin)
  }

  /** Ends the exchange; false if it had already ended. */
  private settle(): boolean {
    if (this.state === 'over') return false
    this.state = 'over'
    this.options.signal?.removeEventListener('abort', this.cancel)
    clearTimeout(this.timer)
    this.decoder?.input.destroy()
    this.decoder?.output.destroy()
    this.outcome.over?.()
    return true
  }

  /** Ends the exchange with a fault. A request without a connection has no controller yet: `onRequestStart` aborts it. */
  fail(error: unknown): void {
    if (!this.settle()) return
    const fault = netFault(error, this.origin, this.options.proxy !== undefined)
    if (this.stream) {
      this.stream.destroy(fault)
      return
    }
    fault.uncertain = this.controller !== undefined && !SAFE.has(this.request.method)
    fault.answered = this.head !== undefined
    this.outcome.reject(fault)
    this.controller?.abort(fault)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.state === 'over') controller.abort(this.fault('cancelled'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: AnswerHeaders,
    reason = '',
  ): void {
    if (status < 200) return
    const { filter, maxSize } = this.options
    if (typeof headers.location === 'string') headers.location = utf8(headers.location)
    this.head = { status, reason, headers: filter?.headers(headers) ?? headers }
    if (headers['content-encoding'] !== undefined && !this.decodes(headers['content-encoding'])) return
    // The decoded length is unknown until the body arrives.
    const length = this.encodings ? 0 : Number(headers['content-length'] ?? 0)
    if (maxSize === undefined) queueMicrotask(() => this.passUnlessSoon(length > MAX_AT_ONCE))
    else if (length > maxSize && this.request.method !== 'HEAD') this.fail(this.tooLarge())
  }

  private get isEvents(): boolean {
    return String(this.head?.headers['content-type']).startsWith('text/event-stream')
  }

  /** Runs after the bytes that arrived with the headers, which usually include the whole body. */
  private passUnlessSoon(isLarge: boolean): void {
    if (this.state !== 'open' || this.stream) return
    if (isLarge || this.isEvents) this.begin()
    else this.timer = setTimeout(() => this.begin(), SOON)
  }

  /** Fails a body that was silent for too long, unless a slow reader is the cause. */
  private silent(): void {
    const { stream } = this
    if (stream && stream.readableLength >= stream.readableHighWaterMark) this.timer?.refresh()
    else {
      const { origin } = this.request
      const clause = `no response from ${origin} for ${timeText(this.options.bodyTimeout ?? 0)}`
      this.fail(new NetFault('timeout', origin, clause))
    }
  }

  /** Passes the body on as a stream. */
  private begin(): void {
    if (this.stream || this.state === 'over') return
    clearTimeout(this.timer)
    const { bodyTimeout } = this.options
    if (bodyTimeout && !this.isEvents) this.timer = setTimeout(() => this.silent(), bodyTimeout)
    this.stream = this.bodyOf(this.controller!)
    this.outcome.resolve(this.head!, this.stream)
    if (this.size > 0) this.stream.push(Buffer.concat(this.chunks.splice(0)))
  }

  /** Prepares decoding; false if an encoding is not supported. */
  private decodes(encoding: string | string[]): boolean {
    try {
      const encodings = encodingsOf(encoding, this.origin)
      if (encodings.length) this.encodings = encodings
    } catch (error) {
      this.fail(error)
      return false
    }
    const { 'content-encoding': _, 'content-length': __, ...headers } = this.head!.headers
    this.head!.headers = headers
    return true
  }

  private bodyOf(controller: Dispatcher.DispatchController): Readable {
    const body = new Readable({
      read: () => {
        this.timer?.refresh()
        const from = this.decoder?.output ?? controller
        from.resume()
      },
      destroy: (error, done) => {
        // A response that has ended cannot be aborted.
        if (!body.readableEnded) {
          this.settle()
          controller.abort(error ?? this.fault('cancelled'))
        }
        done(error)
      },
    })
    return body
  }

  onResponseData(controller: Dispatcher.DispatchController, received: Buffer): void {
    if (this.state === 'over') return
    if (this.stream) this.timer?.refresh()
    if (!this.encodings) {
      this.take(received, controller)
      return
    }
    this.decoder ??= this.decode(this.encodings, received, controller)
    if (!this.decoder.input.write(received)) controller.pause()
  }

  private decode(
    encodings: readonly string[],
    first: Buffer,
    controller: Dispatcher.DispatchController,
  ): Decoder {
    const decoder = createDecoder(encodings, first, this.origin, (fault) => this.fail(fault))
    decoder.input.on('drain', () => controller.resume())
    decoder.output.on('data', (chunk: Buffer) => this.take(chunk, decoder.output))
    decoder.output.on('end', () => this.end())
    return decoder
  }

  /** Takes decoded bytes of the body. @param from their source, which pauses while the reader is slow */
  private take(received: Buffer, from: { pause(): void }): void {
    if (this.state === 'over') return
    const { filter, reservation, maxSize = Number.POSITIVE_INFINITY } = this.options
    const chunk = filter?.push(received) ?? received
    if (this.stream) {
      if (!this.stream.push(chunk)) from.pause()
      return
    }
    this.size += chunk.length
    this.chunks.push(chunk)
    if (this.size > maxSize) this.fail(this.tooLarge())
    else if (this.options.maxSize === undefined) {
      if (this.size > MAX_AT_ONCE) this.begin()
    } else if (reservation && !reservation.add(chunk.length)) this.fail(this.fault('no-room'))
  }

  private tooLarge(): NetFault {
    return Object.assign(NetFault.of('too-large', this.origin), { status: this.head?.status })
  }

  onResponseEnd(): void {
    if (this.state === 'open') this.state = 'received'
    if (this.decoder) this.decoder.input.end()
    else this.end()
  }

  /** Ends the exchange with a complete, decoded body. */
  private end(): void {
    if (!this.head || this.state === 'over') return
    const { reservation, maxSize } = this.options
    if (maxSize === undefined && !this.stream && reservation && !reservation.add(this.size)) {
      this.fail(this.fault('no-room'))
      return
    }
    const { state } = this
    this.settle()
    // The body continues after the encoded data; the rest is not read.
    if (state === 'open') this.controller?.abort(this.fault('cancelled'))
    const { head, chunks, stream } = this
    const held = this.options.filter?.end()
    if (held?.length) (stream ?? chunks).push(held)
    if (stream) stream.push(null)
    else this.outcome.resolve(head, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(error)
  }
}

const NOTHING = Readable.from([])

type Undici = typeof import('undici')

const load = createRequire(import.meta.url)

/**
 * Connection pools, loaded at the first request, which many commands never make. The rest of undici, such as `fetch`,
 * takes 14 MiB on Node 24, 8 on Node 20. The version is pinned, because these paths are private.
 */
const pools = () => ({
  Pool: load('undici/lib/dispatcher/pool.js') as Undici['Pool'],
  buildConnector: load('undici/lib/core/connect.js') as Undici['buildConnector'],
})

/** Agents of proxies. They need the whole package, which adds methods to the pools. */
const agents = () => load('undici') as Pick<Undici, 'ProxyAgent' | 'Socks5ProxyAgent'>

/** Decodes a header as UTF-8, as browsers read a location; undici makes a character of each byte. */
function utf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}
