import { HttpResponse } from '../../access/http-response.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import type { Shaping } from '../../json/shaping/index.ts'
import {
  ACKNOWLEDGED,
  type Answer,
  CANCELLED,
  type Call,
  errorAnswer,
  errorText,
  Fault,
  faultAnswer,
  isObject,
  json,
  keeperOf,
  listKinds,
  type ParamHeader,
  type Replicas,
  type Request,
  type StatelessServer,
  stateOf,
  UNKNOWN_STATE,
  withParams,
} from '../../mcp/index.ts'
import type { Resolved } from '../definition.ts'
import { type StatelessUpstream, type UpstreamCall, withRequest } from '../rpc/stateless-upstream.ts'
import { endOf, exchangeOf } from '../sent-requests.ts'
import type { ServerView } from '../view/server-view.ts'
import { shapedResponse } from '../view/shaped-result.ts'
import type { ToolFilter } from '../view/tool-filter.ts'

/** One stateless request to a message-based server. */
export class StatelessRequest implements StatelessServer {
  /** @param given the request for the server, before filtering */
  constructor(
    private readonly server: StatelessUpstream,
    private readonly given: Request,
    private readonly resolved: Resolved,
    private readonly filter: ToolFilter | undefined,
    private readonly view: ServerView | undefined,
  ) {}

  async paramHeaders(tool: string, call: Call): Promise<readonly ParamHeader[]> {
    const own = this.filter ? this.filter.ownName(tool) : tool
    return own === undefined ? [] : this.server.paramHeaders(own, this.callOf(call, this.given))
  }

  async request(call: Call): Promise<Answer> {
    const { filter, given, view } = this
    const sent = filter ? filter.request(given) : given
    if ('code' in sent) return errorAnswer(call, sent)
    const { span } = call.request
    const message = span ? { ...sent, span } : sent
    let shaping = view?.shaping(message, true)
    const onShaping = (given: Shaping) => {
      shaping = given
    }
    const begin = performance.now()
    const raw = await this.server.request(this.callOf(call, message, onShaping))
    call.onExchange?.(exchangeOf(view && this.resolved, message, raw, begin))
    if (!raw) return CANCELLED
    if (raw instanceof Fault) return faultAnswer(call, raw)
    const text = stringify(raw)
    if (shaping) return shapedAnswer(call, raw, text, shaping)
    return { text: view ? view.response(message.method, raw, text) : text, end: endOf(raw) }
  }

  private callOf(call: Call, message: Request, onShaping?: UpstreamCall['onShaping']): UpstreamCall {
    const { headers, caller, lease, peer } = call.context
    return {
      message,
      headers,
      caller,
      quotaKey: lease.quotaKey,
      peer,
      resolved: this.resolved,
      signal: call.signal,
      ...(onShaping && { onShaping }),
      onMessage(raw) {
        call.message(stringify(raw))
        const { method, params } = raw
        if (method === ACKNOWLEDGED) call.subscribed(listKinds(isObject(params) && params.notifications))
      },
    }
  }
}

/** The answer with a shaped result. @param text of `raw` */
export async function shapedAnswer(
  call: Call,
  raw: JsonObject,
  text: string,
  shaping: Shaping,
): Promise<Answer> {
  const shown = stringify(await shapedResponse(raw, shaping, keeperOf(call)))
  const savedChars = text.length - shown.length
  return { text: shown, end: { ...endOf(raw), ...(savedChars > 0 && { savedChars }) } }
}

/**
 * Routes a continued call to the replica in its `requestState`: returns the request for the server, or the answer of
 * that replica.
 * @param text of the request as received
 */
export async function resumed(
  replicas: Replicas,
  request: Request,
  text: string,
): Promise<Request | HttpResponse> {
  const { requestState } = request.params
  if (requestState === undefined) return request
  const state = await stateOf(replicas, String(requestState), text, request.id)
  if (state instanceof HttpResponse) return state
  if (state === undefined) return json(errorText(request.id, UNKNOWN_STATE))
  return withParams(request, { ...request.params, requestState: state })
}

/** The server with waiting calls that every replica can find. */
export function withStates(server: StatelessUpstream, replicas: Replicas): StatelessUpstream {
  return withRequest(server, async (call) => {
    const raw = await server.request(call)
    if (!raw || !('result' in raw) || !isObject(raw.result)) return raw
    const { resultType, requestState } = raw.result
    if (resultType !== 'input_required' || typeof requestState !== 'string') return raw
    const result: JsonObject = { ...raw.result, requestState: replicas.seal(requestState) }
    return { ...raw, result }
  })
}
