import { HttpResponse } from '../access/http-response.ts'
import { outerOf, outerText } from '../access/outer-connection.ts'
import type { Step } from '../access/steps.ts'
import {
  type Cluster,
  FROM_HEADER,
  HOP_HEADER,
  isMarkOf,
  MEMBERS_HEADER,
  markOf,
  OUTER_HEADER,
  PROOF_HEADER,
  type Reach,
  within,
} from '../cluster/index.ts'
import { isObject, type JsonObject, parseVerbatim, stringify } from '../json/index.ts'
import {
  CLIENT_CAPABILITIES,
  errorText,
  event,
  type Hub,
  INTERNAL_ERROR,
  PROTOCOL_VERSION,
  type Replicas,
  type RequestId,
  rpcError,
  STATELESS_REVISIONS,
} from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { seldom } from '../telemetry/seldom.ts'
import { mirrored } from '../upstream/index.ts'
import type { HttpExchange } from './exchange.ts'

/** Recognizes requests of other replicas, and gives their responses the proof that they ask for. */
export function replicaStep(cluster: Cluster): Step {
  return {
    name: 'replica',
    run(request) {
      const hop = request.headers[HOP_HEADER]
      const received = hop === undefined ? undefined : cluster.receive(hop, request.method, request.target())
      if (received === undefined) return undefined
      request.forwarded = true
      const outer = received.by === 'worker' ? request.headers[OUTER_HEADER] : undefined
      if (outer !== undefined) request.outer = outerOf(outer)
      request.replyHeaders[PROOF_HEADER] = received.proof
      const from = request.headers[FROM_HEADER]
      const greeting = from === undefined ? undefined : cluster.greet(from)
      if (!greeting) return undefined
      request.replyHeaders[MEMBERS_HEADER] = greeting.members
      return greeting.told?.then(() => undefined)
    },
  }
}

/** Headers of the client's own message, in place of which the one to another replica has others. */
const OF_A_MESSAGE = ['content-encoding', 'mcp-session-id', 'mcp-name', 'last-event-id']
const META = { [PROTOCOL_VERSION]: STATELESS_REVISIONS[0], [CLIENT_CAPABILITIES]: {} }

/** Milliseconds until another secret is spoken of again. */
const FOREIGN = 600_000
const FOREIGN_HINT =
  'Give all replicas the same `cluster.secret`; while it is being changed, list the other one as `acceptedSecret`. ' +
  'After a change, clients still send the ids of earlier sessions, which end this way'

