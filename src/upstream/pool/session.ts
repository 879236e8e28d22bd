import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  Fault,
  InFlight,
  isObject,
  METHOD_NOT_FOUND,
  type Message,
  SESSION_REVISIONS,
} from '../../mcp/index.ts'
import { omit } from '../bridge/meta.ts'
import type { Resolved } from '../definition.ts'
import { type Request, refusalOf } from '../rpc/link.ts'
import type { Channel, ChannelEvents } from '../transport/channel.ts'
import type { Upstream } from '../upstream.ts'

/** A request of a server to its client. */
export type Ask = Request

/** What a call in a seat hears. */
export interface SeatCall {
  onMessage(raw: JsonObject): void
  /** The server asks the client something; without it the server is told that nobody answers. */
  onAsk?(ask: Ask): void
  /** Whether log messages are of interest. */
  logs: boolean
}

/** A session with a server that the gateway holds itself, with ids of its own, for callers without sessions. */
export interface Seat {
  /** `initialize`'s result, or why there is none. */
  readonly ready: Promise<JsonObject | Fault>
  /** Sends a request; the promise gives the response with `id` to be replaced, or a fault. */
  request(
    method: string,
    params: JsonObject,
    call?: SeatCall,
  ): { answer: Promise<JsonObject | Fault>; cancel(reason: string): void }
  /** Answers a request of the server. */
  respond(ask: Ask, answer: { result: Json } | { error: Json }): void
  /** Hears list changes and resource updates. */
  readonly listeners: Set<(method: string, params: JsonObject) => void>
  /** Run when the session has ended. */
  readonly onEnd: Set<() => void>
  /** Requests under way. */
  size(): number
  close(): void
}

interface Pending {
  token: Json | undefined
  call: SeatCall | undefined
  settle(answer: JsonObject | Fault): void
  timer: NodeJS.Timeout
}

