import { statusCodeOf } from '../telemetry/outcome.ts'
import { type Attributes, readContext, type SpanTemplate, type Tracer } from '../telemetry/trace.ts'
import type { Accounting } from './call.ts'
import type { Exchange } from './http.ts'
import {
  type Message,
  metaOf,
  type Notification,
  REVISIONS,
  type Request,
  type RequestId,
} from './protocol.ts'
import { type Facts, servedAs, sessionName, spanFacts, templateOf } from './spans.ts'

/** Methods that endpoints have; clients may send any other. */
const METHODS = new Set(['POST', 'GET', 'DELETE'])

/** The spans of what comes in an HTTP request and reaches no backend: what is refused, and notifications. */
export class UnservedSpans {
  private readonly began = performance.now()
  private messages: readonly Message[] = []
  /** Of requests that have spans of their own. */
  private readonly served: RequestId[] = []
  /** Codes of the errors that answer requests among others. */
  private codes: Map<RequestId, number> | undefined

  constructor(
    private readonly tracer: Tracer,
    private readonly account: Accounting,
    private readonly exchange: Exchange & { readonly path: string; sessionId(): string | undefined },
  ) {}

  /** What the request holds. */
  read(messages: readonly Message[]): void {
    this.messages = messages
  }

  /** A request has a span of its own. */
  serves({ id }: Request): void {
    this.served.push(id)
  }

  /** A request is answered by an error in its place among others. */
  refuses({ id }: Request, code: number): void {
    this.codes ??= new Map()
    this.codes.set(id, code)
  }

  /** There is a response. @param status of HTTP */
  end(status: number): void {
    const { messages, served, codes } = this
    this.messages = []
    const isRefused = status >= 400
    let isNamed = served.length > 0
    for (const message of messages) {
      if (message.kind !== 'notification' && message.kind !== 'request') continue
      const code = message.kind === 'request' ? codes?.get(message.id) : undefined
      // Another replica has answered it, or its own span tells of it.
      if (message.kind === 'request' && (served.includes(message.id) || !(isRefused || code))) continue
      isNamed = true
      this.add(message, status, code)
    }
    if (isRefused && !isNamed) this.add(undefined, status)
  }

  private add(message: Request | Notification | undefined, status: number, code?: number): void {
    const { tracer, account, exchange, began } = this
    const { headers, address } = exchange
    const version = headers['mcp-protocol-version']
    const shared = servedAs(
      account,
      REVISIONS.find((known) => known === version),
    )
    const { template, own } = message ? spanFacts(message, shared) : this.httpFacts(shared)
    if (address !== undefined) own['client.address'] = address
    const isRefused = status >= 400
    const session = isRefused ? undefined : exchange.sessionId()
    if (session !== undefined) own['mcp.session.id'] = sessionName(session)
    const context = (message && readContext(metaOf(message.params))) ?? readContext(headers)
    const start = { template, own, began, isMinor: true }
    // Who is refused does not decide what is recorded.
    const span = isRefused ? tracer.server(start, undefined, context) : tracer.server(start, context)
    const codeText = code === undefined ? undefined : statusCodeOf({ outcome: 'refused', code })
    const type = codeText ?? (isRefused ? String(status) : undefined)
    const late = { 'http.response.status_code': status }
    span.end(
      codeText === undefined ? late : { ...late, 'rpc.response.status_code': codeText },
      type === undefined ? undefined : { type },
    )
  }

  /** What is known of a request whose messages were not read. */
  private httpFacts(shared: Attributes): { template: SpanTemplate; own: Facts } {
    const { method, path } = this.exchange
    const isKnown = METHODS.has(method)
    const name = `${isKnown ? method : 'HTTP'} ${path}`
    const facts = () => ({ 'http.request.method': isKnown ? method : '_OTHER', 'http.route': path })
    return { template: templateOf(shared, `/${name}`, name, facts), own: {} }
  }
}
