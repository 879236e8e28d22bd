import { decodeClient, encodeClient } from '../access/forwarded-connection.ts'
import { HttpResponse } from '../access/http-response.ts'
import { limitReached } from '../access/refusals.ts'
import type { Refusal, Step } from '../access/steps.ts'
import {
  CLIENT_HEADER,
  type Cluster,
  type Forwarded,
  type ForwardOutcome,
  FROM_HEADER,
  HOP_HEADER,
  isMarkOf,
  MEMBERS_HEADER,
  markOf,
  PROOF_HEADER,
  type Reach,
} from '../cluster/index.ts'
import { isObject, type JsonObject, parseVerbatim, stringify } from '../json/index.ts'
import {
  clientMeta,
  errorText,
  event,
  Fault,
  INTERNAL_ERROR,
  type Replicas,
  type Request,
  type RequestId,
  readWhole,
  rpcError,
  type SessionRegistry,
} from '../mcp/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { seldom } from '../telemetry/seldom.ts'
import { pathOf, within } from '../text/index.ts'
import { mirrored } from '../upstream/index.ts'
import type { HttpContext } from './http-context.ts'

const MISDIRECTED: Refusal = { status: 421, message: 'The request was forwarded to another replica' }

/** Recognizes requests of other replicas, and adds the requested proof to their responses. */
export function replicaStep(cluster: Cluster): Step {
  return {
    name: 'replica',
    async run(request) {
      const hop = request.headers[HOP_HEADER]
      const received = hop === undefined ? undefined : cluster.receive(hop, request.method, request.target())
      if (received === undefined) return undefined
      const { proof, by } = received
      // To forward it again might never end.
      if (proof === undefined) return MISDIRECTED
      request.forwarded = true
      const client = by === 'worker' ? request.headers[CLIENT_HEADER] : undefined
      if (client !== undefined) request.clientConnection = decodeClient(client)
      request.replyHeaders[PROOF_HEADER] = proof
      const from = request.headers[FROM_HEADER]
      const greeting = from === undefined ? undefined : cluster.greet(from)
      if (!greeting) return undefined
      request.replyHeaders[MEMBERS_HEADER] = greeting.members
      await greeting.told
      return undefined
    },
  }
}

/** Headers about the client's own message, which are not forwarded. */
const OF_A_MESSAGE = ['connection', 'content-encoding', 'mcp-session-id', 'mcp-name', 'last-event-id']
const META = clientMeta()

/** Milliseconds between log lines about a foreign secret. */
const FOREIGN = 600_000
const FOREIGN_HINT =
  'Give all replicas the same `cluster.secret`; while it is being changed, list the other one as `acceptedSecret`. ' +
  'After a change, clients still send the ids of earlier sessions, which end this way'

/** Reports session ids created with a secret that this replica does not have. */
export function foreignSecrets(log: Logger, metrics: Pick<Metrics, 'foreignSecret'>): (mark: string) => void {
  const say = seldom(FOREIGN, ({ mark }: { mark: string }, left) =>
    log.warn({ mark, ...left, hint: FOREIGN_HINT }, 'a session id was made with another cluster secret'),
  )
  return (mark) => {
    metrics.foreignSecret()
    // Forged ids must not fill the log.
    say('', { mark })
  }
}

interface ReplicaParts {
  cluster: Cluster
  registry: SessionRegistry
  log: Logger
  onForward: OnForward
}

/** Called with the outcome of every forwarded request. */
export type OnForward = (prefix: string, outcome: 'ok' | 'gone' | 'failed') => void

