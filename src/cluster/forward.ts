import type { Readable } from 'node:stream'
import { HttpClient, type NetFault, type NetFaultKind, type StreamedAnswer } from '../net/index.ts'
import { isSameSecret } from '../text/index.ts'
import { createContacts, MAX_REPLICAS } from './contacts.ts'
import { CLIENT_HEADER, HOP_HEADER, type Hops, PROOF_HEADER } from './hop.ts'
import { FROM_HEADER, MEMBERS_HEADER, type MembersOptions } from './members.ts'

/** A client's request as another replica is to have it. */
export interface ForwardRequest {
  method: string
  /** Path and query. */
  target: string
  /** As the client sent them, names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: string | undefined
  signal: AbortSignal
  /** Its connection, for workers of the same gateway. */
  client?: string
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
 * `gone`: the replica has ended, and its state is lost. `fault`: a sentence; the state may still exist.
 * `lost`: the replica may have acted on the request. `silent`: it has the request, but stopped answering.
 */
export type ForwardOutcome = Forwarded | { gone: string } | { fault: string; lost: boolean; silent?: boolean }

/** Sends requests to other replicas; it holds connections: close it. */
export interface Forwarder {
  send(owner: string, request: ForwardRequest): Promise<ForwardOutcome>
  /** Sends a HEAD with these headers; those of the answer, undefined when no replica gave one. */
  head: MembersOptions['head']
  close(): Promise<void>
}

export interface ForwarderOptions {
  /** Milliseconds. */
  connectTimeout: number
  /** Milliseconds of some clock that never jumps. */
  now?: () => number
  /** Milliseconds without a byte after which a replica that is waited for is asked for a sign of life. Default 2 s. */
  silence?: number
}

/** Headers of one connection (RFC 9110, 7.6.1), and those that each connection gets again. */
const OF_A_CONNECTION = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['content-length', 'expect', 'date', HOP_HEADER, PROOF_HEADER],
  ...[FROM_HEADER, MEMBERS_HEADER, CLIENT_HEADER],
])
const BODILESS = new Set([202, 204, 205, 304])
/** The request cannot have been taken. */
const UNREACHED = new Set<NetFaultKind>(['connect-timeout', 'unreachable', 'name'])

export function createForwarder(hops: Hops, options: ForwarderOptions): Forwarder {
  const { connectTimeout, now = performance.now.bind(performance), silence } = options
  const client = new HttpClient({
    connectTimeout,
    // Milliseconds until an answer begins; long, because each replica limits its own calls of servers.
    headersTimeout: 3_600_000,
    maxSockets: null,
    maxOrigins: MAX_REPLICAS,
  })
  const contacts = createContacts(hops, client, now, silence)

  function failed(owner: string, { kind, code }: NetFault): { failed: ForwardOutcome } {
    const why = code || kind
    if (kind === 'refused') return { failed: { gone: `the replica ${owner} refuses connections` } }
    if (UNREACHED.has(kind))
      return { failed: contacts.unreached(owner, `the replica ${owner} is unreachable (${why})`) }
    return { failed: { fault: `the replica ${owner} closed the connection (${why})`, lost: true } }
  }

  /** An answer without the proof comes from another machine, or from a proxy. */
  function unproven(owner: string, { status, body, whole }: StreamedAnswer): ForwardOutcome {
    // It may be a stream without an end.
    if (!whole) body.on('error', () => {}).destroy()
    if (status === 421)
      return { gone: `the address ${owner} leads to another replica; check its \`advertise\` address` }
    if (status >= 500)
      return contacts.unreached(owner, `a proxy answered for the replica ${owner} (${status})`)
    return { gone: `the address ${owner} no longer belongs to a replica (${status})` }
  }

  return {
    async send(owner, request) {
      const { method, target, lastWords, onEnd } = request
      // A frozen replica would act on the request when it resumes.
      if (contacts.isMute(owner) && !(await contacts.lives(owner, request)))
        return contacts.unreached(owner, `the replica ${owner} does not respond`)
      const { header, proof } = hops.sign(owner, method, target)
      const headers = { ...passed(request.headers), [HOP_HEADER]: header, ...ofWorker(request) }
      const body = request.body === undefined ? {} : { body: request.body }
      const sent = { origin: owner, path: target, method, headers, ...body }
      const wait = contacts.wait(owner, request)
      const answer = await client.open(sent, { signal: wait }, (fault) => failed(owner, fault))
      if ('failed' in answer) {
        wait.end()
        if (!wait.lost) return answer.failed
        return { fault: `the replica ${owner} does not respond`, lost: true, silent: true }
      }
      if (!isSameSecret(String(answer.headers[PROOF_HEADER] ?? ''), proof)) {
        wait.end()
        return unproven(owner, answer)
      }
      contacts.heard(owner)
      const { status, whole } = answer
      const returned = { status, headers: passed(answer.headers) }
      if (BODILESS.has(status)) {
        wait.end()
        if (!whole) answer.body.on('error', () => {}).resume()
        return { ...returned, body: null }
      }
      if (whole) {
        wait.end()
        return { ...returned, body: whole }
      }
      answer.body.on('data', () => contacts.heard(owner))
      const events = String(answer.headers['content-type']).startsWith('text/event-stream')
      const ended = () => {
        wait.end()
        onEnd()
      }
      return { ...returned, body: streamOf(answer.body, events ? lastWords : undefined, ended) }
    },
    head: (owner, question, headers) =>
      contacts.head(owner, question, headers).then(
        (answer) => (answer.proven ? answer.headers : undefined),
        () => undefined,
      ),
    close: () => client.close(),
  }
}

function ofWorker({ client }: ForwardRequest): Record<string, string> {
  return client === undefined ? {} : { [CLIENT_HEADER]: client }
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

/**
 * A body as a stream for a client, at the client's pace; when either side leaves, the other side is ended.
 * @param lastWords what a client is sent when the body breaks off; undefined: its connection breaks off, too
 */
function streamOf(
  body: Readable,
  lastWords: string | undefined,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let over = false
  const end = () => {
    over = true
    onEnd()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const once = (then: () => void) => () => {
          if (over) return
          end()
          then()
        }
        body.on('data', (chunk: Buffer) => {
          if (over) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) body.pause()
        })
        body.on(
          'end',
          once(() => controller.close()),
        )
        body.on('error', (error) =>
          once(() => {
            if (lastWords === undefined) return controller.error(error)
            controller.enqueue(Buffer.from(lastWords))
            controller.close()
          })(),
        )
      },
      pull() {
        body.resume()
      },
      cancel() {
        end()
        body.destroy()
      },
    },
    { highWaterMark: 256 * 1024, size: (chunk) => chunk.byteLength },
  )
}
