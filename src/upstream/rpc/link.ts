import { randomUUID } from 'node:crypto'
import { type JsonObject, stringify } from '../../json/index.ts'
import { isObject, type Message, type RequestId } from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Restored } from '../backend/session-state.ts'
import type { Backoff } from '../backoff.ts'
import type { Channel, ChannelEvents } from '../transport/channel.ts'

export type Request = Extract<Message, { kind: 'request' }>
export type Response = Extract<Message, { kind: 'response' }>
/**
 * A sentence for the caller; `busy` when there is no room now, `refused` when the server refused credentials that are
 * the caller's own: the HTTP status and what else the caller must know.
 */
export interface Fault {
  fault: string
  busy?: true
  refused?: Refused
}

export interface Refused {
  status: number
  headers: { 'www-authenticate'?: string }
}

/**
 * A client's session with a server, as long as the client wants it: when the server dies or forgets the
 * session, the next message opens another one with the same handshake.
 */
export interface Link {
  /** Opens the session with the client's `initialize`; resolves with the server's answer. */
  start(request: Request, text: string): Promise<{ response: Response; text: string } | Fault>
  /** Sends a message of the client; a promise only while the server is started anew. */
  send(message: Message, text: string): Fault | undefined | Promise<Fault | undefined>
  close(): void
}

export interface LinkEvents {
  message(message: Message, text: string): void
  /** These requests of the client, or all of them, get no answer any more. */
  lost(reason: string, ids?: Iterable<RequestId>): void
  /** A message was not accepted; the request that it answers when that could be found. */
  rejected(id: RequestId | undefined, reason: string): void
}

export interface LinkOptions {
  /** Opens a channel, or says why not. */
  open(events: ChannelEvents): Channel | Fault
  /** Requests that bring a new session into the state of the lost one; their answers go nowhere. */
  restore(): Restored[]
  startupTimeout: number
  name: string
  backoff: Backoff
  key: string
}

/** What ends a handshake. */
export const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

export function createLink(options: LinkOptions, events: LinkEvents): Link {
  const { startupTimeout, name, backoff, key } = options
  /** Ids of the gateway's own requests begin with this; no client can guess it. */
  const own = `plantgw-${randomUUID()}-`
  let count = 0
  let channel: Channel | undefined
  let opening: Promise<Fault | undefined> | undefined
  let handshake: { id: RequestId; settle: (answer: Answer) => void } | undefined
  let initialize: Request | undefined
  let closed = false

  type Answer = { response: Response; text: string } | Fault

  function open(id: RequestId, text: string): Promise<Answer> {
    const refusal = backoff.refusal(key)
    if (refusal) return Promise.resolve({ fault: refusal })
    return new Promise((resolve) => {
      const timer = setTimeout(
        () =>
          settle({ fault: `The server ${name} did not answer the handshake within ${startupTimeout} ms` }),
        startupTimeout,
      )
      const settle = (answer: Answer) => {
        if (!handshake) return
        handshake = undefined
        clearTimeout(timer)
        if ('fault' in answer) {
          if (!answer.busy) backoff.failed(key, answer.fault)
          channel?.close()
          channel = undefined
        }
        resolve(answer)
      }
      handshake = { id, settle }
      const made = options.open(channelEvents())
      if ('fault' in made) return settle(made)
      channel = made
      const fault = made.send(text)
      if (fault) settle(fault)
    })
  }

  function channelEvents(): ChannelEvents {
    let live = true
    return {
      message(message, text) {
        if (!live || closed) return
        if (message.kind === 'response') {
          if (handshake && message.id === handshake.id) {
            backoff.worked(key)
            return handshake.settle({ response: message, text })
          }
          if (typeof message.id === 'string' && message.id.startsWith(own)) return
        }
        events.message(message, text)
      },
      rejected(id, reason) {
        if (!live || closed) return
        if (handshake && id === handshake.id) handshake.settle({ fault: reason })
        else events.rejected(id, reason)
      },
      closed(reason) {
        if (!live || closed) return
        live = false
        channel = undefined
        if (handshake) return handshake.settle({ fault: reason })
        events.lost(reason)
      },
    }
  }

  async function reopen(): Promise<Fault | undefined> {
    const id = `${own}${++count}`
    const answer = await open(id, stringify({ ...initialize!.raw, id }))
    if ('fault' in answer) return answer
    if (answer.response.raw.error !== undefined)
      return { fault: `The server ${name} was started anew, but refused the handshake` }
    channel?.send(INITIALIZED)
    for (const { method, params } of options.restore())
      channel?.send(stringify({ jsonrpc: '2.0', id: `${own}${++count}`, method, params }))
    return undefined
  }

  return {
    async start(request, text) {
      initialize = request
      return open(request.id, text)
    },
    send(message, text) {
      if (channel && !opening) return channel.send(text)
      if (closed || !initialize) return { fault: `The session with the server ${name} has ended` }
      // What only the lost session could make sense of is not worth a new one.
      if (message.kind !== 'request' && !opening) return undefined
      opening ??= reopen().finally(() => {
        opening = undefined
      })
      return opening.then((fault) => fault ?? channel?.send(text) ?? undefined)
    },
    close() {
      if (closed) return
      handshake?.settle({ fault: `The session with the server ${name} has ended` })
      closed = true
      channel?.close()
      channel = undefined
    },
  }
}

/** Sends what is not answered. */
export function pass(link: Link | undefined, message: Message, text: string): void {
  const outcome = link?.send(message, text)
  if (outcome instanceof Promise) outcome.catch(unexpected('a notification'))
}

/** Why a server gave no handshake, with what it says itself. */
export function refusalOf(name: string, answer: JsonObject | Fault): string {
  const error = 'error' in answer ? answer.error : undefined
  const said = isObject(error) && typeof error.message === 'string' ? error.message.slice(0, 300) : ''
  // What the way to the server says of it is a sentence already.
  if (said.startsWith(`The server ${name} `)) return said
  return `The server ${name} refused the handshake${said && `: ${said}`}`
}
