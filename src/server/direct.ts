import type { IncomingMessage, ServerResponse } from 'node:http'
import { getQueryParam } from 'hono/utils/url'
import { type Arriving, writtenOf } from '../mcp/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'

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
/** Of streams and of messages; the framework knows what the others ask for besides. */
const METHODS = new Set(['GET', 'POST'])
/** Names, and ports that need not be looked at. */
const PLAIN_HOST = /^[a-z0-9._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/

/**
 * @param answer undefined where the path is no endpoint
 * @param failed the response to an error of the gateway's own
 */
export function directly(
  answer: (arriving: Arriving) => Response | Promise<Response> | undefined,
  failed: (error: unknown, arriving: Arriving) => Response,
): Direct {
  return (incoming, outgoing, pass) => {
    const { url = '', method = '', headers } = incoming
    const { host } = headers
    if (!METHODS.has(method) || host === undefined || !PLAIN_HOST.test(host) || !PLAIN_TARGET.test(url))
      return false
    const arriving = { env: { incoming, outgoing }, req: new PlainRequest(method, url, host) }
    const write = (response: Response) => {
      const written = incoming.complete ? writtenOf(response) : undefined
      if (!written) return pass(response)
      const { status, headers, body } = written
      const isFlow = typeof body === 'object' && 'flowTo' in body
      try {
        const sized = isFlow ? headers : { ...headers, 'content-length': Buffer.byteLength(body) }
        outgoing.writeHead(status, sized)
      } catch {
        // A header cannot be sent as it is, which the app answers with 500.
        return pass(response)
      }
      if (isFlow) body.flowTo(outgoing)
      else outgoing.end(body)
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

/** A request to a plain target. */
class PlainRequest {
  readonly path: string
  private parameters: Record<string, string> | undefined

  constructor(
    readonly method: string,
    private readonly target: string,
    private readonly host: string,
  ) {
    const end = target.indexOf('?')
    this.path = end < 0 ? target : target.slice(0, end)
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
