import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Arriving, textOfResponse } from '../mcp/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'

/**
 * Answers a request of Node's own without a framework between; false: it is for the app.
 * @param pass writes a response that is more than a text, or comes before the whole request
 */
export type Direct = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  pass: (response: Response) => void,
) => boolean

/** Paths that no reader of URLs would change: without encodings, queries, dots as segments and empty segments. */
const PLAIN_PATH = /^(?:\/[\w-][\w.-]*)+$/
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
    const { url = '', method, headers } = incoming
    const { host } = headers
    if (method !== 'POST' || host === undefined || !PLAIN_HOST.test(host) || !PLAIN_PATH.test(url))
      return false
    const arriving = { env: { incoming, outgoing }, req: new PlainRequest(url, host) }
    const write = (response: Response) => {
      const text = incoming.complete ? textOfResponse(response) : undefined
      if (!text) return pass(response)
      const { status, headers, body } = text
      try {
        outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
      } catch {
        // A header cannot be sent as it is, which the app answers with 500.
        return pass(response)
      }
      outgoing.end(body)
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

/** A POST to a plain path. */
class PlainRequest {
  readonly method = 'POST'

  constructor(
    readonly path: string,
    private readonly host: string,
  ) {}

  get url(): string {
    return `http://${this.host}${this.path}`
  }
  get raw(): Request {
    throw new Error('Node has the request')
  }
  query(): Record<string, string>
  query(name: string): string | undefined
  query(name?: string): Record<string, string> | string | undefined {
    return name === undefined ? {} : undefined
  }
}
