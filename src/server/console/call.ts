import { HttpResponse } from '../../access/http-response.ts'
import type { Route } from '../../build/types.ts'
import { isObject, type JsonObject, stringify } from '../../json/index.ts'
import { Cancellation, type RecordedCall } from '../../mcp/index.ts'
import type { CallContext } from '../../tools/index.ts'
import { requestText } from '../../tools/request-text.ts'
import { expanded, ITEM_KINDS, type ItemKind } from './items.ts'
import {
  boundedStream,
  type ConsoleRequest,
  HEADERS,
  MAX_UNREAD,
  objectIn,
  refusal,
  routesOf,
} from './request.ts'

/** Parameters of `render`, `call` and `complete`. */
interface Wanted {
  route: Route
  kind: ItemKind
  name: string
  given: JsonObject
  authorization: string | undefined
  value: JsonObject
}

const NO_HEADER =
  'Authorization must be one line of ASCII, such as `Bearer` and a token: look for quotes that were pasted'

async function wanted(request: ConsoleRequest): Promise<Wanted | HttpResponse> {
  const value = await objectIn(request.c)
  if (value instanceof HttpResponse) return value
  const { prefix, arguments: given = {}, authorization } = value
  const route = routesOf(request).find((one) => (one.prefix || '/') === prefix)
  const kind = ITEM_KINDS.find((one) => typeof value[one.name] === 'string')
  if (!route || !kind) return refusal(404, 'There is no such prefix or tool')
  if (!isObject(given)) return refusal(400, 'The arguments must be an object')
  const token = typeof authorization === 'string' && authorization !== '' ? authorization : undefined
  if (token !== undefined && !/^[\t\x20-\x7e]*$/.test(token)) return refusal(400, NO_HEADER)
  return { route, kind, name: String(value[kind.name]), given, authorization: token, value }
}

/** The request that a call would send, which is not sent. */
export async function render(request: ConsoleRequest): Promise<HttpResponse> {
  const found = await wanted(request)
  if (found instanceof HttpResponse) return found
  const tool = found.kind.name === 'tool' ? found.route.httpTool?.(found.name) : undefined
  if (!tool) return refusal(404, 'Only requests of HTTP tools can be shown')
  const context: CallContext = { headers: {}, body: {}, signal: new Cancellation() }
  const plan = await tool.request(found.given, context)
  if (!plan.request) return refusal(400, plan.error)
  return HttpResponse.json({ request: requestText(plan.request, plan.mask) }, 200, HEADERS)
}

/** Values that a server proposes for an argument of a prompt or template. */
export async function complete(request: ConsoleRequest): Promise<HttpResponse> {
  const { parts } = request
  const found = await wanted(request)
  if (found instanceof HttpResponse) return found
  if (!parts.calls) return refusal(403, 'Calls from the console are off')
  const { route, kind, name, given, authorization, value } = found
  const ref = kind.name === 'prompt' ? { type: 'ref/prompt', name } : { type: 'ref/resource', uri: name }
  const argument = String(value.argument)
  const params = { ref, argument: { name: argument, value: String(given[argument] ?? '') } }
  const method = 'completion/complete'
  const { result } = await parts.source.ask({ prefix: route.prefix, method, params, authorization })
  const completion = isObject(result) && isObject(result.completion) ? result.completion : {}
  const values = Array.isArray(completion.values) ? completion.values.slice(0, 100) : []
  return HttpResponse.json({ values }, 200, HEADERS)
}

/** Calls a tool, gets a prompt or reads a resource: a line of JSON for each message, and a last one for the answer. */
export async function call(request: ConsoleRequest): Promise<HttpResponse> {
  const { parts, c } = request
  if (!parts.calls) return refusal(403, 'Calls from the console are off')
  const found = await wanted(request)
  if (found instanceof HttpResponse) return found
  const { route, kind, authorization, value } = found
  const params = paramsOf(found)
  // The page has it from the server, which would have to be asked again.
  const inputSchema = isObject(value.schema) ? value.schema : undefined
  const body = boundedStream(async (send, signal) => {
    let recorded: RecordedCall | undefined
    const answer = await parts.source.ask({
      prefix: route.prefix,
      method: kind.method,
      params,
      inputSchema,
      signal,
      authorization,
      onMessage: (message) => send(lineOf({ message })),
      onRecorded: (one) => {
        recorded = one
      },
    })
    send(lastLine(answer, recorded), true)
  }, c.req.raw.signal)
  return new HttpResponse(200, { ...HEADERS, 'content-type': 'application/x-ndjson' }, body)
}

function paramsOf({ kind, name, given, value }: Wanted): JsonObject {
  const { inputResponses, requestState } = value
  const own =
    kind.method === 'resources/read'
      ? { uri: kind.name === 'template' ? expanded(name, given) : name }
      : { name, arguments: given }
  return {
    ...own,
    _meta: { progressToken: 'console' },
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  }
}

function lineOf(value: object): string {
  return `${stringify(value as JsonObject)}\n`
}

/** Maximum bytes of the last line, and characters of its parts if it is cut. */
const MAX_LINE = MAX_UNREAD / 2
const MAX_CUT = 32 * 1024

/** The last line of an answer; if it is too large for a page, with the beginning of each part. */
function lastLine(answer: JsonObject, recorded: RecordedCall | undefined): string {
  const { ms, savedTokens, contents } = recorded ?? {}
  const { exchanges } = contents ?? {}
  const more = { ms, savedTokens }
  const line = lineOf({ answer, exchanges, ...more })
  if (Buffer.byteLength(line) <= MAX_LINE) return line
  const text = stringify(answer)
  const last = exchanges?.at(-1)
  return lineOf({
    answer: { cut: text.slice(0, MAX_CUT), characters: text.length, isError: 'error' in answer },
    ...(last && {
      exchanges: [{ ...last, sent: last.sent.slice(0, MAX_CUT), received: last.received?.slice(0, MAX_CUT) }],
    }),
    ...more,
  })
}
