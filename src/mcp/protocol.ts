import {
  ExactNumber,
  isObject,
  type Json,
  type JsonObject,
  type KeyWatch,
  plain,
  stringify,
} from '../json/index.ts'
import type { Span } from '../telemetry/trace.ts'
import { fold } from '../text/index.ts'

/** Revisions with a handshake and, over HTTP, a session; newest first. */
export const SESSION_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
/** Stateless revisions; newest first. */
export const STATELESS_REVISIONS = ['2026-07-28'] as const

export const REVISIONS = [...STATELESS_REVISIONS, ...SESSION_REVISIONS] as const

export type SessionRevision = (typeof SESSION_REVISIONS)[number]
export type Revision = (typeof REVISIONS)[number]

export function isSessionRevision(version: unknown): version is SessionRevision {
  return SESSION_REVISIONS.includes(version as SessionRevision)
}

export function isStatelessRevision(version: unknown): boolean {
  return STATELESS_REVISIONS.includes(version as (typeof STATELESS_REVISIONS)[number])
}

/** Features that only some revisions have. Revisions are dates, so they compare as texts. */
const FEATURES = {
  /** JSON-RPC batches; removed in 2025-06-18. */
  batches: (revision) => revision <= '2025-03-26',
  /** Questions to the user (Elicitation). */
  elicitation: (revision) => revision >= '2025-06-18',
  /** Links to resources in results (Tools, Resource Links). */
  resourceLinks: (revision) => revision >= '2025-06-18',
  /** Questions that send the user to a page (Elicitation, URL mode). */
  urlElicitation: (revision) => revision >= '2025-11-25',
  /** Events without data, from which a client resumes (Transports). */
  emptyEvents: (revision) => revision === '2025-11-25',
  /** How long results may be kept, and by whom (Caching). */
  caching: (revision) => revision >= '2026-07-28',
  /** Tasks that the server may start (Tasks extension). */
  taskExtension: (revision) => revision >= '2026-07-28',
  /** Tasks that the client asks for; an extension in 2026-07-28. */
  tasks: (revision) => revision === '2025-11-25',
} satisfies Record<string, (revision: string) => boolean>

/** Whether a revision has a feature. */
export function has(feature: keyof typeof FEATURES, revision: string): boolean {
  return FEATURES[feature](revision)
}

/** The revision of a session before `initialize` negotiates one; that of HTTP with SSE is older. */
export const FIRST_REVISION: SessionRevision = '2025-11-25'
export const FIRST_SSE_REVISION: SessionRevision = '2024-11-05'

/** The revision of a session whose client requests `version` (2025-11-25, basic/lifecycle). */
export function negotiate(version: string): SessionRevision {
  return isSessionRevision(version) ? version : SESSION_REVISIONS[0]
}

export { fold, isObject }

/** Codes of JSON-RPC 2.0 and of MCP 2026-07-28 (basic, Error Codes). */
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** Server-defined code (JSON-RPC 2.0, 5.1): too many requests. */
export const RATE_LIMITED = -32000
export const HEADER_MISMATCH = -32020
export const UNSUPPORTED_PROTOCOL_VERSION = -32022

export type RequestId = string | number

/** Maximum messages in a batch. */
export const MAX_BATCH = 100
/** Maximum characters of an id. */
const MAX_ID = 256
/** Maximum characters of a method, which appears in errors and log lines. */
const MAX_METHOD = 256

export type RpcError = {
  code: number
  message: string
  data?: Json
}

/** The error for an unknown resource, which has another code before 2026-07-28 (its changelog, minor changes, 6). */
export function resourceNotFound(uri: string, revision: Revision): RpcError {
  const code = isSessionRevision(revision) ? -32002 : INVALID_PARAMS
  return { code, message: 'Resource not found', data: { uri } }
}

/** The text of a value as received, for relaying. It is that of a message only while the message has this `raw`. */
export interface Received {
  raw: Json
  text: string
}

/** A message, parsed once. */
export type Message =
  | {
      kind: 'request'
      id: RequestId
      method: string
      params: JsonObject
      raw: JsonObject
      received?: Received | undefined
      /** Trace span of the request, if traces are recorded. */
      span?: Span | undefined
      /** The discovery tool through which the client made this call. */
      via?: string | undefined
    }
  | {
      kind: 'notification'
      method: string
      params: JsonObject
      raw: JsonObject
      received?: Received | undefined
    }
  | { kind: 'response'; id: RequestId | null; raw: JsonObject; received?: Received | undefined }
  | { kind: 'invalid'; id: RequestId | null; code: number; reason: string; received?: Received | undefined }
  /** A request that must not proceed, with the error to answer. */
  | { kind: 'refused'; id: RequestId; error: RpcError }

