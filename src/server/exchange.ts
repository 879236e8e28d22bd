import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import { peerOf } from '../access/peer.ts'
import type { Peer, Stay } from '../access/stay.ts'
import type { Arrival, StepRequest } from '../access/steps.ts'
import type { Route } from '../build/types.ts'
import {
  type Exchange,
  headersOf,
  isGone,
  onGone,
  type Replicas,
  type RequestHeaders,
  readBody,
} from '../mcp/index.ts'
import type { Endpoint } from './endpoints.ts'

/** Node's own request and response, where there are any. */
export interface NodePair {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

export function nodePair(c: Context): NodePair {
  return (c.env as NodePair | undefined) ?? {}
}

/** A request of which nothing is known yet but for whom it is. */
export class HttpArrival implements Arrival {
  readonly headers: RequestHeaders

  constructor(protected readonly c: Context) {
    this.headers = headersOf(c)
  }

  get host(): string | undefined {
    return this.headers.host ?? new URL(this.c.req.url).host
  }
  get rawHeaders(): readonly string[] | undefined {
    return nodePair(this.c).incoming?.rawHeaders
  }
}

/** One request to an endpoint of a route, from the first step to the end of its response. */
export class HttpExchange extends HttpArrival implements Exchange, StepRequest {
  readonly method: string
  readonly path: string
  readonly requestId: string
  readonly replyHeaders: Record<string, string>
  caller: string | undefined = undefined
  forwarded = false
  stay!: Stay
  private ends: (() => void)[] | undefined
  private others: Replicas | undefined

  /** @param replicas makes what the request knows of other replicas; absent where the gateway is one process */
  constructor(
    c: Context,
    readonly route: Route,
    private readonly endpoint: Endpoint,
    private readonly replicasOf?: (exchange: HttpExchange) => Replicas,
  ) {
    super(c)
    this.method = c.req.method
    this.path = c.req.path
    this.requestId = requestIdOf(this.headers['x-request-id'])
    this.replyHeaders = { 'x-request-id': this.requestId }
  }

  get allow(): string {
    return this.endpoint.allow
  }
  get open(): boolean {
    return this.endpoint.open ?? false
  }
  get maxBody(): number {
    return this.route.maxRequestSize
  }
  get address(): string | undefined {
    return nodePair(this.c).incoming?.socket?.remoteAddress
  }
  get peer(): Peer {
    const socket = this.forwarded ? undefined : nodePair(this.c).incoming?.socket
    return peerOf(socket, this.headers, this.stay)
  }
  get replicas(): Replicas | undefined {
    this.others ??= this.replicasOf?.(this)
    return this.others
  }

  readonly query = () => this.c.req.query()

  target(): string {
    const { pathname, search } = new URL(this.c.req.url)
    return pathname + search
  }
  body() {
    return readBody(this.c, this.maxBody, this.stay.hold)
  }
  isGone() {
    return isGone(this.c)
  }
  onGone(listener: () => void) {
    return onGone(this.c, listener)
  }
  onEnd(listener: () => void): void {
    const { outgoing } = nodePair(this.c)
    if (!outgoing?.once) {
      this.ends ??= []
      this.ends.push(listener)
    } else if (outgoing.destroyed) queueMicrotask(listener)
    else outgoing.once('close', listener)
  }
  /** Without a response of Node's nothing tells when it is out: it is over when there is one. */
  settle(response: Response | Promise<Response>): void {
    const { ends } = this
    if (!ends) return
    const end = () => {
      for (const listener of ends) listener()
    }
    Promise.resolve(response).then(end, end)
  }
}

/** The caller's `X-Request-Id` when it is a sane one, else a new one. */
function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.:/+=-]{1,128}$/.test(given)
    ? given
    : `${PROCESS}-${(++requests).toString(36)}`
}

/** Request ids are this process's own name and a counter. */
const PROCESS = randomBytes(6).toString('base64url')
let requests = 0
