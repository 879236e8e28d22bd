import { randomUUID } from 'node:crypto'
import { type JsonObject, stringify } from '../../json/index.ts'
import { Fault, isObject, type Message, type RequestId } from '../../mcp/index.ts'
import type { Backoff } from '../../net/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Restored } from '../backend/session-state.ts'
import type { Channel, ChannelEvents } from '../transport/channel.ts'

export type Request = Extract<Message, { kind: 'request' }>
export type Response = Extract<Message, { kind: 'response' }>

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
  lost(fault: Fault, ids?: Iterable<RequestId>): void
  /** A message was not accepted; the request that it answers when that could be found. */
  rejected(id: RequestId | undefined, fault: Fault): void
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
    if (refusal) return Promise.resolve(new Fault('unreachable', refusal))
    return new Promise((resolve) => {
      const timer = setTimeout(
        () =>
          settle(
            new Fault(
              'timeout',
              `The server ${name} did not answer the handshake within ${startupTimeout} ms`,
            ),
          ),
        startupTimeout,
      )
      const settle = (answer: Answer) => {
        if (!handshake) return
        handshake = undefined
        clearTimeout(timer)
        if (answer instanceof Fault) {
          if (answer.kind !== 'busy') backoff.failed(key, answer.message)
          channel?.close()
          channel = undefined
        }
        resolve(answer)
      }
      handshake = { id, settle }
      const made = options.open(channelEvents())
      if (made instanceof Fault) return settle(made)
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
      rejected(id, fault) {
        if (!live || closed) return
        if (handshake && id === handshake.id) handshake.settle(fault)
        else events.rejected(id, fault)
      },
      closed(fault) {
        if (!live || closed) return
        live = false
        channel = undefined
        if (handshake) return handshake.settle(fault)
        events.lost(fault)
      },
    }
  }

  async function reopen(): Promise<Fault | undefined> {
    const id = `${own}${++count}`
    const answer = await open(id, stringify({ ...initialize!.raw, id }))
    if (answer instanceof Fault) return answer
    if (answer.response.raw.error !== undefined)
      return new Fault('lost', `The server ${name} was restarted, but refused the handshake`)
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
      if (closed || !initialize) return new Fault('lost', `The session with the server ${name} has ended`)
      // What only the lost session could make sense of is not worth a new one.
      if (message.kind !== 'request' && !opening) return undefined
      opening ??= reopen().finally(() => {
        opening = undefined
      })
      return opening.then((fault) => fault ?? channel?.send(text) ?? undefined)
    },
    close() {
      if (closed) return
      handshake?.settle(new Fault('lost', `The session with the server ${name} has ended`))
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
export function refusalOf(name: string, { error }: JsonObject): string {
  const said = isObject(error) && typeof error.message === 'string' ? error.message.slice(0, 300) : ''
  return `The server ${name} refused the handshake${said && `: ${said}`}`
}