/** A message as read, before any check. */
export type ReadMessage = Exclude<Message, { kind: 'refused' }>
export type Request = Extract<Message, { kind: 'request' }>
export type Notification = Extract<Message, { kind: 'notification' }>
export type Response = Extract<Message, { kind: 'response' }>

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= MAX_ID : Number.isSafeInteger(value)
}

/** Whether a value is a JSON-RPC id beyond the gateway's limits. */
function isHugeId(value: unknown): boolean {
  const isNumber = typeof value === 'bigint' || value instanceof ExactNumber || Number.isInteger(value)
  return (typeof value === 'string' || isNumber) && !isId(value)
}

/** Optional members of `params` that some clients send as null, or, from PHP, as `[]`. */
const OPTIONAL = ['cursor', 'arguments', '_meta']

function isNothing(value: Json | undefined): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

/** A message without empty optional members; the same object if it has none. */
export function withoutNothing(raw: Json): Json {
  if (!isObject(raw)) return raw
  const { params } = raw
  if (isNothing(params)) return omit(raw, 'params')
  if (!isObject(params)) return raw
  const empty = OPTIONAL.filter((key) => Object.hasOwn(params, key) && isNothing(params[key]))
  return empty.length ? { ...raw, params: omit(params, ...empty) } : raw
}

/** Classifies a JSON value as a JSON-RPC message; `reason` explains an invalid one. @param text of `raw`, as received */
export function readMessage(raw: Json, text?: string): ReadMessage {
  const message = classified(raw)
  return text === undefined ? message : { ...message, received: { raw, text } }
}

function classified(raw: Json): ReadMessage {
  if (!isObject(raw)) return invalid(null, 'a message is a JSON object')
  const { method, params } = raw
  const id = plain(raw.id as Json)
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
    // A request without an id would bypass the checks of calls.
    if (!method.startsWith('notifications/'))
      return invalid(null, `"id" is missing: ${method.slice(0, 80)} is a request`)
    return { kind: 'notification', method, params: params ?? {}, raw }
  }
  if (answerTo === null) return invalid(null, '"id" must be a string or an integer')
  return { kind: 'request', id: answerTo, method, params: params ?? {}, raw }
}

function invalid(id: RequestId | null, reason: string, code = INVALID_REQUEST) {
  return { kind: 'invalid', id, code, reason } as const
}

