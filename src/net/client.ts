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

/** Maximum bytes of a body that is read in one piece. */
const MAX_AT_ONCE = 64 * 1024
/** Milliseconds to wait for the end of a short body before it is streamed. */
const SOON = 20
/** Methods that may be sent again without harm. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Sends HTTP requests, and keeps connections alive between them: one pool for each origin and way to connect. */
export class HttpClient {
  /** The longest unused first. */
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
   * Sends one request and reads its answer whole, within the time and the size given. Repeats a safe request if its
   * kept-alive connection was closed, unless it may be sent only once.
   * @throws NetFault
   */
  fetch(request: HttpRequest, options: FetchOptions): Promise<HttpAnswer> {
    const { begin = performance.now() } = options
    return new Promise((resolve, reject) =>
      this.fetchOnce(request, options, begin, resolve, (fault) => {
        if (options.once || !SAFE.has(request.method) || !isStaleSocket(fault)) return reject(fault)
        // The pool has to see first that the socket is gone.
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
    // The socket keeps the process alive.
    const deadline = setTimeout(() => exchange.expire(), left).unref()
    exchange.start(() => this.poolOf(request.origin, options))
  }

  /**
   * Sends one request. Never rejects; aborting the signal also ends a body that is on its way, with an error.
   * @param failed makes the result of a fault
   * @param answered makes the result of an answer. Default the answer itself
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

  /** Waits for the requests under way, then closes the connections. */
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
    // A stream may be silent for as long as it likes; an answer that is read whole has a time-out of its own.
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

/** Asks for the name of the configuration, whatever the `Host` of a request is. */
function named(connect: buildConnector.connector, tls: ClientTls | undefined): buildConnector.connector {
  const servername = tls?.serverName
  return servername === undefined ? connect : (how, callback) => connect({ ...how, servername }, callback)
}

/** Adds to an error of a socket what undici adds only to some: how much the socket had received. */
function counting(connect: buildConnector.connector): buildConnector.connector {
  return (how, callback) =>
    connect(how, (...made) => {
      const [, socket] = made
      socket?.once('error', (error) => Object.assign(error, { socket: { bytesRead: socket.bytesRead } }))
      callback(...made)
    })
}

/** One request over connections of its own, as `HttpClient.fetch`. @throws NetFault */
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
 * Asks a proxy for tunnels. A proxy that hangs up looks to undici like an upstream that closed a kept-alive socket:
 * it would ask again at once, a thousand times a second, until the time of the call is over.
 * @param judge rejects where the host may not be reached
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

/** The socket had served an answer before, and was closed without a byte of this one. */
function isStaleSocket(error: unknown): boolean {
  if (!(error instanceof NetFault) || error.kind !== 'closed' || error.answered) return false
  const { socket } = error.cause as { socket?: { bytesRead?: number } | null }
  // Of the socket of a proxy, or of a Unix socket, a reset tells nothing.
  return socket ? (socket.bytesRead ?? 0) > 0 : error.code !== 'UND_ERR_SOCKET'
}

/** Result of an exchange. */
interface Outcome {
  /** @param body a stream only where the options set no `maxSize` */
  resolve(head: Omit<HttpAnswer, 'body'>, body: Buffer | Readable): void
  reject(fault: NetFault): void
  /** Runs once, before either, or when a body that is on its way ends. */
  over?(): void
}

/**
 * One request and its answer; undici's handlers in one object, leaner than its own `request`, which makes a stream of
 * every body.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private head: Omit<HttpAnswer, 'body'> | undefined
  private stream: Readable | undefined
  /** Content encodings of the body, if any; all other code sees decoded bytes. */
  private encodings: string[] | undefined
  private decoder: Decoder | undefined
  private readonly chunks: Buffer[] = []
  private size = 0
  /** `received`: all of the body is here, encoded as it may be; `over`: nothing more comes of the exchange. */
  private state: 'open' | 'received' | 'over' = 'open'
  /** Ends with the exchange. */
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly request: HttpRequest,
    private readonly options: OpenOptions & Partial<Pick<FetchOptions, 'timeout' | 'maxSize'>>,
    private readonly outcome: Outcome,
  ) {}

  /** The time for the whole answer is over. */
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
    // An address or a header that cannot be sent throws.
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

  /** Ends the exchange, once. */
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

  /** A request that still waits for a connection has no controller yet: it is aborted when it gets one. */
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

  /** Runs after the bytes that arrived with the headers; usually the body has ended. */
  private passUnlessSoon(isLarge: boolean): void {
    if (this.state !== 'open' || this.stream) return
    if (isLarge || this.isEvents) this.begin()
    else this.timer = setTimeout(() => this.begin(), SOON)
  }

  /** The body was silent. A reader that is slow is waited for. */
  private silent(): void {
    const { stream } = this
    if (stream && stream.readableLength >= stream.readableHighWaterMark) this.timer?.refresh()
    else {
      const { origin } = this.request
      const clause = `no response from ${origin} for ${timeText(this.options.bodyTimeout ?? 0)}`
      this.fail(new NetFault('timeout', origin, clause))
    }
  }

  /** Hands the body on as it comes. */
  private begin(): void {
    if (this.stream || this.state === 'over') return
    clearTimeout(this.timer)
    const { bodyTimeout } = this.options
    if (bodyTimeout && !this.isEvents) this.timer = setTimeout(() => this.silent(), bodyTimeout)
    this.stream = this.bodyOf(this.controller!)
    this.outcome.resolve(this.head!, this.stream)
    if (this.size > 0) this.stream.push(Buffer.concat(this.chunks.splice(0)))
  }

  /** Prepares to undo an encoding; false: it cannot be undone. */
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
        // A response that has ended cannot be aborted, and need not be.
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

  /** Takes bytes of the body, decoded. @param from who waits when the reader does */
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

  /** The body is complete, and decoded. */
  private end(): void {
    if (!this.head || this.state === 'over') return
    const { reservation, maxSize } = this.options
    if (maxSize === undefined && !this.stream && reservation && !reservation.add(this.size)) {
      this.fail(this.fault('no-room'))
      return
    }
    const { state } = this
    this.settle()
    // Bytes after the end of the encoded data are not read.
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
 * Pools of connections, loaded for the first request: commands that only look at configurations make none. The rest of
 * undici, such as `fetch`, takes 14 MiB on Node 24, 8 on Node 20. Its version is pinned, as these paths are its own.
 */
const pools = () => ({
  Pool: load('undici/lib/dispatcher/pool.js') as Undici['Pool'],
  buildConnector: load('undici/lib/core/connect.js') as Undici['buildConnector'],
})

/** Agents of proxies, which ask pools for methods that the package as a whole adds to them. */
const agents = () => load('undici') as Pick<Undici, 'ProxyAgent' | 'Socks5ProxyAgent'>

/** A header whose bytes are UTF-8, as browsers read a location; undici has one character for each byte. */
function utf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}
