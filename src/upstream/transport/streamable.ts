import { StringDecoder } from 'node:string_decoder'
import { memory } from '../../access/memory.ts'
import { type Json, parse } from '../../json/index.ts'
import { Cancellation, Fault, InFlight, isObject, type RequestId } from '../../mcp/index.ts'
import { eventParser } from '../../net/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Definition, Resolved } from '../definition.ts'
import { type Channel, type ChannelEvents, FAILED, TOO_LARGE } from './channel.ts'
import { discard, type HttpAnswer, mediaType, piecesOf, readText } from './http.ts'
import { deliver, readTexts } from './messages.ts'
import { createOutgoing, notTaken } from './outgoing.ts'
import type { HttpChannelOptions } from './sse.ts'

const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** A session with a streamable HTTP server of a session-based revision, as one channel of messages. */
export function openStreamable(
  { server }: Definition,
  resolved: Resolved,
  events: ChannelEvents,
  { http, maxMessage, log }: HttpChannelOptions,
): Channel {
  const abort = new Cancellation()
  let closing = false
  let sessionId: string | undefined
  let revision: string | undefined
  let listening = false
  /** Requests wait for the notifications and responses before them, as those must have arrived. */
  let noted: Promise<void> = Promise.resolve()
  /** Requests without an answer. */
  const awaited = new Set<RequestId>()
  const work = new InFlight<Promise<void>, true>()
  const outgoing = createOutgoing()
  let finish: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    finish = resolve
  })

  function track(promise: Promise<void>): void {
    const tracked = promise
      .catch(unexpected('a session over streamable HTTP', fall))
      .finally(() => work.delete(tracked))
    work.set(tracked, true)
  }
  /** Ends the session because of a fault of the gateway's own. */
  function fall(): void {
    if (closing) return
    close()
    events.closed(new Fault('internal', FAILED))
  }
  function close(): void {
    if (closing) return
    closing = true
    outgoing.close()
    abort.abort()
    if (sessionId !== undefined) track(note('DELETE'))
    Promise.all(work.keys()).then(finish, finish)
  }
  function headers(): Record<string, string> {
    return {
      ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
      ...(revision !== undefined && { 'mcp-protocol-version': revision }),
    }
  }

  /** @param own the request in whose answer it came */
  function take(data: string, own?: RequestId): void {
    if (closing) return
    const taker: Pick<ChannelEvents, 'message' | 'rejected'> = {
      message(message, text) {
        if (message.kind === 'response' && message.id !== null) {
          awaited.delete(message.id)
          const { result } = message.raw
          if (isObject(result) && typeof result.protocolVersion === 'string')
            revision ??= result.protocolVersion
        }
        events.message(message, text)
      },
      rejected(id = own, fault) {
        if (id !== undefined) awaited.delete(id)
        events.rejected(id, fault)
      },
    }
    deliver(readTexts(data), taker, log, { server: server.name })
  }

  async function read(answer: HttpAnswer, id?: RequestId): Promise<void> {
    const oversized = () => events.rejected(id, TOO_LARGE)
    const unfinished = memory.hold()
    try {
      if (mediaType(answer) === 'text/event-stream') {
        const parser = eventParser(maxMessage, ({ data }) => take(data, id), oversized, unfinished)
        const decoder = new StringDecoder('utf8')
        for await (const chunk of piecesOf(answer)) parser(decoder.write(chunk))
      } else {
        const text = await readText(answer, maxMessage)
        if (text === undefined) oversized()
        else take(text, id)
      }
    } catch {
      // What is still awaited says that the answer ended early.
    }
    unfinished.free()
  }

  /** Answers a request in the server's place. */
  function fail(id: RequestId, fault: Fault): void {
    if (!closing && awaited.delete(id)) events.rejected(id, fault)
  }

  async function request(body: string, id: RequestId, before: Promise<void>): Promise<void> {
    await before
    if (closing) return
    awaited.add(id)
    const options = {
      method: 'POST',
      headers: { ...ACCEPT, ...headers() },
      body,
      signal: abort,
    } as const
    const answer = await http.send(resolved, options)
    if (answer instanceof Fault) return fail(id, answer)
    if (answer.status === 404 && sessionId !== undefined) {
      discard(answer)
      sessionId = undefined
      if (closing) return
      close()
      return events.closed(new Fault('lost', `The server ${server.name} has forgotten the session`))
    }
    const given = answer.headers['mcp-session-id']
    if (given !== undefined) sessionId ??= String(given)
    await read(answer, id)
    fail(id, unanswered(server.name, answer.status))
  }

  /** Sends what is not answered. */
  async function note(method: 'POST' | 'DELETE', body?: string): Promise<void> {
    const sent = { ...(body !== undefined && ACCEPT), ...headers() }
    const answer = await http.send(resolved, { method, headers: sent, ...(body !== undefined && { body }) })
    if (!(answer instanceof Fault)) discard(answer)
  }

  /** The stream for what answers no request; servers may have none. */
  async function listen(): Promise<void> {
    const sent = { accept: 'text/event-stream', ...headers() }
    const answer = await http.send(resolved, { method: 'GET', headers: sent, signal: abort })
    if (answer instanceof Fault) return
    if (answer.status === 200 && mediaType(answer) === 'text/event-stream') await read(answer)
    else discard(answer)
  }

  return {
    ended,
    close,
    send(text) {
      if (closing) return new Fault('lost', `The session with the server ${server.name} has ended`)
      const value = jsonOf(text)
      const id = isObject(value) && 'method' in value ? value.id : undefined
      if (typeof id === 'string' || typeof id === 'number') {
        track(request(text, id, noted))
        return undefined
      }
      if (!outgoing.add(text)) return notTaken(server.name)
      noted = noted.then(() => (closing ? undefined : note('POST', text))).finally(() => outgoing.sent(text))
      track(noted)
      if (isObject(value) && value.method === 'notifications/initialized' && !listening) {
        listening = true
        track(noted.then(() => (closing ? undefined : listen())))
      }
      return undefined
    },
  }
}

/** The fault of an answer that holds no response. */
export function unanswered(server: string, status: number): Fault {
  if (status === 200) return new Fault('invalid', `The server ${server} ended the call without an answer`)
  return new Fault('status', `The server ${server} ended the call with the status ${status}`, { status })
}

function jsonOf(text: string): Json | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
