import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { Fault, InFlight, isObject, type Message, type RequestId } from '../../mcp/index.ts'
import type { StatelessCall } from '../backend/stateless.ts'
import type { Resolved } from '../definition.ts'
import type { Channel, ChannelEvents } from '../transport/channel.ts'
import type { Upstream } from '../upstream.ts'
import { LOG_LEVEL, metaOf, SUBSCRIPTION_ID } from './meta.ts'

/** A child that speaks 2026-07-28 and serves many callers: ids, progress tokens and subscription ids are mapped. */
export interface SharedChild {
  request(
    call: Pick<StatelessCall, 'message' | 'onMessage' | 'signal'>,
  ): Promise<JsonObject | Fault | undefined>
  /** Requests under way. */
  size(): number
  /** Whether one of them asked for log messages, which carry no id and so must be those of one request. */
  logging(): boolean
  close(): void
}

interface Pending {
  id: RequestId
  token: Json | undefined
  logs: boolean
  onMessage(raw: JsonObject): void
  settle(answer: JsonObject | Fault | undefined): void
  timer: NodeJS.Timeout | undefined
}

export function openSharedChild(
  upstream: Upstream,
  resolved: Resolved,
  onEvent: { listChanged(): void; closed(proven: boolean, fault: Fault): void },
): SharedChild | Fault {
  const pending = new InFlight<number, Pending>()
  const { timeout } = upstream.limits
  let count = 0
  let proven = false
  const events: ChannelEvents = {
    message: (message) => take(message),
    rejected(id, fault) {
      const known = id === undefined ? pending.values() : [pending.get(id as number)]
      for (const call of known) call?.settle(fault)
    },
    closed(fault) {
      onEvent.closed(proven, fault)
      const { kind, message } = fault
      for (const call of pending.values())
        call.settle(new Fault(kind, `${message}; the call was not repeated`))
    },
  }
  const opened = upstream.open(resolved, events, undefined)
  if (opened instanceof Fault) return opened
  const channel: Channel = opened

  function take(message: Message): void {
    if (message.kind === 'response') {
      proven = true
      const call = typeof message.id === 'number' ? pending.get(message.id) : undefined
      if (!call) return
      const raw = retagged(message.raw, 'result', message.id, call.id)
      call.settle({ ...raw, id: call.id })
    } else if (message.kind === 'notification') notify(message)
  }

  function notify({ method, params, raw }: Extract<Message, { kind: 'notification' }>): void {
    if (method === 'notifications/tools/list_changed') onEvent.listChanged()
    if (method === 'notifications/progress') {
      const call = pending.get(params.progressToken as number)
      call?.timer?.refresh()
      call?.onMessage({ ...raw, params: { ...params, progressToken: call.token as Json } })
      return
    }
    if (method === 'notifications/cancelled') {
      const call = pending.get(params.requestId as number)
      // Only a subscription may end so; a call is owed an answer.
      call?.settle(
        call.timer ? new Fault('cancelled', `The server ${upstream.name} cancelled the call`) : undefined,
      )
      return
    }
    const subscription = metaOf(params)[SUBSCRIPTION_ID]
    if (subscription !== undefined) {
      const call = pending.get(subscription as number)
      call?.onMessage(retagged(raw, 'params', subscription, call.id))
      return
    }
    // What names no request is of the one that can have such messages, if it is one.
    const calls = pending
      .values()
      .filter(({ logs, timer }) => (method === 'notifications/message' ? logs : timer !== undefined))
    if (calls.length === 1) calls[0]?.onMessage(raw)
  }

  function request({ message, onMessage, signal }: Parameters<SharedChild['request']>[0]) {
    const { id, method, params, raw } = message
    const own = ++count
    const meta = metaOf(params)
    const token = meta.progressToken
    const mapped = token === undefined ? params : { ...params, _meta: { ...meta, progressToken: own } }
    return new Promise<JsonObject | Fault | undefined>((resolve) => {
      const cancel = () => {
        tell('The client went away')
        settle(undefined)
      }
      const tell = (reason: string) => {
        const about = { requestId: own, reason }
        channel.send(stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: about }))
      }
      const settle = (answer: JsonObject | Fault | undefined) => {
        if (!pending.delete(own)) return
        clearTimeout(timer)
        signal.removeEventListener('abort', cancel)
        resolve(answer)
      }
      const expire = () => {
        tell('timed out')
        settle(
          new Fault(
            'timeout',
            `The server said nothing of this call for ${timeout / 1000} s; it was cancelled`,
          ),
        )
      }
      const timer = method === 'subscriptions/listen' ? undefined : setTimeout(expire, timeout)
      pending.set(own, { id, token, logs: LOG_LEVEL in meta, onMessage, settle, timer })
      if (signal.aborted) return settle(undefined)
      signal.addEventListener('abort', cancel)
      const fault = channel.send(stringify({ ...raw, id: own, params: mapped }))
      if (fault) settle(fault)
    })
  }

  return {
    request,
    size: () => pending.size,
    logging: () => pending.values().some(({ logs }) => logs),
    close() {
      channel.close()
      for (const call of pending.values())
        call.settle(new Fault('lost', `The server ${upstream.name} is being ended`))
    },
  }
}

/** The message with the client's own id in place of the gateway's as its subscription id. */
function retagged(raw: JsonObject, key: 'params' | 'result', from: unknown, to: RequestId): JsonObject {
  const body = raw[key]
  if (!isObject(body) || metaOf(body)[SUBSCRIPTION_ID] !== from) return raw
  return { ...raw, [key]: { ...body, _meta: { ...metaOf(body), [SUBSCRIPTION_ID]: to } } }
}
