import { Pool } from 'undici'
import { unexpected } from '../telemetry/unexpected.ts'
import { HOP_HEADER, type Hops, PROOF_HEADER, same } from './hop.ts'
import { streamOf } from './stream.ts'

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
 * `gone`: the replica is no more, and with it what it held. `fault`: a sentence; what it holds may be there yet.
 * `lost` when the replica may have acted on the request.
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
/** A replica that nobody answers for, for so many milliseconds, is taken for gone. */
const PATIENCE = 30_000
/** Milliseconds until an answer begins: replicas have limits of their own for whom they wait for. */
const LONGEST = 3_600_000
/** Answers that say how long they are, and are no longer, are taken in one piece. */
const MAX_WHOLE = 1024 * 1024
/** What concerns one connection alone (RFC 9110, 7.6.1), and what is made anew for each. */
const OF_A_CONNECTION = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['content-length', 'expect', 'date', HOP_HEADER, PROOF_HEADER],
])
const BODILESS = new Set([202, 204, 205, 304])
/** Nobody listens there: the process that did has ended. */
const REFUSED = new Set(['ECONNREFUSED'])
/** The request cannot have been taken. */
const UNREACHED = new Set([
  ...['UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ETIMEDOUT'],
  ...['ENOTFOUND', 'EAI_AGAIN'],
])

export function createForwarder(hops: Hops, options: ForwarderOptions): Forwarder {
  const { connectTimeout, now = Date.now } = options
  const pools = new Map<string, Pool>()
  /** Since when a replica has not answered. */
  const silent = new Map<string, number>()

  function poolOf(owner: string): Pool {
    const settings = { connections: null, headersTimeout: LONGEST, bodyTimeout: 0 }
    const pool = pools.get(owner) ?? new Pool(owner, { ...settings, connect: { timeout: connectTimeout } })
    pools.delete(owner)
    pools.set(owner, pool)
    if (pools.size > MAX_REPLICAS) {
      const [oldest, unused] = pools.entries().next().value as [string, Pool]
      pools.delete(oldest)
      silent.delete(oldest)
      unused.close().catch(unexpected('the end of a connection pool'))
    }
    return pool
  }

  /** What a replica that was not reached is taken for. */
  function unreached(owner: string, reason: string): ForwardOutcome {
    const since = silent.get(owner) ?? now()
    silent.set(owner, since)
    if (now() - since >= PATIENCE) return { gone: `${reason} for more than ${PATIENCE / 1000} s` }
    return { fault: reason, lost: false }
  }

  function failed(owner: string, error: unknown): ForwardOutcome {
    const code = codeOf(error)
    if (REFUSED.has(code)) return { gone: `the replica ${owner} refuses connections` }
    if (UNREACHED.has(code)) return unreached(owner, `the replica ${owner} is unreachable (${code})`)
    return { fault: `the replica ${owner} closed the connection (${code})`, lost: true }
  }

  return {
    async send(owner, request) {
      const { method, target, signal, lastWords, onEnd } = request
      const { header, proof } = hops.sign(method, target)
      const headers = { ...passed(request.headers), [HOP_HEADER]: header }
      const body = request.body ?? null
      try {
        const pool = poolOf(owner)
        const answer = await pool.request({ path: target, method, headers, body, signal })
        const { statusCode: status } = answer
        if (!same(String(answer.headers[PROOF_HEADER] ?? ''), proof)) {
          // It may be a stream without an end.
          answer.body.on('error', () => {}).destroy()
          // What stands between replicas may answer for one of them.
          if (status >= 500) return unreached(owner, `a proxy answered for the replica ${owner} (${status})`)
          return { gone: `the address ${owner} no longer belongs to a replica (${status})` }
        }
        silent.delete(owner)
        const returned = { status, headers: passed(answer.headers) }
        if (BODILESS.has(status)) {
          await answer.body.dump()
          return { ...returned, body: null }
        }
        if (Number(answer.headers['content-length']) <= MAX_WHOLE)
          return { ...returned, body: Buffer.from(await answer.body.arrayBuffer()) }
        const events = String(answer.headers['content-type']).startsWith('text/event-stream')
        return { ...returned, body: streamOf(answer.body, events ? lastWords : undefined, onEnd) }
      } catch (error) {
        return failed(owner, error)
      }
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
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

function codeOf(error: unknown): string {
  const { code, name, message, cause } = error as NodeJS.ErrnoException & { cause?: NodeJS.ErrnoException }
  const inner = (error as AggregateError).errors?.[0] as NodeJS.ErrnoException | undefined
  return code ?? inner?.code ?? cause?.code ?? (name === 'Error' ? message : name)
}
