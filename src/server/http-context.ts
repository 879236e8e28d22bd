import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Context } from 'hono'
import { OPEN_CORS } from '../access/cors.ts'
import type { ForwardedConnection } from '../access/forwarded-connection.ts'
import type { HttpResponse } from '../access/http-response.ts'
import type { Identity } from '../access/identity.ts'
import { peerOf } from '../access/peer.ts'
import type { Permissions } from '../access/permissions.ts'
import type { Meter } from '../access/rate.ts'
import type { Peer, RequestLease } from '../access/request-lease.ts'
import type { CorsPolicy, RequestHead, StepRequest } from '../access/steps.ts'
import type { Route } from '../build/types.ts'
import {
  headersOf,
  type KeptResults,
  nodePair,
  type Replicas,
  type RequestContext,
  type RequestHeaders,
  readBody,
  type SessionRegistry,
  sessionIdOf,
  UnservedSpans,
} from '../mcp/index.ts'

/** A request before its route is known. */
export class HttpRequestHead implements RequestHead {
  readonly headers: RequestHeaders

  constructor(protected readonly c: Context) {
    this.headers = headersOf(c)
  }

  get host(): string | undefined {
    const { incoming } = nodePair(this.c)
    if (incoming?.url?.startsWith('/')) return this.headers.host
    // A target with a host takes precedence over the header (RFC 9112, 3.2.2).
    return incoming ? new URL(this.c.req.url).host : (this.headers.host ?? new URL(this.c.req.url).host)
  }
  /** HTTP/1.0 allows requests without a Host header, which browsers never send. */
  get isNameless(): boolean {
    return this.host === undefined
  }
  get rawHeaders(): readonly string[] | undefined {
    return nodePair(this.c).incoming?.rawHeaders
  }
}

