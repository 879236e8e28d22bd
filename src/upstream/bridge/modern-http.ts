import { type JsonObject, stringify } from '../../json/index.ts'
import { Fault, type ParamHeader, type RequestHeaders, STATELESS_REVISIONS } from '../../mcp/index.ts'
import { refusedCaller } from '../backend/forward.ts'
import type { StatelessCall } from '../backend/stateless.ts'
import type { Resolved } from '../definition.ts'
import { TOO_LARGE } from '../transport/channel.ts'
import { readAnswer } from '../transport/http.ts'
import { readTexts } from '../transport/messages.ts'
import { unanswered } from '../transport/streamable.ts'
import type { Upstream } from '../upstream.ts'

const NAMED: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}
/** Trace context of the caller goes on with the call. */
const TRACE = ['traceparent', 'tracestate', 'baggage']

/** Sends one request of 2026-07-28 to a streamable HTTP server and reads what it answers, message by message. */
export async function requestHttp(
  { http, limits, name, definition }: Upstream,
  resolved: Resolved,
  { message, onMessage, signal, headers: given }: Omit<StatelessCall, 'resolved' | 'caller'>,
  declared: readonly ParamHeader[],
): Promise<JsonObject | Fault> {
  const headers = { ...mirrored(message.method, message.params, declared), ...traced(given) }
  const body = stringify(message.raw)
  const answer = await http.send(resolved, { method: 'POST', headers, body, signal })
  if (answer instanceof Fault) return answer
  let response: JsonObject | undefined
  let rejected: Fault | undefined
  const take = (data: string) => {
    for (const taken of readTexts(data)) {
      if ('fault' in taken) {
        // A rejected message that answers nothing is lost alone.
        if (taken.answers.length) rejected ??= taken.fault
        continue
      }
      const { message: each } = taken
      if (each.kind === 'response' && (each.id === message.id || each.id === null)) response ??= each.raw
      else if (each.kind === 'notification') onMessage(each.raw)
    }
    return response !== undefined || rejected !== undefined
  }
  await readAnswer(answer, limits.maxResponseSize, take, () => {
    rejected ??= TOO_LARGE
  })
  if (signal.aborted) return new Fault('cancelled', 'The call was cancelled')
  if (response) return { ...response, id: message.id }
  if (rejected) return rejected
  const { status } = answer
  const refused = refusedCaller(answer, name, definition.forwardsAuthorization)
  if (refused) return refused
  if (status === 401 || status === 403)
    return new Fault('unreachable', `The server ${name} refused the gateway's credentials (${status})`, {
      status,
    })
  return unanswered(name, status)
}

function traced(headers: RequestHeaders): Record<string, string> {
  return Object.fromEntries(
    TRACE.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  )
}

/** The headers that mirror a request (2026-07-28, Request Metadata). */
export function mirrored(
  method: string,
  params: JsonObject,
  declared: readonly ParamHeader[],
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': STATELESS_REVISIONS[0],
    'mcp-method': method,
  }
  const name = Object.hasOwn(NAMED, method) ? params[NAMED[method] as string] : undefined
  if (typeof name === 'string') headers['mcp-name'] = encodeHeader(name)
  for (const { path, header } of declared) {
    let value: unknown = params.arguments
    for (const key of path) value = (value as Record<string, unknown> | null | undefined)?.[key]
    if (value !== undefined && value !== null && typeof value !== 'object')
      headers[header] = encodeHeader(String(value))
  }
  return headers
}

/** A header value, in Base64 behind a sentinel where it is not plain ASCII (Value Encoding). */
export function encodeHeader(value: string): string {
  const plain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value)
  const sentinel = value.startsWith('=?base64?') && value.endsWith('?=')
  return plain && !sentinel ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}