/** Reports session ids that were made with a secret that this replica does not have. */
export function foreignSecrets(log: Logger, metrics: Pick<Metrics, 'foreignSecret'>): (mark: string) => void {
  const say = seldom(FOREIGN, ({ mark }: { mark: string }, left) =>
    log.warn({ mark, ...left, hint: FOREIGN_HINT }, 'a session id was made with another cluster secret'),
  )
  return (mark) => {
    metrics.foreignSecret()
    // Whoever sends forged ids shall not fill the log.
    say('', { mark })
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
  const reach = cluster.reach(exchange.forwarded ? (exchange.outer ? 'worker' : 'replica') : undefined)

  async function forward(owner: string, body?: string, id: RequestId | null = null) {
    if (isOwn(owner)) return undefined
    const line = { owner, prefix: bound.prefix, requestId: exchange.requestId }
    if (reach.nobody || !reach.isWithin(owner)) {
      log.warn(line, 'request forwarded to the wrong replica; check its `advertise` address')
      return undefined
    }
    const gone = new AbortController()
    const abort = () => gone.abort()
    const unwatch = exchange.onGone(abort)
    const stream = { write: () => {}, close: abort, ...(exchange.method === 'GET' && { drain: abort }) }
    hub.keep(stream, !cluster.isWorker?.(owner))
    const ended = () => {
      unwatch()
      hub.drop(stream)
    }
    // The worker that has the calls counts them: they may go on after the answer.
    if (cluster.isWorker?.(owner)) exchange.stay.uncount()
    const failure = (message: string) => ({ code: INTERNAL_ERROR, message })
    const outcome = await cluster.forward(owner, {
      method: exchange.method,
      target: exchange.target(),
      headers: { ...exchange.headers, 'x-request-id': exchange.requestId },
      outer: outerText(exchange.socket, exchange.forwarded),
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
      const { lost, silent } = outcome
      if (silent) return rpcError(exchange, 503, failure(SILENT), id)
      return rpcError(exchange, lost ? 502 : 503, failure(lost ? BROKEN : AWAY), id)
    }
    onForward(bound.prefix, 'ok')
    log.debug({ ...line, status: outcome.status }, 'forwarded')
    const { status, headers } = outcome
    return new HttpResponse(status, { ...headers, ...ownProof(exchange) }, outcome.body ?? '')
  }

  return {
    isPassed: reach.nobody,
    ask: (owner, method, params) => ask(cluster, exchange, owner, method, params),
    meet: (ticket) => cluster.meet(ticket, () => ({ target: exchange.target(), headers: exchange.headers })),
    tell: (body, but) => tell(cluster, reach, exchange, body, but),
    issue: (ticket) => cluster.issue(ticket, bound),
    read: (id) => cluster.read(id, bound),
    seal: (state) => cluster.seal(state, bound),
    unseal: (state) => cluster.unseal(state, bound),
    isOwn,
    mark: () => markOf(address),
    marked: (mark) => (reach.nobody ? undefined : reach.others().find((other) => isMarkOf(mark, other))),
    forward,
    hasPlaces: cluster.placeOf !== undefined && !exchange.forwarded,
    inPlace(key, body, id) {
      const owner = exchange.forwarded ? undefined : cluster.placeOf?.(key)
      return owner === undefined || isOwn(owner) ? undefined : forward(owner, body, id)
    },
  }
}

/** Asks another replica something for the caller of a request. */
async function ask(
  cluster: Cluster,
  exchange: HttpExchange,
  owner: string,
  method: string,
  params: JsonObject,
): Promise<JsonObject | undefined> {
  const gone = new AbortController()
  const unwatch = exchange.onGone(() => gone.abort())
  const outcome = await cluster.forward(owner, {
    method: 'POST',
    target: encodeURI(`${exchange.route.prefix}/mcp`),
    headers: {
      ...withoutMessage(exchange.headers),
      ...mirrored(method, params, []),
      'x-request-id': exchange.requestId,
    },
    // The call counts where the client has it.
    outer: outerText(exchange.outer ?? exchange.socket, true),
    body: stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
    signal: gone.signal,
    onEnd() {},
    lastWords: '',
  })
  const text = 'body' in outcome ? await new Response(outcome.body).text() : ''
  unwatch()
  return resultIn(text)
}

function withoutMessage(headers: HttpExchange['headers']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_A_MESSAGE.includes(name)))
}

/** The result of the last message of an answer, which may be a stream of events. */
function resultIn(text: string): JsonObject | undefined {
  const last = text.startsWith('{') ? text : text.split('\n').findLast((line) => line.startsWith('data: {'))
  const raw = last === undefined ? undefined : parseVerbatim(last.replace(/^data: /, ''))
  return isObject(raw) && isObject(raw.result) ? raw.result : undefined
}

/** What the replica that has passed a request on to this one asks of the answer, which comes from another one. */
function ownProof({ replyHeaders }: HttpExchange): Record<string, string> {
  const asked: Record<string, string> = {}
  for (const name of [PROOF_HEADER, MEMBERS_HEADER]) {
    const value = replyHeaders[name]
    if (value !== undefined) asked[name] = value
  }
  return asked
}

/** Has the other replicas take the same request. @param but the address of one that has it */
async function tell(
  cluster: Cluster,
  reach: Reach,
  exchange: HttpExchange,
  body?: string,
  but?: string,
): Promise<void> {
  const request = {
    method: exchange.method,
    target: exchange.target(),
    headers: { ...exchange.headers, 'x-request-id': exchange.requestId },
    outer: outerText(exchange.socket, exchange.forwarded),
    body,
    signal: new AbortController().signal,
    onEnd() {},
    lastWords: '',
  }
  const told = reach.others().map(async (other) => {
    if (other === but) return
    const outcome = await cluster.forward(other, request)
    if ('gone' in outcome) cluster.forget(other)
    if ('body' in outcome && outcome.body instanceof ReadableStream) await outcome.body.cancel()
  })
  await within(TELLING, Promise.all(told))
}

/** Milliseconds that a client waits for replicas that are told something. */
const TELLING = 5_000
const BROKEN = 'The replica that holds this session closed the connection; the call was not repeated'
const SILENT =
  'The replica that holds this session does not respond; what it was sent is not repeated, and may still be carried out'
const AWAY = 'The replica that holds this session is unreachable; try again'
