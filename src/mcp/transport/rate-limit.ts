import type { HttpResponse } from '../../access/http-response.ts'
import { type Excess, type Excesses, type Meter, rateMessage } from '../../access/rate.ts'
import { stringify } from '../../json/index.ts'
import type { RequestContext } from '../context.ts'
import { json, rpcError } from '../http.ts'
import { unwrapped } from '../listing.ts'
import { errorResponse, type Message, RATE_LIMITED, type Request, type RpcError } from '../protocol.ts'

/** Messages of a body, or the answer that refuses it. */
type Read = { messages: Message[]; batch: boolean; text: string } | { refused: HttpResponse }

/**
 * Counts the requests of a body, or 1 for a body without requests. A single request beyond a rate is refused with
 * status 429; in batches, and for clients that read answers on a stream, with an error in its place.
 */
export async function metered(
  context: RequestContext,
  read: Read,
  meter: Meter,
  onStream: boolean,
): Promise<Read> {
  const requests = 'refused' in read ? [] : read.messages.filter((message) => message.kind === 'request')
  const excesses = await meter(requests.length ? requests.map(toolOf) : [undefined])
  return excesses.some(Boolean) ? beyondRate(context, read, requests, excesses, onStream) : read
}

/** @param excesses for each request, or one for a body without requests */
function beyondRate(
  context: RequestContext,
  read: Read,
  requests: readonly Request[],
  excesses: Excesses,
  onStream: boolean,
): Read {
  if ('refused' in read || !requests.length) return { refused: tooMany(errorOf(excesses[0]!), null) }
  const over = new Map<Message, Excess>()
  for (const [i, excess] of excesses.entries()) if (excess) over.set(requests[i]!, excess)
  const messages = read.messages.map((message): Message => {
    const excess = over.get(message)
    if (!excess || message.kind !== 'request') return message
    context.unserved?.refuses(message, RATE_LIMITED)
    return { kind: 'refused', id: message.id, error: errorOf(excess) }
  })
  const passing = { ...read, messages }
  if (onStream) return passing
  const [only] = messages
  if (!read.batch && only?.kind === 'refused') return { refused: tooMany(only.error, only.id) }
  const refused = over.size === requests.length && refusedBatch(passing)
  return refused ? { refused } : passing
}

/** Refuses a whole batch if any of its requests is refused; undefined if none is. */
export function refusedBatch({ messages }: { messages: readonly Message[] }): HttpResponse | undefined {
  const refused = messages.find((message) => message.kind === 'refused')
  if (!refused) return undefined
  const answers = messages.flatMap((message) => {
    if (message.kind !== 'refused' && message.kind !== 'request') return []
    const { error } = message.kind === 'refused' ? message : refused
    return errorResponse(message.id, error)
  })
  return json(stringify(answers), 429, retryAfter(refused.error))
}

function tooMany(error: RpcError, id: Request['id'] | null): HttpResponse {
  return rpcError(429, error, id, retryAfter(error))
}

function retryAfter({ data }: RpcError): Record<string, string> {
  const seconds = (data as { retryAfter?: number } | undefined)?.retryAfter
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}

function errorOf(excess: Excess): RpcError {
  return { code: RATE_LIMITED, message: rateMessage(excess), data: { retryAfter: excess.retryAfter } }
}

/**
 * The called tool. Looks inside `call_tool`, because this process may not know whether the client uses discovery.
 */
function toolOf(request: Request): string | undefined {
  const { method, params } = unwrapped(request) as Request
  return method === 'tools/call' && typeof params.name === 'string' ? params.name : undefined
}
