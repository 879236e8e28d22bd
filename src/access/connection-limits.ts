import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { ServerLimits } from '../config/model.ts'
import { memory } from './memory.ts'
import { bump, networkOf } from './quota.ts'
import { countRefusal, RETRY_AFTER } from './refusals.ts'

/** Maximum headers of a request; a reader that drops some would read a different request. */
const MAX_HEADERS = 200
/** Milliseconds between checks of slow writes. */
const SWEEP = 1_000
/** Connections beyond a limit that still get a response. */
const SURPLUS = 100

/** TLS options, and whether client certificates are required. */
type TlsServerOptions = Pick<
  TlsOptions,
  'cert' | 'key' | 'ca' | 'minVersion' | 'requestCert' | 'rejectUnauthorized'
>

export interface Guarded {
  server: Server | TlsServer
  /** Open connections with their unfinished responses, and some finished ones. */
  connections: ReadonlyMap<Socket, readonly ServerResponse[]>
}

/** Counts open connections, in all and by address; one address may have half of them. */
export class ConnectionCount {
  private open = 0
  private readonly addresses = new Map<string, number>()

  /** @param surplus connections beyond a limit that still get a response */
  constructor(
    private readonly limits: Pick<ServerLimits, 'maxConnections'>,
    private readonly surplus: number,
  ) {}

  /** Counts one more. @returns whether it is beyond a limit, and too far beyond to be answered */
  add(address: string): 'within' | 'surplus' | 'beyond' {
    const { maxConnections } = this.limits
    const maxConnectionsPerAddress = Math.ceil(maxConnections / 2)
    this.open++
    const ofAddress = bump(this.addresses, address, 1)
    const over = Math.max(this.open - maxConnections, ofAddress - maxConnectionsPerAddress)
    if (over <= 0) return 'within'
    countRefusal(this.open > maxConnections ? 'maxConnections' : 'maxConnectionsPerAddress')
    return over > this.surplus ? 'beyond' : 'surplus'
  }

  remove(address: string): void {
    this.open--
    bump(this.addresses, address, -1)
  }
}

/** Delivery progress of a client. */
interface Progress {
  delivered: number
  since: number
}

/**
 * An HTTP server with limits: connections in all and by address; time for headers, for a whole request, and for reading
 * responses; number of headers.
 * @param tls options of an HTTPS server
 * @param counted shared counter, if connections are counted elsewhere
 */
export function guardedServer(
  listener: RequestListener,
  limits: ServerLimits,
  tls?: TlsServerOptions,
  counted?: WeakSet<Socket>,
): Guarded {
  const { writeTimeout } = limits
  const connections = new Map<Socket, ServerResponse[]>()
  const surplus = counted ?? new WeakSet<Socket>()
  const progress = new Map<Socket, Progress>()

  const answer: RequestListener = (request, response) => {
    const { socket } = request
    const responses = connections.get(socket)
    if (responses) {
      forgetThoseOut(responses)
      responses.push(response)
    }
    if (surplus.has(socket)) refuse(response, 503, 'The gateway has too many connections; try again later')
    else if (request.rawHeaders.length > 2 * MAX_HEADERS)
      refuse(response, 431, `The request has more than ${MAX_HEADERS} headers`)
    else listener(request, response)
  }
  const server = newServer(answer, limits, tls)

  if (!counted) countConnections(server, connectionCount(limits, tls !== undefined), surplus)
  // With TLS it is another socket, available after the handshake.
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, [])
    socket.once('close', () => {
      connections.delete(socket)
      progress.delete(socket)
    })
  })

  function sweep(): void {
    const now = performance.now()
    const stallTimeout = memory.pressed ? Math.min(2_000, writeTimeout) : writeTimeout
    for (const [socket, responses] of connections) {
      // Finished responses would be retained until the next request.
      forgetThoseOut(responses)
      if (socket.writableLength === 0) {
        progress.delete(socket)
        continue
      }
      const delivered = deliveredBytes(socket)
      const known = progress.get(socket)
      if (!known || known.delivered !== delivered) progress.set(socket, { delivered, since: now })
      else if (now - known.since >= stallTimeout) {
        countRefusal('writeTimeout')
        socket.destroy()
      }
    }
  }
  const sweeper = setInterval(sweep, Math.min(SWEEP, writeTimeout)).unref()
  server.once('close', () => clearInterval(sweeper))
  return { server, connections }
}

export function isOut({ writableFinished, destroyed }: ServerResponse): boolean {
  return writableFinished || destroyed
}

/** Removes finished responses from the front, as responses finish in order. */
function forgetThoseOut(responses: ServerResponse[]): void {
  while (responses.length && isOut(responses[0]!)) responses.shift()
}

/** Refuses a request and closes its connection. */
function refuse(response: ServerResponse, status: 431 | 503, message: string): void {
  const later = status === 503 && { 'retry-after': RETRY_AFTER }
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...later })
  response.end(JSON.stringify({ error: status, message }))
}

/** @param tls before the handshake, a client cannot be answered */
export function connectionCount(limits: ServerLimits, tls: boolean): ConnectionCount {
  return new ConnectionCount(limits, tls ? 0 : SURPLUS)
}

function countConnections(
  server: Server | TlsServer,
  count: ConnectionCount,
  surplus: WeakSet<Socket>,
): void {
  server.on('connection', (socket: Socket) => {
    const address = networkOf(socket.remoteAddress ?? '')
    const place = count.add(address)
    socket.once('close', () => count.remove(address))
    if (place === 'beyond') socket.destroy()
    else if (place === 'surplus') surplus.add(socket)
  })
}

function newServer(
  answer: RequestListener,
  { requestTimeout }: ServerLimits,
  tls: TlsServerOptions | undefined,
): Server | TlsServer {
  const options = {
    headersTimeout: Math.min(10_000, requestTimeout),
    requestTimeout,
    connectionsCheckingInterval: SWEEP,
    // Longer than the idle time of common load balancers, so that they close first.
    keepAliveTimeout: 75_000,
  }
  const server = tls
    ? createTlsServer({ ...options, ...tls, handshakeTimeout: options.headersTimeout }, answer)
    : createServer(options, answer)
  // Headers are counted here; Node would silently drop those beyond its own limit.
  server.maxHeadersCount = 0
  return server
}

/** Bytes accepted by the operating system; Node's own timeout reads the same counts. */
function deliveredBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as {
    _handle?: { bytesWritten: number; writeQueueSize: number } | null
  }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
