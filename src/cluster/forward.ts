import { HttpClient, type NetFault, type NetFaultKind, type StreamedAnswer } from '../net/index.ts'
import { HOP_HEADER, type Hops, PROOF_HEADER, same } from './hop.ts'
import { streamOf } from './relayed-stream.ts'

/** A client's request as another replica is to have it. */
export interface ForwardRequest {
  method: string
  /** Path and query. */
  target: string
  /** As the client sent them, names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: string | undefined
  signal: AbortSignal
  /** Ends a stream of events that breaks off. */
  lastWords: string
  /** Runs once, when an answer that is a stream has ended. */
  onEnd(): void
}

export interface Forwarded {
  status: number
  headers: Record<string, string>
  body: ReadableStream<Uint8Array> | Buffer | null
}

/**
 * `gone`: the replica has ended, and with it what it held. `fault`: a sentence; what it holds may still exist.
 * `lost`: the replica may have acted on the request.
 */
export type ForwardOutcome = Forwarded | { gone: string } | { fault: string; lost: boolean }

/** Sends requests to other replicas; it holds connections: close it. */
export interface Forwarder {
  send(owner: string, request: ForwardRequest): Promise<ForwardOutcome>
  close(): Promise<void>
}

export interface ForwarderOptions {
  /** Milliseconds. */
  connectTimeout: number
  now?: () => number
}

/** Addresses change as replicas come and go; the connections of the longest unused one are closed. */
const MAX_REPLICAS = 64
/** Milliseconds without a response after which a replica counts as gone. */
const PATIENCE = 30_000
/** Milliseconds until an answer begins: replicas have limits of their own for whom they wait for. */
const LONGEST = 3_600_000
/** Headers of one connection (RFC 9110, 7.6.1), and those that each connection gets again. */
const OF_A_CONNECTION = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['content-length', 'expect', 'date', HOP_HEADER, PROOF_HEADER],
])
const BODILESS = new Set([202, 204, 205, 304])
/** The request cannot have been taken. */
const UNREACHED = new Set<NetFaultKind>(['connect-timeout', 'unreachable', 'name'])

export function createForwarder(hops: Hops, options: ForwarderOptions): Forwarder {
  const { connectTimeout, now = Date.now } = options
  const client = new HttpClient({
    connectTimeout,
    headersTimeout: LONGEST,
    maxSockets: null,
    maxOrigins: MAX_REPLICAS,
  })
  /** Since when a replica has not answered. */
  const silent = new Map<string, number>()

  /** What a replica that was not reached is taken for. */
  function unreached(owner: string, reason: string): ForwardOutcome {
    const since = silent.get(owner) ?? now()
    silent.set(owner, since)
    if (silent.size > MAX_REPLICAS) silent.delete(silent.keys().next().value as string)
    if (now() - since >= PATIENCE) return { gone: `${reason} for more than ${PATIENCE / 1000} s` }
    return { fault: reason, lost: false }
  }

  function failed(owner: string, { kind, code }: NetFault): { failed: ForwardOutcome } {
    const why = code || kind
    if (kind === 'refused') return { failed: { gone: `the replica ${owner} refuses connections` } }
    if (UNREACHED.has(kind))
      return { failed: unreached(owner, `the replica ${owner} is unreachable (${why})`) }
    return { failed: { fault: `the replica ${owner} closed the connection (${why})`, lost: true } }
  }

  /** Without the proof somebody else has the address, or answers for the replica. */
  function unproven(owner: string, { status, body, whole }: StreamedAnswer): ForwardOutcome {
    // It may be a stream without an end.
    if (!whole) body.on('error', () => {}).destroy()
    if (status >= 500) return unreached(owner, `a proxy answered for the replica ${owner} (${status})`)
    return { gone: `the address ${owner} no longer belongs to a replica (${status})` }
  }

  return {
    async send(owner, request) {
      const { method, target, signal, lastWords, onEnd } = request
      const { header, proof } = hops.sign(method, target)
      const headers = { ...passed(request.headers), [HOP_HEADER]: header }
      const body = request.body === undefined ? {} : { body: request.body }
      const sent = { origin: owner, path: target, method, headers, ...body }
      const answer = await client.open(sent, { signal }, (fault) => failed(owner, fault))
      if ('failed' in answer) return answer.failed
      if (!same(String(answer.headers[PROOF_HEADER] ?? ''), proof)) return unproven(owner, answer)
      silent.delete(owner)
      const { status, whole } = answer
      const returned = { status, headers: passed(answer.headers) }
      if (BODILESS.has(status)) {
        if (!whole) answer.body.on('error', () => {}).resume()
        return { ...returned, body: null }
      }
      if (whole) return { ...returned, body: whole }
      const events = String(answer.headers['content-type']).startsWith('text/event-stream')
      return { ...returned, body: streamOf(answer.body, events ? lastWords : undefined, onEnd) }
    },
    close: () => client.close(),
  }
}

function passed(headers: ForwardRequest['headers']): Record<string, string> {
  const own = String(headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || OF_A_CONNECTION.has(name) || own.includes(name) ? [] : [[name, String(value)]],
    ),
  )
}
