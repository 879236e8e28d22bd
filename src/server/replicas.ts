import type { Step } from '../access/steps.ts'
import { type Cluster, HOP_HEADER, PROOF_HEADER } from '../cluster/index.ts'
import {
  errorText,
  event,
  type Hub,
  INTERNAL_ERROR,
  type Replicas,
  type RequestId,
  rpcError,
} from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { HttpExchange } from './exchange.ts'

/** Recognizes requests of other replicas, and gives their responses the proof that they ask for. */
export function replicaStep(cluster: Cluster): Step {
  return {
    name: 'replica',
    run(request) {
      const hop = request.headers[HOP_HEADER]
      const proof = hop === undefined ? undefined : cluster.receive(hop, request.method, request.target())
      if (proof === undefined) return undefined
      request.forwarded = true
      request.replyHeaders[PROOF_HEADER] = proof
      return undefined
    },
  }
}

export interface ReplicaParts {
  cluster: Cluster
  hub: Hub
  log: Logger
  onForward: OnForward
}

/** Is called with the outcome of every request that was forwarded. */
export type OnForward = (prefix: string, outcome: 'ok' | 'gone' | 'failed') => void

/** The other replicas for one request. */
export function replicasOf(exchange: HttpExchange, { cluster, hub, log, onForward }: ReplicaParts): Replicas {
  const { address } = cluster
  const bound = { prefix: exchange.route.prefix, caller: exchange.caller }
  const isOwn = (owner: string) => owner === address

  async function forward(owner: string, body?: string, id: RequestId | null = null) {
    if (isOwn(owner)) return undefined
    const line = { owner, prefix: bound.prefix, requestId: exchange.requestId }
    if (exchange.forwarded) {
      log.warn(line, 'request forwarded to the wrong replica; check its `advertise` address')
      return undefined
    }
    const gone = new AbortController()
    const abort = () => gone.abort()
    const unwatch = exchange.onGone(abort)
    const stream = { write: () => {}, close: abort, ...(exchange.method === 'GET' && { drain: abort }) }
    hub.keep(stream)
    const ended = () => {
      unwatch()
      hub.drop(stream)
    }
    const failure = (message: string) => ({ code: INTERNAL_ERROR, message })
    const outcome = await cluster.forward(owner, {
      method: exchange.method,
      target: exchange.target(),
      headers: { ...exchange.headers, 'x-request-id': exchange.requestId },
      body,
      signal: gone.signal,
      onEnd: ended,
      lastWords: id === null ? '' : `\n\n${event(errorText(id, failure(BROKEN)))}`,
    })
    if (!('body' in outcome && outcome.body instanceof ReadableStream)) ended()
    if ('gone' in outcome) {
      onForward(bound.prefix, 'gone')
      log.warn({ ...line, reason: outcome.gone }, 'session lost: its replica has ended')
      return undefined
    }
    if ('fault' in outcome) {
      onForward(bound.prefix, 'failed')
      if (!gone.signal.aborted) log.warn({ ...line, reason: outcome.fault }, 'no response from a replica')
      const { lost } = outcome
      return rpcError(exchange, lost ? 502 : 503, failure(lost ? BROKEN : AWAY), id)
    }
    onForward(bound.prefix, 'ok')
    log.debug({ ...line, status: outcome.status }, 'forwarded')
    const { status, headers } = outcome
    return new Response(outcome.body, { status, headers })
  }

  return {
    issue: (ticket) => cluster.issue(ticket, bound),
    read: (id) => cluster.read(id, bound),
    seal: (state) => cluster.seal(state, bound),
    unseal: (state) => cluster.unseal(state, bound),
    isOwn,
    forward,
  }
}

const BROKEN = 'The replica that holds this session closed the connection; the call was not repeated'
const AWAY = 'The replica that holds this session is unreachable; try again'
