import type { JsonObject } from '../../json/index.ts'
import { Fault, isObject, type Message, type RequestId } from '../../mcp/index.ts'
import { LOG_LEVEL, metaOf, SUBSCRIPTION_ID } from '../../mcp/meta.ts'
import type { StatelessCall } from '../backend/stateless.ts'
import type { Notification, PendingRequest, RpcClient } from '../rpc/client.ts'

/** A subscription has no end of its own. */
const LISTEN = 'subscriptions/listen'

/** A child that speaks 2026-07-28 and serves many callers: ids, progress tokens and subscription ids are mapped. */
export class SharedChild {
  /** Milliseconds since the epoch. */
  used = Date.now()

  constructor(
    private readonly client: RpcClient,
    /** Of the values that the child was started with. */
    readonly key: string,
    private readonly name: string,
    events: { listChanged(): void; closed(fault: Fault): void },
  ) {
    client.events = {
      message: (message) => this.#take(message, events.listChanged),
      rejected() {},
      closed: events.closed,
    }
  }

  /** Whether the child has ever answered. */
  get proven(): boolean {
    return this.client.answered
  }

  /** Requests under way. */
  size(): number {
    return this.client.size
  }

  /** Whether a request under way wants log messages, which carry no id and so must be those of one request. */
  logging(): boolean {
    return this.client.any(({ logs }) => logs === true)
  }

  async request({
    message,
    onMessage,
    signal,
  }: Pick<StatelessCall, 'message' | 'onMessage' | 'signal'>): Promise<JsonObject | Fault> {
    const { id, method, params } = message
    const logs = LOG_LEVEL in metaOf(params)
    // The id that a subscription's messages carry is the client's own.
    const tagged = (raw: JsonObject) => onMessage(retagged(raw, 'params', id))
    const options = {
      logs,
      signal,
      onMessage: method === LISTEN ? tagged : onMessage,
      ...(method === LISTEN && { timeout: Infinity }),
    }
    const answer = await this.client.request(method, params, options).answer
    this.used = Date.now()
    if (answer instanceof Fault) return answer
    return { ...(method === LISTEN ? retagged(answer, 'result', id) : answer), id }
  }

  close(): void {
    this.client.close(new Fault('lost', `The server ${this.name} is being closed`))
  }

  #take(message: Message, listChanged: () => void): void {
    if (message.kind !== 'notification') return
    if (message.method === 'notifications/tools/list_changed') listChanged()
    this.#addressee(message)?.onMessage?.(message.raw)
  }

  /** The request that a notification belongs to. */
  #addressee({ method, params }: Notification): PendingRequest | undefined {
    if (method === 'notifications/progress') return undefined
    if (method === 'notifications/cancelled') {
      const request = this.client.pending(params.requestId)
      // Only a subscription may end so; a call is owed an answer.
      const kind = request?.method === LISTEN ? 'cancelled' : 'lost'
      if (request) this.client.settle(request, new Fault(kind, `The server ${this.name} cancelled the call`))
      return undefined
    }
    const subscription = metaOf(params)[SUBSCRIPTION_ID]
    if (subscription !== undefined) return this.client.pending(subscription)
    return this.client.only((request) =>
      method === 'notifications/message' ? request.logs === true : request.method !== LISTEN,
    )
  }
}

/** The message with the client's own id as its subscription id, where it has one. */
function retagged(raw: JsonObject, key: 'params' | 'result', id: RequestId): JsonObject {
  const body = raw[key]
  if (!isObject(body) || metaOf(body)[SUBSCRIPTION_ID] === undefined) return raw
  return { ...raw, [key]: { ...body, _meta: { ...metaOf(body), [SUBSCRIPTION_ID]: id } } }
}
