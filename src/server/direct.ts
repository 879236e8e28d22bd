import type { IncomingMessage, ServerResponse } from 'node:http'
import { getQueryParam } from 'hono/utils/url'
import type { HttpResponse } from '../access/http-response.ts'
import { type Arriving, isReadEarly } from '../mcp/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { pathOf } from '../text/index.ts'

/**
 * Answers a request of Node's own without a framework between; false: it is for the app.
 * @param pass writes a response that only the framework can, or that comes before the whole request
 */
export type Direct = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  pass: (response: Response) => void,
) => boolean

/** Targets that no reader of URLs would change: their paths have no encodings, dots as segments and empty segments. */
const PLAIN_TARGET = /^(?:\/[\w-][\w.-]*)+(?:\?[\w.~%+=&-]*)?$/
/** Of streams, messages and pages; the framework knows what the others ask for besides. */
const METHODS = new Set(['GET', 'POST'])
/** Names, and ports that need not be looked at. */
const PLAIN_HOST = /^[a-z0-9._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/

/** Responses without a body, which have no size either (RFC 9110, 8.6). */
const BODILESS = new Set([204, 304])

/**
 * @param answer undefined where the path is the framework's
 * @param failed the response to an error of the gateway's own
 */
export function directly(
  answer: (arriving: Arriving) => HttpResponse | Promise<HttpResponse> | undefined,
  failed: (error: unknown, arriving: Arriving) => HttpResponse,
): Direct {
  return (incoming, outgoing, pass) => {
    const { url = '', method = '', headers } = incoming
    const { host } = headers
    if (!METHODS.has(method) || host === undefined || !PLAIN_HOST.test(host) || !PLAIN_TARGET.test(url))
      return false
    const arriving = { env: { incoming, outgoing }, req: new PlainRequest(method, url, host) }
    const send = (response: HttpResponse) => {
      const { status, headers, body } = response
      const isFlow = typeof body === 'object' && 'flowTo' in body
      const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
      if (!isAllHere(incoming) || !(isFlow || isWhole)) return pass(response.toWeb())
      if (isFlow) {
        outgoing.writeHead(status, headers)
        return body.flowTo(outgoing)
      }
      const size = BODILESS.has(status) ? undefined : { 'content-length': Buffer.byteLength(body) }
      outgoing.writeHead(status, { ...headers, ...size }).end(body)
    }
    const write = (response: HttpResponse) => {
      try {
        send(response)
      } catch (error) {
        // A header cannot be sent as it is.
        if (outgoing.headersSent) throw error
        send(failed(error, arriving))
      }
    }
    let given: ReturnType<typeof answer>
    try {
      given = answer(arriving)
    } catch (error) {
      given = failed(error, arriving)
    }
    if (given === undefined) return false
    if (given instanceof Promise)
      given
        .then(write, (error) => write(failed(error, arriving)))
        .catch(unexpected('an answer', () => outgoing.destroy()))
    else write(given)
    return true
  }
}

/** Node says that a request is complete only after it was handed on, also of one without a body. */
function isAllHere(incoming: IncomingMessage): boolean {
  const { complete, headers } = incoming
  return (
    complete || isReadEarly(incoming) || !(headers['transfer-encoding'] || Number(headers['content-length']))
  )
}

/** A request to a plain target. */
class PlainRequest {
  readonly path: string
  private parameters: Record<string, string> | undefined

  constructor(
    readonly method: string,
    private readonly target: string,
    private readonly host: string,
  ) {
    this.path = pathOf(target)
  }

  get url(): string {
    return `http://${this.host}${this.target}`
  }
  get raw(): Request {
    throw new Error('Node has the request')
  }
  query(): Record<string, string>
  query(name: string): string | undefined
  query(name?: string): Record<string, string> | string | undefined {
    if (this.path === this.target) return name === undefined ? {} : undefined
    this.parameters ??= getQueryParam(this.url) as Record<string, string>
    return name === undefined ? this.parameters : this.parameters[name]
  }
}