/** The other replicas for one request. */
export function replicasOf(context: HttpContext, parts: ReplicaParts): Replicas {
  const { cluster, registry, log } = parts
  const { address } = cluster
  const bound = { prefix: context.route.prefix, caller: context.caller }
  const isOwn = (owner: string) => owner === address
  const lineOf = (owner: string) => lineFor(context, owner)
  const reach = cluster.reach(
    context.forwarded ? (context.clientConnection ? 'worker' : 'replica') : undefined,
  )

  /** Whether a request from a replica may be forwarded to another one. */
  function mayReach(owner: string): boolean {
    if (!reach.isForwarded && reach.isWithin(owner)) return true
    log.warn(lineOf(owner), 'request forwarded to the wrong replica; check its `advertise` address')
    return false
  }

  async function forward(owner: string, body?: string, id: RequestId | null = null) {
    if (isOwn(owner)) return undefined
    if (!mayReach(owner)) return undefined
    const gone = new AbortController()
    const abort = () => gone.abort()
    const unwatch = context.onGone(abort)
    const stream = { write: () => {}, close: abort, ...(context.method === 'GET' && { drain: abort }) }
    registry.keep(stream, !cluster.isWorker?.(owner))
    const ended = () => {
      unwatch()
      registry.drop(stream)
    }
    // The worker that runs the calls counts them, as they may outlast the answer.
    if (cluster.isWorker?.(owner)) context.lease.uncount()
    const failure = (message: string) => ({ code: INTERNAL_ERROR, message })
    const outcome = await cluster.forward(owner, {
      method: context.method,
      target: context.target(),
      headers: { ...context.headers, 'x-request-id': context.requestId },
      client: encodeClient(context.socket, context.forwarded),
      body,
      signal: gone.signal,
      onEnd: ended,
      lastWords: id === null ? '' : `\n\n${event(errorText(id, failure(BROKEN)))}`,
    })
    if (!('body' in outcome && outcome.body instanceof ReadableStream)) ended()
    const noted = note(outcome, lineOf(owner), gone.signal, parts)
    if (!noted) return undefined
    if ('message' in noted) return rpcError(noted.status, failure(noted.message), id)
    const { status, headers } = noted
    return new HttpResponse(status, { ...headers, ...ownProof(context) }, noted.body ?? '')
  }

  return {
    isPassed: reach.isForwarded,
    mayReach,
    ask: (owner, request, signal) => ask(context, parts, owner, request, signal),
    meet: (ticket) => cluster.meet(ticket, () => ({ target: context.target(), headers: context.headers })),
    tell: (body, but) => tell(cluster, reach, context, body, but),
    issue: (ticket) => cluster.issue(ticket, bound),
    read: (id) => cluster.read(id, bound),
    seal: (state) => cluster.seal(state, bound),
    unseal: (state) => cluster.unseal(state, bound),
    isOwn,
    mark: () => markOf(address),
    addressOf: (mark) =>
      reach.isForwarded ? undefined : reach.others().find((other) => isMarkOf(mark, other)),
    forward,
    sharesServers: cluster.placeOf !== undefined && !context.forwarded,
    fromOwner(key, body, id) {
      const owner = context.forwarded ? undefined : cluster.placeOf?.(key)
      return owner === undefined || isOwn(owner) ? undefined : forward(owner, body, id)
    },
  }
}

function withoutMessage(headers: HttpContext['headers']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_A_MESSAGE.includes(name)))
}

/** The query of a path without the session id. */
function queryOf(target: string): string {
  const pairs = target.slice(pathOf(target).length + 1).split('&')
  const kept = pairs.filter((pair) => !pair.startsWith('sessionId=')).join('&')
  return kept && `?${kept}`
}

/** The result in the last message of a JSON or event stream answer. */
function resultIn(text: string): JsonObject | Fault | undefined {
  const last = text.startsWith('{') ? text : text.split('\n').findLast((line) => line.startsWith('data: {'))
  try {
    const raw = last === undefined ? undefined : parseVerbatim(last.replace(/^data: /, ''))
    return isObject(raw) && isObject(raw.result) ? raw.result : undefined
  } catch {
    // The stream broke off.
    return new Fault('unreachable', UNREAD)
  }
}

