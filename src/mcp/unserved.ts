import { statusCodeOf } from '../telemetry/outcome.ts'
import { type Attributes, readContext, type Tracer } from '../telemetry/trace.ts'
import {
  type Message,
  metaOf,
  type Notification,
  REVISIONS,
  type Request,
  type RequestId,
} from './protocol.ts'
import { type RouteFacts, type SpanFacts, servedAs, sessionName, spanFacts } from './spans.ts'

/** Known methods; clients may send any other. */
const METHODS = new Set(['POST', 'GET', 'DELETE'])

interface HttpFacts {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly address?: string | undefined
  sessionId(): string | undefined
}

/** Spans of HTTP requests that reach no backend: refusals and notifications. */
export class UnservedSpans {
  private readonly began = performance.now()
  private messages: readonly Message[] = []
  /** Ids of requests with their own spans. */
  private readonly served: RequestId[] = []
  /** Error codes of requests refused individually. */
  private codes: Map<RequestId, number> | undefined

  constructor(
    private readonly tracer: Tracer,
    private readonly callLog: RouteFacts,
    private readonly context: HttpFacts,
  ) {}

  /** Sets the messages of the request. */
  read(messages: readonly Message[]): void {
    this.messages = messages
  }

  /** Marks a request as having its own span. */
  serves({ id }: Request): void {
    this.served.push(id)
  }

  /** Marks a request as refused individually. */
  refuses({ id }: Request, code: number): void {
    this.codes ??= new Map()
    this.codes.set(id, code)
  }

  /** Called with the response. @param status of HTTP */
  end(status: number): void {
    const { messages, served, codes } = this
    this.messages = []
    const isRefused = status >= 400
    let isNamed = served.length > 0
    for (const message of messages) {
      if (message.kind !== 'notification' && message.kind !== 'request') continue
      const code = message.kind === 'request' ? codes?.get(message.id) : undefined
      // Answered by another replica, or covered by its own span.
      if (message.kind === 'request' && (served.includes(message.id) || !(isRefused || code))) continue
      isNamed = true
      this.add(message, status, code)
    }
    if (isRefused && !isNamed) this.add(undefined, status)
  }

  private add(message: Request | Notification | undefined, status: number, code?: number): void {
    const { tracer, callLog, context, began } = this
    const { headers, address } = context
    const version = headers['mcp-protocol-version']
    const shared = servedAs(
      callLog,
      REVISIONS.find((known) => known === version),
    )
    const { name, attributes } = message ? spanFacts(message, shared) : this.httpFacts(shared)
    if (address !== undefined) attributes['client.address'] = address
    const isRefused = status >= 400
    const session = isRefused ? undefined : context.sessionId()
    if (session !== undefined) attributes['mcp.session.id'] = sessionName(session)
    const trace = (message && readContext(metaOf(message.params))) ?? readContext(headers)
    const start = { name, attributes, began, isMinor: true }
    // A refused client does not decide about sampling.
    const span = isRefused ? tracer.server(start, undefined, trace) : tracer.server(start, trace)
    const codeText = code === undefined ? undefined : statusCodeOf({ outcome: 'refused', code })
    const type = codeText ?? (isRefused ? String(status) : undefined)
    const late = { 'http.response.status_code': status }
    span.end(
      codeText === undefined ? late : { ...late, 'rpc.response.status_code': codeText },
      type === undefined ? undefined : { type },
    )
  }

  /** Attributes of a request whose messages were not read. */
  private httpFacts(shared: Attributes): SpanFacts {
    const { method, path } = this.context
    const isKnown = METHODS.has(method)
    const own = { 'http.request.method': isKnown ? method : '_OTHER', 'http.route': path }
    return { name: `${isKnown ? method : 'HTTP'} ${path}`, attributes: { ...shared, ...own } }
  }
}
