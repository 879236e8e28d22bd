import type { Peer } from '../../access/request-lease.ts'
import { type JsonObject, stringify } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  type Call,
  type CancelSignal,
  Fault,
  isObject,
  listKinds,
  type ParamHeader,
  type Request,
  type RequestHeaders,
  type StatelessServer,
  statusOfError,
} from '../../mcp/index.ts'
import type { Shaping } from '../../shaping/index.ts'
import type { Resolved } from '../definition.ts'
import { endOf } from '../sent-requests.ts'
import type { ServerView } from '../server-view.ts'
import { shapedResponse } from '../shaped-result.ts'
import type { ToolFilter } from '../tool-filter.ts'

/** Handles stateless requests for a server of any revision. */
export interface Stateless {
  /** Answers with the JSON-RPC response; undefined if the request was cancelled. */
  request(call: StatelessCall): Promise<JsonObject | Fault | undefined>
  /** The revisions that clients may use. */
  versions(resolved: Resolved): Promise<string[]>
  /** The arguments of a tool that clients mirror into headers. */
  paramHeaders(tool: string, call: StatelessCall): Promise<readonly ParamHeader[]>
  /** Ends a call that waits for input that will not come; absent: calls never wait. */
  abandon?(requestState: string): void
}

export interface StatelessCall {
  readonly message: Request
  /** Headers of the client, names in lower case. */
  readonly headers: RequestHeaders
  /** The caller, if authenticated. */
  readonly caller: string | undefined
  /** Quota key of the call; undefined: the gateway itself. */
  readonly quotaKey?: string
  /** Identifies an anonymous client; undefined: the gateway itself. */
  readonly peer?: Peer
  readonly resolved: Resolved
  /** The client's session, which determines the revision of the answer; absent: it has none. */
  readonly session?: string
  /** Receives messages before the answer. */
  onMessage(raw: JsonObject): void
  /** Called with the shaping of the result, if known only to the aggregate. */
  onShaping?(shaping: Shaping): void
  /** Aborted when the client disconnects, which cancels the request. */
  readonly signal: CancelSignal
}

/** Equal for calls of the same client, as far as known. */
export function whoseCall({ session, caller, peer }: Partial<StatelessCall>): string {
  return session ?? caller ?? peer?.key ?? ''
}

/** One stateless request to a message-based server. */
export class StatelessRequest implements StatelessServer {
  /** @param given the request for the server, before filtering */
  constructor(
    private readonly server: Stateless,
    private readonly given: Request,
    private readonly resolved: Resolved,
    private readonly caller: string | undefined,
    private readonly filter: ToolFilter | undefined,
    private readonly view: ServerView | undefined,
  ) {}

  versions(): Promise<string[]> {
    return this.server.versions(this.resolved)
  }

  async paramHeaders(tool: string, call: Call): Promise<readonly ParamHeader[]> {
    const own = this.filter ? this.filter.ownName(tool) : tool
    return own === undefined ? [] : this.server.paramHeaders(own, this.callOf(call, this.given))
  }

  async request(call: Call): Promise<void> {
    const { filter, given } = this
    const sent = filter ? filter.request(given) : given
    if ('code' in sent) {
      call.error(sent)
      return
    }
    const { span } = call.request
    const message = span ? { ...sent, span } : sent
    let shaping = this.view?.shaping(message, true)
    const onShaping = (given: Shaping) => {
      shaping = given
    }
    const raw = await this.server.request(this.callOf(call, message, onShaping))
    if (!raw) call.cancel()
    else if (raw instanceof Fault) call.fail(raw)
    else return this.answer(call, message, raw, shaping)
  }

  private answer(
    call: Call,
    message: Request,
    raw: JsonObject,
    shaping: Shaping | undefined,
  ): Promise<void> | undefined {
    const text = stringify(raw)
    if (shaping) return answerShaped(call, raw, text, shaping)
    const shown = this.view ? this.view.response(message.method, raw, text) : text
    call.answer(shown, endOf(raw), statusOfError(raw.error))
    return undefined
  }

  private callOf(call: Call, message: Request, onShaping?: StatelessCall['onShaping']): StatelessCall {
    const { headers, lease, peer } = call.context
    return {
      message,
      headers,
      caller: this.caller,
      quotaKey: lease.quotaKey,
      peer,
      resolved: this.resolved,
      signal: call,
      ...(onShaping && { onShaping }),
      onMessage(raw) {
        call.message(stringify(raw))
        const { method, params } = raw
        if (method === ACKNOWLEDGED) call.subscribed(listKinds(isObject(params) && params.notifications))
      },
    }
  }
}

/** Answers with a shaped result. @param text of `raw` */
export async function answerShaped(
  call: Call,
  raw: JsonObject,
  text: string,
  shaping: Shaping,
): Promise<void> {
  const shown = stringify(await shapedResponse(raw, shaping, call.context.results?.keeper(call)))
  const savedChars = text.length - shown.length
  call.answer(shown, { ...endOf(raw), ...(savedChars > 0 && { savedChars }) }, statusOfError(raw.error))
}