/** Log fields of a request to another replica. */
function lineFor({ route, requestId }: HttpContext, owner: string) {
  return { owner, prefix: route.prefix, requestId }
}

/** Logs and counts the outcome of a request to another replica. @returns undefined: it is unreachable */
function note(
  outcome: ForwardOutcome,
  line: ReturnType<typeof lineFor>,
  { aborted }: AbortSignal,
  { log, onForward }: Pick<ReplicaParts, 'log' | 'onForward'>,
): Forwarded | { status: number; message: string } | undefined {
  const { prefix } = line
  if ('gone' in outcome) {
    onForward(prefix, 'gone')
    log.warn({ ...line, reason: outcome.gone }, 'session lost: its replica has ended')
    return undefined
  }
  if ('fault' in outcome) {
    onForward(prefix, 'failed')
    if (!aborted) log.warn({ ...line, reason: outcome.fault }, 'no response from a replica')
    const { lost, silent } = outcome
    if (silent) return { status: 503, message: SILENT }
    return lost ? { status: 502, message: BROKEN } : { status: 503, message: AWAY }
  }
  onForward(prefix, 'ok')
  log.debug({ ...line, status: outcome.status }, 'forwarded')
  return outcome
}

/** Sends another replica a request on behalf of this one's caller. */
async function ask(
  context: HttpContext,
  parts: ReplicaParts,
  owner: string,
  { method, params }: Pick<Request, 'method' | 'params'>,
  signal: AbortSignal,
): Promise<JsonObject | Fault | undefined> {
  const outcome = await parts.cluster.forward(owner, {
    method: 'POST',
    target: `${context.route.prefix}/mcp${queryOf(context.target())}`,
    headers: {
      ...withoutMessage(context.headers),
      ...mirrored(method, params, []),
      'x-request-id': context.requestId,
    },
    // The worker that serves the client has counted the call.
    client: encodeClient(context.clientConnection ?? context.socket, true),
    body: stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
    signal,
    onEnd() {},
    lastWords: '',
  })
  const noted = note(outcome, lineFor(context, owner), signal, parts)
  if (!noted) return undefined
  const unread = new Fault('unreachable', UNREAD)
  if ('message' in noted) return unread
  const body = Buffer.isBuffer(noted.body) ? [noted.body] : (noted.body ?? [])
  const { reservation } = context.lease
  const bytes = await readWhole(body, (more) => reservation.add(more)).catch(() => unread)
  // A replica without the route has no result either.
  if (noted.status === 404) return undefined
  if (!bytes) return new Fault('busy', limitReached('maxBuffered'))
  return bytes instanceof Fault || noted.status !== 200 ? unread : resultIn(bytes.toString())
}

/** Proof headers that the forwarding replica requested; the answer itself comes from another one. */
function ownProof({ replyHeaders }: HttpContext): Record<string, string> {
  const asked: Record<string, string> = {}
  for (const name of [PROOF_HEADER, MEMBERS_HEADER]) {
    const value = replyHeaders[name]
    if (value !== undefined) asked[name] = value
  }
  return asked
}

/** Sends the request to all other replicas. @param but address of one that already has it */
async function tell(
  cluster: Cluster,
  reach: Reach,
  context: HttpContext,
  body?: string,
  but?: string,
): Promise<void> {
  const request = {
    method: context.method,
    target: context.target(),
    headers: { ...context.headers, 'x-request-id': context.requestId },
    client: encodeClient(context.clientConnection ?? context.socket, context.forwarded),
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
  await within(TELLING, Promise.all(told)).catch(() => {})
}

/** Milliseconds that a client waits for replicas to be notified. */
const TELLING = 5_000
const BROKEN = 'The replica that holds this session closed the connection; the call was not repeated'
const SILENT =
  'The replica that holds this session does not respond; the request was not retried and may have succeeded'
const UNREAD = 'The replica that keeps this result did not return it; try again'
const AWAY = 'The replica that holds this session is unreachable; try again'
