import { StringDecoder } from 'node:string_decoder'
import { memory } from '../../access/memory.ts'
import { Cancellation, Fault } from '../../mcp/index.ts'
import { eventParser } from '../../net/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Mask } from '../../tools/mask.ts'
import type { Definition, Resolved } from '../definition.ts'
import { type Channel, type ChannelEvents, TOO_LARGE } from './channel.ts'
import { discard, type Http, mediaType, piecesOf } from './http.ts'
import { deliver, readTexts } from './messages.ts'
import { createOutgoing, notTaken } from './outgoing.ts'

export interface HttpChannelOptions {
  http: Http
  /** Bytes of one message of the server. */
  maxMessage: number
  log: Logger
  /** Takes the server's secrets out of what it says. */
  mask: Mask
}

/** HTTP with SSE, the transport of 2024-11-05: a stream names the address that messages are sent to. */
export function openSseChannel(
  { server, forwardsAuthorization: _ }: Definition,
  resolved: Resolved,
  events: ChannelEvents,
  { http, maxMessage, log, mask }: HttpChannelOptions,
): Channel {
  const abort = new Cancellation()
  let closing = false
  let endpoint: Resolved | undefined
  /** Messages until the address is known. */
  let early: string[] | undefined = []
  /** Messages go out one after the other, so that the server gets them in order. */
  let last: Promise<void> = Promise.resolve()
  const outgoing = createOutgoing()

  function fail(fault: Fault): void {
    if (closing) return
    closing = true
    early = []
    outgoing.close()
    abort.abort()
    events.closed(fault)
  }

  function take({ event, data }: { event: string; data: string }): void {
    if (closing) return
    if (event === 'endpoint') locate(data)
    if (event !== 'message') return
    const taken = readTexts(mask(data, true))
    if (!taken.length) log.warn({ server: server.name }, 'ignored an event that is not a message')
    deliver(taken, events, log, { server: server.name })
  }

  function locate(data: string): void {
    const base = `${resolved.origin}${resolved.path}`
    const url = URL.canParse(data, base) ? new URL(data, base) : undefined
    // Credentials must not follow an address to another host (2024-11-05, HTTP with SSE).
    if (url?.origin !== resolved.origin) {
      fail(new Fault('invalid', `The server ${server.name} named an address at another origin`))
      return
    }
    endpoint = { ...resolved, path: url.pathname + url.search }
    for (const text of early ?? []) post(text)
    early = undefined
  }

  function post(body: string): void {
    last = last.then(async () => {
      if (closing || !endpoint) return
      const headers = { 'content-type': 'application/json' }
      const answer = await http.send(endpoint, { method: 'POST', headers, body, signal: abort })
      outgoing.sent(body)
      if (answer instanceof Fault) return fail(answer)
      discard(answer)
      if (answer.status >= 400) {
        const message = `The server ${server.name} refused a message (${answer.status})`
        fail(new Fault('status', message, { status: answer.status }))
      }
    })
  }

  async function listen(): Promise<void> {
    const headers = { accept: 'text/event-stream' }
    const answer = await http.send(resolved, { method: 'GET', headers, signal: abort })
    if (answer instanceof Fault) return fail(answer)
    if (answer.status !== 200 || mediaType(answer) !== 'text/event-stream') {
      discard(answer)
      const message = `The server ${server.name} answered ${answer.status} where an event stream was expected`
      return fail(new Fault('status', message, { status: answer.status }))
    }
    const unfinished = memory.hold()
    const tooLarge = () => events.rejected(undefined, TOO_LARGE)
    const parse = eventParser(maxMessage, take, tooLarge, unfinished)
    const decoder = new StringDecoder('utf8')
    try {
      for await (const chunk of piecesOf(answer)) parse(decoder.write(chunk))
    } catch {
      // The end of the stream says it all.
    }
    unfinished.free()
    fail(new Fault('lost', `The server ${server.name} closed its event stream`))
  }

  return {
    ended: listen(),
    send(text) {
      if (closing) return new Fault('lost', `The session with the server ${server.name} has ended`)
      if (!outgoing.add(text)) return notTaken(server.name)
      if (early) early.push(text)
      else post(text)
      return undefined
    },
    close() {
      closing = true
      early = []
      outgoing.close()
      abort.abort()
    },
  }
}