/** The text of a response whose result is JSON text. */
export function resultText(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${result}}`
}

export function errorText(id: RequestId | null, { code, message, data }: RpcError): string {
  const error = data === undefined ? { code, message } : { code, message, data }
  return `{"jsonrpc":"2.0","id":${idText(id)},"error":${stringify(error)}}`
}

export function errorResponse(id: RequestId, error: RpcError): JsonObject {
  return { jsonrpc: '2.0', id, error }
}

export function notificationText(method: string, params?: JsonObject): string {
  return stringify(messageOf(method, params))
}

/** A message as the official SDKs write it: some servers require this order of members, or reject empty `params`. */
export function messageOf(method: string, params: JsonObject = {}, id?: RequestId): JsonObject {
  const given = Object.keys(params).length > 0 && { params }
  return { method, ...given, jsonrpc: '2.0', ...(id !== undefined && { id }) }
}

/**
 * Ids of the gateway's own requests, apart from clients' ids, which count from 0; some servers accept only signed
 * 32-bit ids.
 */
const OWN_IDS = { first: 1_000_000_000, last: 2_147_483_647 }
let lastOwnId = OWN_IDS.first

/** An id for one of the gateway's own requests on a connection shared with client requests. */
export function ownId(): number {
  lastOwnId = lastOwnId === OWN_IDS.last ? OWN_IDS.first : lastOwnId + 1
  return lastOwnId
}

/** One of the gateway's own requests. */
export function ownRequest(method: string, params: JsonObject, id: RequestId = ownId()): Request {
  return { kind: 'request', id, method, params, raw: messageOf(method, params, id) }
}

/** One of the gateway's own notifications. */
export function ownNotification(method: string, params: JsonObject = {}): Notification {
  return { kind: 'notification', method, params, raw: messageOf(method, params) }
}

/** The request with other parameters. */
export function withParams(request: Request, params: JsonObject): Request {
  return { ...request, params, raw: { ...request.raw, params } }
}

/** A message that is sent exactly as it was checked, not as received. */
export function asChecked<M extends Message>(message: M): M {
  return { ...message, received: undefined }
}

/** The JSON text of a message, as received where nothing had to change. */
export function textOf(message: Message): string {
  if (!('raw' in message)) return 'null'
  const { raw, received } = message
  return received?.raw === raw ? received.text : stringify(raw)
}

function idText(id: RequestId | null): string {
  return typeof id === 'string' ? JSON.stringify(id) : String(id)
}

/** Keys of `_meta` in 2026-07-28. */
export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
export const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

/** Opens a subscription (2026-07-28). */
export const LISTEN = 'subscriptions/listen'
/** Methods whose results say how long they may be kept, and by whom (2026-07-28, Caching). */
export const CACHEABLE: ReadonlySet<string> = new Set(
  'server/discover tools/list prompts/list resources/list resources/templates/list resources/read skills/list skills/get'.split(
    ' ',
  ),
)

/** The first message of a subscription. */
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

export function metaOf(params: unknown): JsonObject {
  return isObject(params) && isObject(params._meta) ? params._meta : {}
}

/** The request id in a notification; `1.0` equals `1`. */
export function requestIdOf({ params }: Notification): RequestId {
  return plain(params.requestId as Json) as RequestId
}

/** The progress token of a notification or of a request's `_meta`; `1.0` equals `1`. */
export function progressTokenOf({ progressToken }: JsonObject): Json | undefined {
  return plain(progressToken as Json)
}

/** Whether a message is progress for none of these tokens; some clients end the session when they receive one. */
export function isStray(message: Message, tokens: Iterable<unknown>): boolean {
  if (message.kind !== 'notification' || message.method !== 'notifications/progress') return false
  const token = String(progressTokenOf(message.params))
  for (const one of tokens) if (String(one) === token) return false
  return true
}

/** Maximum task tokens remembered for one session. */
const MAX_TASK_TOKENS = 100

/** Remembers a token, and drops the oldest beyond the limit. */
export function rememberToken(tokens: Set<unknown>, token: unknown): void {
  tokens.add(token)
  if (tokens.size > MAX_TASK_TOKENS) tokens.delete(tokens.values().next().value)
}

/** Lists that may change while the gateway runs. */
export type ListKind = 'tools' | 'prompts' | 'resources'

/** Keys of a subscription, and the lists they refer to. */
export const LIST_KINDS = {
  toolsListChanged: 'tools',
  promptsListChanged: 'prompts',
  resourcesListChanged: 'resources',
} as const

/** The lists in a subscription's acknowledged `notifications`. */
export function listKinds(notifications: unknown): ReadonlySet<ListKind> {
  const granted = isObject(notifications) ? notifications : {}
  return new Set(Object.entries(LIST_KINDS).flatMap(([key, list]) => (granted[key] === true ? [list] : [])))
}

/** A copy of the object without some keys. */
export function omit(object: JsonObject, ...keys: string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

/** `_meta` of a request without a session (2026-07-28, `RequestMetaObject`). */
export function clientMeta(capabilities: JsonObject = {}, clientInfo?: JsonObject): JsonObject {
  return {
    [PROTOCOL_VERSION]: STATELESS_REVISIONS[0],
    [CLIENT_CAPABILITIES]: capabilities,
    ...(clientInfo && { [CLIENT_INFO]: clientInfo }),
  }
}

/** `_meta` of the gateway's own requests. */
export function ownMeta(version: string): JsonObject {
  return clientMeta({}, { name: 'plantgw', version })
}

/** Parameters of `initialize`. */
export function initializeParams(hello: { capabilities: JsonObject; clientInfo: JsonObject }): JsonObject {
  return { protocolVersion: SESSION_REVISIONS[0], ...hello }
}

/** Member of a result of `server/discover`: the gateway serves every revision. */
export const SUPPORTED_VERSIONS: JsonObject = { supportedVersions: [...REVISIONS] }

/** A JSON value with sorted keys, so that equal values have equal texts. */
export function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys)
  if (!isObject(value)) return value instanceof ExactNumber ? plain(value) : value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, withSortedKeys(value[key])]),
  )
}

/**
 * Keys that decide what a message does, by containing object. Servers differ: Go's `encoding/json` ignores case, others
 * strip unprintable characters or take the first duplicate, so such a key could bypass the gateway's checks.
 */
const MESSAGE = wordsOf('jsonrpc', 'id', 'method', 'params', 'result', 'error')
const PARAMS = wordsOf('name', 'arguments', 'uri', '_meta')
/** Further folded keys of `params`. A client may spell one differently, but may not send two spellings of it. */
const LOOSE = new Set(
  ['cursor', 'requestid', 'progresstoken', 'protocolversion', 'capabilities', 'clientinfo'].concat([
    'ref',
    'level',
    'taskid',
    'task',
    'requeststate',
    'inputresponses',
    'notifications',
  ]),
)
const REF = wordsOf('type', 'name', 'uri')
const META = wordsOf('progressToken', PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL)

interface Words {
  words: ReadonlySet<string>
  /** The words by folded form. */
  folded: ReadonlyMap<string, string>
}

function wordsOf(...words: string[]): Words {
  return { words: new Set(words), folded: new Map(words.map((word) => [fold(word), word])) }
}

/** Maximum characters of a key; a longer one could hide a protocol key after stripping. */
const MAX_KEY = 256

/** Maximum characters of a key shown in a fault. */
const MAX_SHOWN = 60
/** Maximum keys of one object. */
const MAX_KEYS = 1_000

/** Finds repeated keys, and keys similar to protocol keys, in JSON-RPC messages. */
export class ProtocolKeys implements KeyWatch {
  readonly depth: number
  /** A sentence for the sender; undefined if the message is valid. */
  fault: string | undefined
  /** Depth of message objects: 1, or 2 in a batch. */
  private base = 1
  /** The current key at each level, exact or folded. */
  private readonly path: string[] = []
  /** Keys seen so far at each level. */
  private readonly had: (Set<string> | undefined)[] = []

  /** @param whole whether to check `params` too, as for client messages */
  constructor(private readonly whole: boolean) {
    this.depth = whole ? 4 : 2
  }

  open(depth: number, isObject: boolean): void {
    if (depth === 1) this.base = isObject ? 1 : 2
    this.had[depth] = undefined
  }

  key(depth: number, text: string, from: number, to: number): void {
    const known = this.fault === undefined ? this.wordsAt(depth) : undefined
    if (!known) return
    this.had[depth] ??= new Set()
    const before = this.had[depth]
    if (before.size === MAX_KEYS) {
      this.fault = `a part of a message has more than ${MAX_KEYS} keys`
      return
    }
    const key = decoded(text.slice(from, to))
    if (key === undefined || key.length > MAX_KEY) {
      this.fault = `a key of a message is longer than ${MAX_KEY} characters`
      return
    }
    const isWord = known.words.has(key)
    const bare = isWord ? key : fold(key)
    this.path[depth] = bare
    const meant = isWord ? undefined : known.folded.get(bare)
    if (meant !== undefined)
      this.fault = `the key ${JSON.stringify(key.slice(0, MAX_SHOWN))} is not "${meant}": write it exactly so`
    // Other keys count as repeated only if identical, as custom methods may distinguish case.
    const once = LOOSE.has(bare) ? bare : key
    if (before.has(once)) this.fault ??= `the key ${JSON.stringify(key.slice(0, MAX_SHOWN))} is there twice`
    before.add(once)
  }

  private wordsAt(depth: number): Words | undefined {
    const level = depth - this.base
    if (level === 0) return MESSAGE
    if (!this.whole || this.path[this.base] !== 'params') return undefined
    if (level === 1) return PARAMS
    if (level !== 2) return undefined
    const parent = this.path[this.base + 1]
    return parent === '_meta' ? META : parent === 'ref' ? REF : undefined
  }
}

function decoded(source: string): string | undefined {
  if (source.length > MAX_KEY * 6) return undefined
  if (!source.includes('\\')) return source
  try {
    return JSON.parse(`"${source}"`)
  } catch {
    // The parser reports invalid JSON itself.
    return source
  }
}

/** The messages of one POST; exactly one unless it is a batch. */
export interface Messages {
  messages: Message[]
  batch: boolean
  /** Body as received, or rewritten if members were removed. */
  text: string
}
