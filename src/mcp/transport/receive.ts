import type { HttpResponse } from '../../access/http-response.ts'
import { isObject, type Json, JsonLimitError, parseVerbatim, stringify } from '../../json/index.ts'
import { pauseFor } from '../../text/index.ts'
import type { Body, RequestContext } from '../context.ts'
import { rpcError, tooMuch } from '../http.ts'
import { isIndirect, unwrapped } from '../listing.ts'
import { refuseLookalike } from '../middleware/permissions.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  INVALID_REQUEST,
  LISTEN,
  MAX_BATCH,
  type Messages,
  PARSE_ERROR,
  ProtocolKeys,
  readMessage,
  withoutNothing,
} from '../protocol.ts'
import { metered } from './rate-limit.ts'
import { claimsRevision } from './stateless.ts'

/** The messages, or the answer that refuses them. */
export type Received = Messages | { refused: HttpResponse }

/** Maximum characters of client data kept for the life of a session. */
const MAX_KEPT = 64 * 1024

/**
 * Reads a POST's body as JSON-RPC, with the checks common to all transports.
 * @param searches whether the client uses the discovery tools
 * @param onStream whether the client reads answers on a separate stream
 */
export async function receive(
  context: RequestContext,
  searches: () => boolean,
  onStream = false,
): Promise<Received> {
  const { meter } = context
  const unread = context.isLine ? undefined : refusedType(context)
  const given = unread ? { refused: unread } : await readMessages(context, await context.body())
  const isLooked = 'messages' in given && given.messages.some(isIndirect) && searches()
  const read = isLooked ? { ...given, messages: given.messages.map(unwrapped) } : given
  if ('messages' in read) context.unserved?.read(read.messages)
  const received = meter ? await metered(context, read, meter, onStream) : read
  return 'refused' in received ? received : leaseRequests(context, received)
}

async function readMessages(context: RequestContext, body: Body): Promise<Received> {
  const refuse = (status: number, code: number, message: string) => ({
    refused: rpcError(status, { code, message }),
  })
  if ('failure' in body) {
    if (body.failure === 'too-large')
      return refuse(413, INVALID_REQUEST, `The request is larger than ${context.route.maxRequestSize} bytes`)
    if (body.failure === 'no-room') return { refused: tooMuch('maxBuffered') }
    if (body.failure === 'not-utf8') return refuse(400, PARSE_ERROR, 'The body is not UTF-8')
    return refuse(400, PARSE_ERROR, 'The body ended early')
  }
  // A byte order mark may precede JSON (RFC 8259, section 8.1).
  const text = body.text.replace(/^\ufeff/, '')
  const keys = new ProtocolKeys(true)
  let value: Json
  try {
    value = parseVerbatim(text, keys)
  } catch (error) {
    return refuse(
      400,
      PARSE_ERROR,
      error instanceof JsonLimitError ? `The message is refused: ${error.message}` : 'The body is not JSON',
    )
  }
  if (keys.fault !== undefined) return refuse(400, INVALID_REQUEST, `The message is refused: ${keys.fault}`)
  await pauseFor(text)
  return messagesIn(value, text, refuse)
}

type Refuse = (status: number, code: number, message: string) => Received

/** The messages in a parsed body. */
function messagesIn(value: Json, text: string, refuse: Refuse): Received {
  const batch = Array.isArray(value)
  const given = batch ? (value as Json[]) : [value]
  const raw = given.map(withoutNothing)
  if (raw.length === 0) return refuse(400, INVALID_REQUEST, 'The batch is empty')
  if (raw.length > MAX_BATCH)
    return refuse(400, INVALID_REQUEST, `The batch has more than ${MAX_BATCH} messages`)
  if (batch && raw.some((item) => isObject(item) && claimsRevision(item.params)))
    return refuse(400, INVALID_REQUEST, 'Protocol revision 2026-07-28 has no batches')
  if (text.length > MAX_KEPT && raw.some(keepsMuch))
    return refuse(
      413,
      INVALID_REQUEST,
      `initialize, subscriptions/listen, clientInfo and clientCapabilities may have at most ${MAX_KEPT} characters`,
    )
  // The backend must receive exactly what was checked.
  const isSame = raw.every((item, i) => item === given[i])
  const own = isSame && !batch ? text : undefined
  const messages = raw.map((one) => refuseLookalike(readMessage(one, own)))
  const unreadable = messages.find((message) => message.kind === 'invalid' && message.code === PARSE_ERROR)
  if (unreadable?.kind === 'invalid')
    return refuse(400, PARSE_ERROR, `The message is refused: ${unreadable.reason}`)
  return { messages, batch, text: isSame ? text : stringify(batch ? raw : raw[0]) }
}

/** The answer to a body whose headers do not declare JSON in UTF-8. */
function refusedType(context: RequestContext): HttpResponse | undefined {
  const { 'content-type': type, 'content-encoding': encoding } = context.headers
  const refuse = (message: string) => rpcError(415, { code: INVALID_REQUEST, message })
  if (!isJsonType(type))
    return refuse(`Content-Type must be application/json in UTF-8, not ${type?.slice(0, 100) ?? 'missing'}`)
  if (encoding !== undefined && encoding !== 'identity')
    return refuse(`Content-Encoding ${encoding} is not supported`)
  return undefined
}

/** Counts the requests as running, unless a limit is reached. */
function leaseRequests(context: RequestContext, received: Messages): Received {
  const requests = received.messages.filter(({ kind }) => kind === 'request')
  if (!requests.length) return received
  const id = received.batch || requests[0]?.kind !== 'request' ? null : requests[0].id
  const limit = context.lease.begin(requests.length)
  return limit ? { refused: tooMuch(limit, id) } : received
}

/** Requests kept complete for the life of a session or stream. */
const KEPT_WHOLE = new Set(['initialize', LISTEN])

/** Whether a message has too many characters of data kept for the life of a session: client info and capabilities. */
function keepsMuch(raw: Json): boolean {
  if (!isObject(raw) || !isObject(raw.params)) return false
  const { method, params } = raw
  if (KEPT_WHOLE.has(String(method))) return stringify(params).length > MAX_KEPT
  const meta = isObject(params._meta) ? params._meta : {}
  return [CLIENT_INFO, CLIENT_CAPABILITIES].some(
    (key) => key in meta && stringify(meta[key]).length > MAX_KEPT,
  )
}

function isJsonType(type: string | undefined): boolean {
  if (type === 'application/json') return true
  const [essence = '', ...parameters] = (type ?? '').toLowerCase().split(';')
  if (essence.trim() !== 'application/json') return false
  // JSON is UTF-8 (RFC 8259, 8.1); with another charset a server could read a different message.
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=')
    return name.trim() !== 'charset' || /^"?(?:utf-?8|us-ascii)"?$/.test(value.trim())
  })
}
