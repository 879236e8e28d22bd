import type { Hono } from 'hono'
import { isObject, type JsonObject, parseVerbatim, stringify } from '../../json/index.ts'
import { clientMeta, declaredParamHeaders, metaOf, ownId, type RecordedCall } from '../../mcp/index.ts'
import { ownEvents } from '../../net/index.ts'
import { mirrored } from '../../upstream/index.ts'

/** A request of the console to one of the gateway's own prefixes. */
export interface OwnRequest {
  /** As in the table. */
  prefix: string
  method: string
  params: JsonObject
  /** Value of the header `Authorization`; absent: the request has no credentials. */
  authorization?: string | undefined
  /** Whether a list has all tools, also where clients search them. */
  whole?: boolean
  /** Schema of the tool's arguments, some of which may be mirrored into headers. */
  inputSchema?: JsonObject | undefined
  /** Receives progress and other messages before the answer. */
  onMessage?: (message: JsonObject) => void
  onRecorded?: (call: RecordedCall) => void
  signal?: AbortSignal
}

/**
 * Sends a request of 2026-07-28 through the gateway's own app, so that login, rules, limits and approval apply as for
 * every client.
 * @param base URL of the gateway for clients
 * @returns the JSON-RPC response, or the body of a refusal
 */
export async function ask(app: Hono, base: string, request: OwnRequest): Promise<JsonObject> {
  const { prefix, method, params, authorization, inputSchema, onMessage, onRecorded, signal, whole } = request
  const own = clientMeta({ elicitation: { form: {}, url: {} } }, { name: 'plantgw-console', version: '1' })
  const sent = { ...params, _meta: { ...metaOf(params), ...own } }
  const headers = {
    ...mirrored(method, sent, declaredParamHeaders(inputSchema ?? {})),
    host: new URL(base).host,
    ...(authorization !== undefined && { authorization }),
  }
  const body = stringify({ jsonrpc: '2.0', id: ownId(), method, params: sent })
  const init = { method: 'POST', headers, body, ...(signal && { signal }) }
  const response = await app.request(`${base}${prefix}/mcp${whole ? '?discovery=list' : ''}`, init, {
    onRecorded,
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream || !response.body) return readAnswer(await response.text(), response.status)
  let answer: JsonObject | undefined
  for await (const { data } of ownEvents(response.body.pipeThrough(new TextDecoderStream()))) {
    const message = data && parseVerbatim(data)
    if (!isObject(message)) continue
    if ('result' in message || 'error' in message) answer = message
    else onMessage?.(message)
  }
  return answer ?? refusal('The call ended without an answer', response.status)
}

function readAnswer(text: string, status: number): JsonObject {
  try {
    const value = parseVerbatim(text)
    if (isObject(value)) return value
  } catch {
    // Answered below.
  }
  return refusal(text.slice(0, 500) || `The gateway answered with the status ${status}`, status)
}

/** @returns a JSON-RPC response */
export function refusal(message: string, status: number): JsonObject {
  return { jsonrpc: '2.0', error: { code: status, message } }
}
