import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  Cancellation,
  type CancelSignal,
  Fault,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  InFlight,
  isObject,
  negotiate,
  type RequestId,
  type RpcError,
  readMessage,
  STATELESS_REVISIONS,
} from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { levelOf, maySubscribe } from '../backend/session-state.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import type { Resolved } from '../definition.ts'
import type { Link, LinkEvents, Request, Response } from '../rpc/link.ts'
import { FAILED } from '../transport/channel.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  metaOf,
  omit,
  PROTOCOL_VERSION,
  SERVER_INFO,
  SUBSCRIPTION_ID,
} from './meta.ts'

export interface ToModernOptions {
  server: Stateless
  resolved: Resolved
  caller: string | undefined
  /** Whose share of the limits it is. */
  sharer: string
  name: string
}

/** Rounds of input that one call may take. */
const MAX_ROUNDS = 32

/**
 * A client's session in front of a server of 2026-07-28, which knows no sessions: what a session holds (the
 * client's capabilities, log level, subscriptions) is kept here and sent with each request, and the input that
 * a server requires is asked for as requests to the client.
 */
export function createToModern(
  { server, resolved, caller, sharer, name }: ToModernOptions,
  events: LinkEvents,
): Link {
  const calls = new InFlight<RequestId, Cancellation>()
  /** Requests to the client that it has not answered. */
  const asked = new Map<string, (answer: JsonObject) => void>()
  const own = `plantgw-${randomUUID()}`
  let count = 0
  let meta: JsonObject = {}
  let level: Json | undefined
  let changes: JsonObject = {}
  const uris = new Set<string>()
  let listening: Cancellation | undefined
  let closed = false

  function emit(raw: JsonObject): void {
    if (!closed) events.message(readMessage(raw), stringify(raw))
  }
  function answer(id: RequestId, result: JsonObject): void {
    emit({ jsonrpc: '2.0', id: id as Json, result })
  }
  function refuse(id: RequestId, error: RpcError): void {
    emit({ jsonrpc: '2.0', id: id as Json, error: { ...error } as JsonObject })
  }

  function statelessCall(
    { id, method }: Pick<Request, 'id' | 'method'>,
    given: JsonObject,
    onMessage: (raw: JsonObject) => void,
    signal: CancelSignal,
  ): StatelessCall {
    const params = {
      ...given,
      _meta: { ...metaOf(given), ...meta, ...(level !== undefined && { [LOG_LEVEL]: level }) },
    }
    const raw: JsonObject = { jsonrpc: '2.0', id: id as Json, method, params }
    return {
      message: { kind: 'request', id, method, params, raw },
      headers: {},
      caller,
      sharer,
      resolved,
      ofSession: true,
      onMessage,
      signal,
    }
  }

  async function start(request: Request): Promise<{ response: Response; text: string } | Fault> {
    const { id, params } = request
    meta = {
      [PROTOCOL_VERSION]: STATELESS_REVISIONS[0],
      [CLIENT_CAPABILITIES]: isObject(params.capabilities) ? params.capabilities : {},
      ...(isObject(params.clientInfo) && { [CLIENT_INFO]: params.clientInfo }),
    }
    const call = statelessCall({ id, method: 'server/discover' }, {}, () => {}, new Cancellation())
    const raw = await server.request(call)
    if (!raw) return new Fault('lost', `The server ${name} did not answer`)
    if (raw instanceof Fault) return raw
    const { result } = raw
    if (!isObject(result)) return respond({ ...raw, id: id as Json })
    const capabilities = isObject(result.capabilities) ? result.capabilities : {}
    for (const list of ['tools', 'prompts', 'resources'])
      if (isObject(capabilities[list]) && capabilities[list].listChanged === true)
        changes[`${list}ListChanged`] = true
    const { instructions } = result
    const initialized = {
      protocolVersion: negotiate(String(params.protocolVersion)),
      capabilities,
      serverInfo: metaOf(result)[SERVER_INFO] ?? { name, version: '' },
      ...(instructions !== undefined && { instructions }),
    }
    return respond({ jsonrpc: '2.0', id: id as Json, result: initialized })
  }

  function respond(raw: JsonObject): { response: Response; text: string } {
    return { response: readMessage(raw) as Response, text: stringify(raw) }
  }

  async function call(request: Request): Promise<void> {
    const { id, method, params } = request
    const abort = new Cancellation()
    calls.set(id, abort)
    let given = params
    for (let round = 0; round < MAX_ROUNDS; round++) {
      // Each round is a request of its own (Multi Round-Trip Requests, Client Requirements).
      const asId = round === 0 ? id : `${own}-${++count}`
      const raw = await server.request(statelessCall({ id: asId, method }, given, emit, abort))
      if (!raw || abort.aborted) break
      if (raw instanceof Fault) {
        refuse(id, { code: INTERNAL_ERROR, message: raw.message })
        break
      }
      const { result } = raw
      if (!isObject(result) || result.resultType !== 'input_required') {
        emit(
          isObject(result)
            ? { ...raw, id: id as Json, result: forSession(result) }
            : { ...raw, id: id as Json },
        )
        break
      }
      const inputs = await askAll(isObject(result.inputRequests) ? result.inputRequests : {})
      if (abort.aborted) break
      if ('error' in inputs) {
        emit({ jsonrpc: '2.0', id: id as Json, error: inputs.error as Json })
        break
      }
      const { requestState } = result
      given = { ...params, ...inputs, ...(requestState !== undefined && { requestState }) }
      if (round === MAX_ROUNDS - 1)
        refuse(id, {
          code: INTERNAL_ERROR,
          message: `The server ${name} asked for input ${MAX_ROUNDS} times`,
        })
    }
    calls.delete(id)
  }

  /** Asks the client for all of them at once. */
  async function askAll(requests: JsonObject): Promise<{ inputResponses?: JsonObject } | { error: Json }> {
    const entries = Object.entries(requests)
    const answers = await Promise.all(entries.map(([, request]) => ask(request)))
    const failed = answers.find(({ result }) => result === undefined)
    if (failed)
      return { error: failed.error ?? { code: INTERNAL_ERROR, message: 'The client gave no answer' } }
    if (!entries.length) return {}
    return {
      inputResponses: Object.fromEntries(entries.map(([key], i) => [key, answers[i]!.result as Json])),
    }
  }

  function ask(request: Json | undefined): Promise<JsonObject> {
    const { method = '', params } = isObject(request) ? request : {}
    const id = `${own}-${++count}`
    // The session-based revisions name an elicitation by URL (2025-11-25, Elicitation).
    const named =
      isObject(params) && params.mode === 'url' ? { elicitationId: randomUUID(), ...params } : params
    return new Promise((resolve) => {
      asked.set(id, resolve)
      emit({ jsonrpc: '2.0', id, method, ...(named !== undefined && { params: named }) })
    })
  }

  /** Opens a stream of changes with what is wanted now, and ends the one before; resolves when it is open. */
  function listen(): Promise<void> {
    const before = listening
    const wanted = { ...changes, ...(uris.size && { resourceSubscriptions: [...uris] }) }
    if (!Object.keys(wanted).length) {
      before?.abort()
      return Promise.resolve()
    }
    const abort = new Cancellation()
    listening = abort
    return new Promise((resolve) => {
      const onMessage = (raw: JsonObject) => {
        if (raw.method === 'notifications/subscriptions/acknowledged') {
          before?.abort()
          resolve()
        } else emit(untagged(raw))
      }
      const id = `${own}-${++count}`
      const request = { id, method: 'subscriptions/listen' }
      const opened = server.request(statelessCall(request, { notifications: wanted }, onMessage, abort))
      opened.then(() => resolve()).catch(unexpected('subscriptions/listen', resolve))
    })
  }

  function take(request: Request): void {
    const { id, method, params } = request
    const failed = unexpected(method, () => {
      calls.delete(id)
      refuse(id, { code: INTERNAL_ERROR, message: FAILED })
    })
    switch (method) {
      case 'ping':
        answer(id, {})
        break
      case 'initialize':
        refuse(id, { code: INVALID_REQUEST, message: 'The session is initialized already' })
        break
      case 'logging/setLevel':
        level = levelOf(params)
        answer(id, {})
        break
      case 'resources/subscribe':
        if (!maySubscribe(uris.size, String(params.uri))) {
          refuse(id, { code: INVALID_PARAMS, message: 'The session has too many subscriptions' })
          break
        }
        uris.add(String(params.uri))
        listen()
          .then(() => answer(id, {}))
          .catch(failed)
        break
      case 'resources/unsubscribe':
        uris.delete(String(params.uri))
        listen()
          .then(() => answer(id, {}))
          .catch(failed)
        break
      default:
        call(request).catch(failed)
    }
  }

  return {
    start,
    send(message) {
      if (closed) return new Fault('lost', `The session with the server ${name} has ended`)
      // An answer to a request that was just received comes after it.
      if (message.kind === 'request') queueMicrotask(() => take(message))
      else if (message.kind === 'response') {
        asked.get(String(message.id))?.(message.raw)
        asked.delete(String(message.id))
      } else if (message.kind === 'notification') {
        if (message.method === 'notifications/initialized') listen().catch(unexpected('subscriptions/listen'))
        if (message.method === 'notifications/cancelled')
          calls.get(message.params.requestId as RequestId)?.abort()
      }
      return undefined
    },
    close() {
      closed = true
      listening?.abort()
      for (const abort of calls.values()) abort.abort()
      for (const resolve of asked.values()) resolve({})
      changes = {}
    },
  }
}

/** A result without what only 2026-07-28 has. */
function forSession(result: JsonObject): JsonObject {
  const meta = omit(metaOf(result), SERVER_INFO)
  const rest = omit(result, 'resultType', 'ttlMs', 'cacheScope', '_meta')
  return Object.keys(meta).length ? { ...rest, _meta: meta } : rest
}

function untagged(raw: JsonObject): JsonObject {
  const { params } = raw
  if (!isObject(params)) return raw
  const meta = omit(metaOf(params), SUBSCRIPTION_ID)
  const rest = omit(params, '_meta')
  return { ...raw, params: Object.keys(meta).length ? { ...rest, _meta: meta } : rest }
}