/** A URL with a plain path and no query, which needs no parsing. */
const PLAIN_URL = /^https?:\/\/[^/?#]+(\/[\w./-]*)$/

/** Reads headers of trusted proxies, given the connection's address. */
export interface Proxies {
  /** The path below which they serve the gateway, from `X-Forwarded-Prefix`. */
  prefix(header: string | undefined, address: string | undefined): string
  /** The address of the client, from `X-Forwarded-For`. */
  client(header: string | undefined, address: string | undefined): string | undefined
}

/** A path of a prefix. */
export interface Endpoint {
  /** Methods, for `Allow`. */
  allow: string
  /** Whether it is public, even if the route authenticates callers. */
  open?: boolean
  serve(context: HttpContext, registry: SessionRegistry): Promise<HttpResponse>
}

/** One request to an endpoint of a route, from the first step to the end of its response. */
export class HttpContext extends HttpRequestHead implements RequestContext, StepRequest {
  readonly method: string
  readonly path: string
  readonly requestId: string
  readonly replyHeaders: Record<string, string>
  identity: Identity | undefined = undefined
  forwarded = false
  clientConnection: ForwardedConnection | undefined = undefined
  listing: 'list' | 'search' | undefined = undefined
  lease!: RequestLease
  meter: Meter | undefined = undefined
  readonly unserved: UnservedSpans | undefined
  private ends: (() => void)[] | undefined
  private others: Replicas | undefined
  private client: string | undefined
  private permitted: Permissions | undefined

  /**
   * @param registry sessions and kept results of all callers
   * @param replicasOf creates the request's view of other replicas; absent: a single process
   * @param proxies reads headers of proxies; absent: none is trusted
   */
  constructor(
    c: Context,
    readonly route: Route,
    readonly endpoint: Endpoint,
    private readonly registry: SessionRegistry,
    private readonly replicasOf?: (context: HttpContext) => Replicas,
    private readonly proxies?: Proxies,
  ) {
    super(c)
    this.method = c.req.method
    this.path = c.req.path
    this.requestId = requestIdOf(this.headers['x-request-id'])
    this.replyHeaders = { 'x-request-id': this.requestId }
    const { tracer } = route.callLog
    this.unserved = tracer && new UnservedSpans(tracer, route.callLog, this)
  }

  get caller(): string | undefined {
    return this.identity?.caller
  }
  get callerName(): string | undefined {
    return this.identity?.callerName
  }
  get allow(): string {
    return this.endpoint.allow
  }
  get open(): boolean {
    return this.endpoint.open ?? false
  }
  get cors(): CorsPolicy | undefined {
    return this.open ? OPEN_CORS : this.route.cors
  }
  get permissions(): Permissions | undefined {
    const { authorize } = this.route
    if (authorize) this.permitted ??= authorize(this)
    return this.permitted
  }
  private get otherEnd(): string | undefined {
    return this.clientConnection ? this.clientConnection.address : otherEndOf(this.c)
  }
  /** Read only after the `replica` step, which decides whether the request was forwarded. */
  get address(): string | undefined {
    this.client ??= clientAddress(this.otherEnd, this.headers, this.proxies)
    return this.client
  }
  get socket(): Socket | undefined {
    return nodePair(this.c).incoming?.socket
  }
  /** The path below which a proxy serves the gateway. */
  get outerPrefix(): string {
    return this.proxies?.prefix(this.headers['x-forwarded-prefix'], this.otherEnd) ?? ''
  }
  get peer(): Peer {
    const socket = this.forwarded ? undefined : nodePair(this.c).incoming?.socket
    return peerOf(socket, this.headers, this.lease)
  }
  get replicas(): Replicas | undefined {
    this.others ??= this.replicasOf?.(this)
    return this.others
  }

  /** Only the gateway itself can pass it with a request. */
  get onRecorded(): RequestContext['onRecorded'] {
    return (this.c.env as Pick<RequestContext, 'onRecorded'> | undefined)?.onRecorded
  }

  get results(): KeptResults | undefined {
    return this.route.keepsResults ? this.registry.results : undefined
  }

  sessionId(): string | undefined {
    // The older transport sends it in the query.
    const named = this.headers['mcp-session-id'] ?? this.parameter('sessionId')
    const { registry, route } = this
    return named === undefined ? undefined : sessionIdOf(this, { registry, prefix: route.prefix }, named)
  }

  readonly query = () => this.c.req.query()

  parameter(name: string): string | undefined {
    return this.c.req.query(name)
  }

  target(): string {
    const { url } = this.c.req
    const [, path] = PLAIN_URL.exec(url) ?? []
    if (path !== undefined) return path
    const { pathname, search } = new URL(url)
    return pathname + search
  }
  cut() {
    nodePair(this.c).outgoing?.destroy()
  }
  body() {
    return readBody(this.c, this.route.maxRequestSize, this.lease.reservation)
  }
  isGone(): boolean {
    const { outgoing } = nodePair(this.c)
    return outgoing ? outgoing.destroyed && !outgoing.writableFinished : this.c.req.raw.signal.aborted
  }
  onGone(listener: () => void): () => void {
    const { outgoing } = nodePair(this.c)
    if (outgoing)
      return this.onEnd(() => {
        if (!outgoing.writableFinished) listener()
      })
    const { signal } = this.c.req.raw
    signal.addEventListener('abort', listener, { once: true })
    return () => signal.removeEventListener('abort', listener)
  }
  onEnd(listener: () => void): () => void {
    const { outgoing } = nodePair(this.c)
    if (outgoing?.destroyed) {
      queueMicrotask(listener)
      return () => {}
    }
    // A single `close` listener serves all of them.
    if (!this.ends) outgoing?.on('close', () => this.end())
    this.ends ??= []
    const { ends } = this
    ends.push(listener)
    return () => {
      const index = ends.lastIndexOf(listener)
      if (index >= 0) ends.splice(index, 1)
    }
  }
  private end(): void {
    for (const listener of this.ends?.splice(0) ?? []) listener()
  }
  /** Called with the response. Without a Node response its end is unknown, so the request ends now. */
  settle(status: number): void {
    // A forwarded request is reported by the replica that received it.
    if (!this.forwarded) this.unserved?.end(status)
    if (!nodePair(this.c).outgoing) this.end()
  }
}

export function otherEndOf(c: Context): string | undefined {
  return nodePair(c).incoming?.socket?.remoteAddress
}

/** The client's IP address: of the connection, or as reported by a trusted proxy. */
export function clientAddress(
  otherEnd: string | undefined,
  headers: RequestHeaders,
  proxies: Proxies | undefined,
): string | undefined {
  return proxies ? proxies.client(headers['x-forwarded-for'], otherEnd) : otherEnd
}

/** The caller's `X-Request-Id` if valid, or a new id. */
function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:/+=-]{1,128}$/.test(given) ? given : newRequestId()
}

export function newRequestId(): string {
  return `${PROCESS}-${(++requests).toString(36)}`
}

/** Request ids consist of a process name and a counter. */
const PROCESS = randomBytes(6).toString('base64url')
let requests = 0
