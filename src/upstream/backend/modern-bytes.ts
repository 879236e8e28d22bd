import { stringify } from '../../json/index.ts'
import {
  Cancellation,
  checkStandardHeaders,
  type Exchange,
  errorText,
  Fault,
  INTERNAL_ERROR,
  json,
  mismatch,
  reply,
  rpcError,
} from '../../mcp/index.ts'
import { encodeHeader } from '../bridge/modern-http.ts'
import type { Resolved } from '../definition.ts'
import type { Request } from '../rpc/link.ts'
import { filterTexts } from '../tools.ts'
import type { Upstream } from '../upstream.ts'
import { forwardAnswer, forwardedHeaders, readMessages } from './forward.ts'
import type { StatelessOptions } from './stateless.ts'

/** Passes a request of 2026-07-28 to a streamable HTTP server that speaks it, byte for byte. */
export async function forwardStateless(
  exchange: Exchange,
  request: Request,
  text: string,
  resolved: Resolved,
  { definition, http, limits, filter, name }: Upstream,
  { begin }: Pick<StatelessOptions, 'begin'>,
): Promise<Response> {
  const { id, method, params } = request
  const headers = forwardedHeaders(exchange)
  let body = text
  if (filter) {
    const sent = filter.request(request)
    if ('code' in sent) return rpcError(exchange, 200, sent, id)
    // A server may follow what is mirrored, so that has to be what was judged.
    const fault = checkStandardHeaders(exchange.headers, method, params)
    if (fault) return rpcError(exchange, 400, mismatch(fault), id)
    if (sent !== request) headers['mcp-name'] = encodeHeader(String(sent.params.name))
    body = stringify(sent.raw)
  }
  const finish = begin(exchange, request)
  const abort = new Cancellation()
  // Closing the answer is what cancels the request (2026-07-28, Cancellation).
  const unwatch = exchange.onGone(() => abort.abort())
  const done = (failure?: string) => {
    unwatch()
    finish(failure)
  }
  const fail = (message: string) => {
    done(message)
    return json(exchange, errorText(id, { code: INTERNAL_ERROR, message }), 502)
  }
  const answer = await http.send(resolved, {
    method: 'POST',
    headers,
    body,
    signal: abort,
    hold: exchange.stay.hold,
  })
  if (answer instanceof Fault) return fail(answer.message)
  if (filter && method === 'tools/list' && answer.statusCode < 300) {
    const read = await readMessages(answer, limits.maxResponseSize, name)
    if (read instanceof Fault) return fail(read.message)
    const shown = filterTexts(filter, method, id, read.texts)
    if (shown === undefined) return fail(`The server ${name} ended the call without an answer`)
    done()
    return reply(exchange, shown, 'json')
  }
  const { forwardsAuthorization } = definition
  const { maxResponseSize, timeout } = limits
  const options = { id, server: name, forwardsAuthorization, maxResponseSize, timeout, onEnd: done }
  return forwardAnswer(exchange, answer, options)
}