/** Opens a session with the capabilities of the callers it is for. */
export function openSeat(
  upstream: Upstream,
  resolved: Resolved,
  capabilities: JsonObject,
  clientInfo: JsonObject,
  onClosed: () => void,
  onListChanged: (method: string) => void,
  sharer: string | undefined,
): Seat {
  const pending = new InFlight<string, Pending>()
  const listeners: Seat['listeners'] = new Set()
  const onEnd: Seat['onEnd'] = new Set()
  /** Ids of seats differ, so that what comes late from one can't be taken for another's. */
  const own = randomUUID().slice(0, 8)
  const { timeout } = upstream.limits
  const { startupTimeout } = upstream.definition.server
  let count = 0
  let channel: Channel | undefined
  let lost: Fault | undefined

  function end(fault: Fault): void {
    if (lost) return
    lost = fault
    onClosed()
    for (const call of pending.values()) call.settle(fault)
    listeners.clear()
    for (const listener of [...onEnd]) listener()
    onEnd.clear()
  }

  function take(message: Message): void {
    if (message.kind === 'response') pending.get(String(message.id))?.settle(message.raw)
    else if (message.kind === 'request') ask(message)
    else if (message.kind === 'notification') notify(message)
  }

  /** The one call that hears what names no call; seats are given out so that there is one at the most. */
  function hearer(wants: (call: SeatCall) => boolean): Pending | undefined {
    const calls = pending.values().filter(({ call }) => call && wants(call))
    return calls.length === 1 ? calls[0] : undefined
  }

  function ask(message: Ask): void {
    if (message.method === 'ping') {
      respond(message, { result: {} })
      return
    }
    const found = hearer(({ onAsk }) => onAsk !== undefined)
    found?.timer.refresh()
    if (found?.call?.onAsk) found.call.onAsk(message)
    else respond(message, { error: { code: METHOD_NOT_FOUND, message: 'No client can answer this now' } })
  }

  function notify({ method, params, raw }: Extract<Message, { kind: 'notification' }>): void {
    if (method === 'notifications/progress') {
      const found = pending.get(String(params.progressToken))
      found?.timer.refresh()
      if (found?.token !== undefined)
        found.call?.onMessage({ ...raw, params: { ...params, progressToken: found.token } })
    } else if (/\/(?:list_changed|updated)$/.test(method)) {
      for (const listener of listeners) listener(method, params)
      if (method.endsWith('/list_changed')) onListChanged(method)
    } else if (method === 'notifications/message') hearer(({ logs }) => logs)?.call?.onMessage(raw)
    else if (!/^notifications\/(?:cancelled|elicitation\/complete)$/.test(method))
      hearer(() => true)?.call?.onMessage(raw)
  }

  function respond({ id }: Ask, answer: { result: Json } | { error: Json }): void {
    channel?.send(stringify({ jsonrpc: '2.0', id, ...answer }))
  }

  const request: Seat['request'] = (method, params, call) => {
    const id = `${own}-${++count}`
    const meta = isObject(params._meta) ? params._meta : {}
    const token = meta.progressToken
    const tell = (reason: string) => {
      const about = { requestId: id, reason }
      channel?.send(stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: about }))
    }
    const answer = new Promise<JsonObject | Fault>((resolve) => {
      const settle = (given: JsonObject | Fault) => {
        if (!pending.delete(id)) return
        clearTimeout(timer)
        resolve(given)
      }
      const begins = method === 'initialize'
      const expire = () => {
        const late = `The server ${upstream.name} did not answer the handshake within ${startupTimeout} ms`
        // A handshake cannot be cancelled (2025-11-25, Cancellation).
        if (begins) return settle(new Fault('timeout', late))
        tell('timed out')
        settle(
          new Fault(
            'timeout',
            `The server said nothing of this call for ${timeout / 1000} s; it was cancelled`,
          ),
        )
      }
      const timer = setTimeout(expire, begins ? startupTimeout : timeout)
      pending.set(id, { token, call, settle, timer })
    })
    // Outside of what is kept until the answer: parameters may be large.
    const sent = { ...omit(params, '_meta'), ...withToken(meta, token === undefined ? undefined : id) }
    const fault = lost ?? channel?.send(stringify({ jsonrpc: '2.0', id, method, params: sent }))
    if (fault) pending.get(id)?.settle(fault)
    const cancel = (reason: string) => {
      tell(reason)
      pending.get(id)?.settle(new Fault('cancelled', 'The call was cancelled'))
    }
    return { answer, cancel }
  }

  async function start(): Promise<JsonObject | Fault> {
    const refusal = upstream.backoff.refusal(resolved.key)
    if (refusal) return failed(new Fault('unreachable', refusal))
    const events: ChannelEvents = {
      message: take,
      rejected(id, fault) {
        const known = id === undefined ? pending.values() : [pending.get(String(id))]
        for (const call of known) call?.settle(fault)
      },
      closed: ({ kind, message }) => end(new Fault(kind, `${message}; the call was not repeated`)),
    }
    const opened = upstream.open(resolved, events, sharer)
    if (opened instanceof Fault) return failed(opened)
    channel = opened
    const params = { protocolVersion: SESSION_REVISIONS[0], capabilities, clientInfo }
    const raw = await request('initialize', params).answer
    const result = 'result' in raw ? raw.result : undefined
    if (!isObject(result)) {
      const fault = raw instanceof Fault ? raw : new Fault('unreachable', refusalOf(upstream.name, raw))
      upstream.backoff.failed(resolved.key, fault.message)
      return failed(fault)
    }
    upstream.backoff.worked(resolved.key)
    channel.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return result
  }

  function failed(fault: Fault): Fault {
    end(fault)
    channel?.close()
    return fault
  }

  return {
    // Not before the caller holds the seat.
    ready: Promise.resolve().then(start),
    request,
    respond,
    listeners,
    onEnd,
    size: () => pending.size + listeners.size,
    close() {
      channel?.close()
      end(new Fault('lost', `The session with the server ${upstream.name} has ended`))
    },
  }
}

function withToken(meta: JsonObject, token: Json | undefined): JsonObject {
  const rest = omit(meta, 'progressToken')
  const sent = token === undefined ? rest : { ...rest, progressToken: token }
  return Object.keys(sent).length ? { _meta: sent } : {}
}
