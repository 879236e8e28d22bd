import { ExactNumber, isObject, type Json, type JsonObject, stringify } from '../json/index.ts'

export { isObject }

/** Codes of JSON-RPC 2.0 and of MCP 2026-07-28 (basic, Error Codes). */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
export const HEADER_MISMATCH = -32020
export const UNSUPPORTED_PROTOCOL_VERSION = -32022

export type RequestId = string | number

/** Messages of a batch at the most. */
export const MAX_BATCH = 100
/** Characters of an id at the most. */
const MAX_ID = 256
/** Characters of a method at the most: it goes into errors and log lines. */
const MAX_METHOD = 256

export interface RpcError {
  code: number
  message: string
  data?: Json
}

export type Message =
  | { kind: 'request'; id: RequestId; method: string; params: JsonObject; raw: JsonObject }
  | { kind: 'notification'; method: string; params: JsonObject; raw: JsonObject }
  | { kind: 'response'; id: RequestId | null; raw: JsonObject }
  | { kind: 'invalid'; id: RequestId | null; code: number; reason: string }

export type Request = Extract<Message, { kind: 'request' }>
export type Notification = Extract<Message, { kind: 'notification' }>
export type Response = Extract<Message, { kind: 'response' }>

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= MAX_ID : Number.isSafeInteger(value)
}

/** Whether a value is what JSON-RPC takes for an id, but is larger than the gateway takes. */
function isHugeId(value: unknown): boolean {
  const isNumber = typeof value === 'bigint' || value instanceof ExactNumber || Number.isInteger(value)
  return (typeof value === 'string' || isNumber) && !isId(value)
}

/** What a JSON value is as a JSON-RPC message; `reason` says what is wrong with an invalid one. */
export function readMessage(raw: Json): Message {
  if (!isObject(raw)) return invalid(null, 'a message is a JSON object')
  const { id, method, params } = raw
  if (isHugeId(id))
    return invalid(
      null,
      `"id" must have at most ${MAX_ID} characters, or be an integer that a double holds`,
      PARSE_ERROR,
    )
  const answerTo = isId(id) ? id : null
  if (raw.jsonrpc !== '2.0') return invalid(answerTo, '"jsonrpc" must be "2.0"')
  const answers = 'result' in raw || 'error' in raw
  if (method === undefined) {
    if (!answers) return invalid(answerTo, '"method" is missing')
    return { kind: 'response', id: answerTo, raw }
  }
  if (answers) return invalid(answerTo, 'a message has either "method" or a result')
  if (typeof method !== 'string') return invalid(answerTo, '"method" must be a string')
  if (method.length > MAX_METHOD)
    return invalid(answerTo, `"method" must have at most ${MAX_METHOD} characters`)
  if (params !== undefined && !isObject(params)) return invalid(answerTo, '"params" must be an object')
  if (!('id' in raw)) {
    // A call that wants no answer would pass by what judges calls.
    if (!method.startsWith('notifications/'))
      return invalid(null, `"id" is missing: ${method.slice(0, 80)} is a request`)
    return { kind: 'notification', method, params: params ?? {}, raw }
  }
  if (answerTo === null) return invalid(null, '"id" must be a string or an integer')
  return { kind: 'request', id: answerTo, method, params: params ?? {}, raw }
}

function invalid(id: RequestId | null, reason: string, code = INVALID_REQUEST): Message {
  return { kind: 'invalid', id, code, reason }
}

/** The text of a response with a result that is JSON text already. */
export function resultText(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${result}}`
}

export function errorText(id: RequestId | null, { code, message, data }: RpcError): string {
  const error = data === undefined ? { code, message } : { code, message, data }
  return `{"jsonrpc":"2.0","id":${idText(id)},"error":${stringify(error)}}`
}

export function notificationText(method: string, params?: JsonObject): string {
  return stringify(params ? { jsonrpc: '2.0', method, params } : { jsonrpc: '2.0', method })
}

function idText(id: RequestId | null): string {
  return typeof id === 'string' ? JSON.stringify(id) : String(id)
}
