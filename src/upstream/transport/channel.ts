import { memory } from '../../access/memory.ts'
import {
  closingQuote,
  type Json,
  JsonLimitError,
  type JsonObject,
  numberEnd,
  parseVerbatim,
  stringify,
} from '../../json/index.ts'
import {
  Fault,
  INTERNAL_ERROR,
  isObject,
  MAX_BATCH,
  type Message,
  omit,
  oneLine,
  ProtocolKeys,
  type ReadMessage,
  type RequestId,
  type Response,
  readMessage,
  textOf,
  withoutNothing,
} from '../../mcp/index.ts'
import { tooLargeText } from '../../net/index.ts'
import type { Logger } from '../../telemetry/log.ts'

/**
 * A connection to a session-based server for JSON-RPC messages in both directions. One channel is one session of the
 * server; a closed channel is never reused.
 */
export interface Channel {
  /**
   * Sends one message. A fault says why it was refused; the channel may remain usable.
   * @param headers of its HTTP request; ignored over stdio and SSE
   */
  send(message: Message, headers?: Readonly<Record<string, string>>): Fault | undefined
  /** Ends the session and its transport. */
  close(): void
  /** Leaves the server's session to other replicas: `close` then ends only the transport. */
  detach?(): void
  /** With this token another channel can continue the session; absent: none can. */
  readonly resume?: ResumeToken | undefined
  /** Opens the stream of server-initiated messages of a resumed session. */
  listen?(): void
  /** Resolves when all resources are released. */
  readonly ended: Promise<void>
  /**
   * Resolves when server-initiated messages can arrive, will not arrive, or opening the stream takes too long; absent:
   * they arrive from the beginning.
   */
  readonly listening?: Promise<void>
  /** Process id of the child, if any. */
  readonly pid?: number | undefined
}

/** A session of a streamable HTTP server that any replica can continue. */
export interface ResumeToken {
  /** The server's session id, if it issued one. */
  readonly id: string | undefined
  readonly revision: string
}

export interface ChannelEvents {
  /** A message of the server, with its text on one line. */
  message(message: Message): void
  /** An invalid message arrived; `id` is the request that it answers, if known. */
  rejected(id: RequestId | undefined, fault: Fault): void
  /** The event stream was lost, and cannot be reopened at once. */
  silent?(): void
  /** The channel closed by itself. */
  closed(fault: Fault): void
}

/** Message to callers for a bug of the gateway. */
export const FAILED = 'Internal error'

/** The fault of a message larger than `maxResponseSize`. */
export function tooLarge(server: string, limit: number): Fault {
  return new Fault('invalid', tooLargeText(`the server ${server}`, limit))
}

/** The fault of a request after `ms` milliseconds without a message. */
export function timedOut(server: string, ms: number, what = 'call'): Fault {
  return new Fault(
    'timeout',
    `No response from the server ${server} for ${ms / 1000} s; the ${what} timed out`,
  )
}

/** Messages queued for a server, limited in bytes. */
export class Outgoing {
  readonly #reservation = memory.queue()
  #closed = false

  /** @param server name for the fault */
  constructor(private readonly server: string) {}

  /** Reserves memory for a message until `sent`; returns a fault if there is none. */
  add(text: string): Fault | undefined {
    if (!this.#closed && this.#reservation.add(text.length)) return undefined
    return new Fault('busy', `The server ${this.server} does not read what is sent to it; try again later`)
  }

  sent(text: string): void {
    if (!this.#closed) this.#reservation.free(text.length)
  }

  /** Releases everything. */
  close(): void {
    this.#closed = true
    this.#reservation.free()
  }
}

/** One message of a server, or the fault of an invalid one. */
export type Taken = ReadMessage | Rejected

export interface Rejected {
  /** The requests that it answers; undefined for one that could not be determined. */
  answers: readonly (RequestId | undefined)[]
  fault: Fault
}

/** Texts with another beginning cannot be messages, and are not parsed. */
const BEGINNING = /^\s*[{[]/
/** Where a message may begin after other output without a line end. */
const WITHIN = /\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:/g
/** Maximum positions tried. */
const MAX_TRIES = 8

/**
 * Reads a line, body or event of a server as messages, for all transports; empty if it is not JSON. Accepts what the
 * official SDKs accept, and a little more.
 */
export function readTexts(given: string): Taken[] {
  const text = given.replace(/^\ufeff+/, '')
  if (!BEGINNING.test(text)) return []
  const keys = new ProtocolKeys(false)
  let value: Json
  try {
    value = parseVerbatim(text, keys)
  } catch (error) {
    return error instanceof JsonLimitError ? rejected(text, error.message) : []
  }
  if (keys.fault !== undefined) return rejected(text, keys.fault)
  if (!Array.isArray(value)) return [read(value, text.trim())]
  if (value.length > MAX_BATCH) return rejected(text, `the batch has more than ${MAX_BATCH} messages`)
  return value.map((item) => read(item))
}

/** Reads a line that is not JSON: messages may follow other program output. */
export function readBehind(line: string): Taken[] {
  let tries = 0
  for (const { index } of line.matchAll(WITHIN)) {
    if (++tries > MAX_TRIES) break
    const taken = readTexts(line.slice(index))
    if (taken.some((each) => 'kind' in each && each.kind !== 'invalid')) return taken
  }
  return broken(line)
}

/** Reads a body or event of a server. */
export function readData(data: string): Taken[] {
  const taken = readTexts(data)
  return taken.length ? taken : broken(data)
}

/**
 * The running request that a server's id refers to; numbers may be written as text, as in the official SDKs.
 * @param has whether a request with this id is running
 */
export function idAmong(id: RequestId | null, has: (id: RequestId) => boolean): RequestId | undefined {
  if (id === null) return undefined
  if (has(id)) return id
  const number = typeof id === 'string' && /^-?\d{1,16}$/.test(id) ? Number(id) : undefined
  return number !== undefined && has(number) ? number : undefined
}

/** A message with this id. */
export function withId(message: Response, id: RequestId): Response {
  return id === message.id ? message : { kind: 'response', id, raw: { ...message.raw, id } }
}

/**
 * Reads a message of a server. A response keeps only its standard members (JSON-RPC 2.0, 5), so that it cannot imitate
 * internal ones.
 * @param text as received; absent: it is serialized
 */
function read(value: Json, text?: string): Taken {
  const meant = withoutNothing(isObject(value) ? withoutNulls(value) : value)
  const message = readMessage(meant, meant === value ? text : undefined)
  // Only a result or error answers a request; other lines, such as those of a log, may have an `id` of their own.
  const isAnswer = isObject(meant) && ('result' in meant || 'error' in meant)
  if (message.kind === 'invalid')
    return {
      ...message,
      ...(!isAnswer && { id: null }),
      received: { raw: meant, text: text ?? stringify(meant) },
    }
  if (message.kind !== 'response') return message
  const raw: JsonObject = {}
  for (const key of ['jsonrpc', 'id', 'result', 'error'])
    if (Object.hasOwn(message.raw, key)) raw[key] = message.raw[key] as Json
  const error = raw.error === undefined || raw.result !== undefined ? undefined : soundError(raw.error)
  const { received } = message
  if (error === raw.error) return { ...message, raw, received: received && { raw, text: received.text } }
  return { kind: 'response', id: message.id, raw: { ...raw, error: error as JsonObject } }
}

/** An error with code and message, as clients read no other; the same object if it has both. */
function soundError(error: Json): JsonObject {
  const given: JsonObject = isObject(error) ? error : { message: error }
  const { code, message } = given
  const isWhole = Number.isInteger(code)
  if (isWhole && typeof message === 'string') return given
  const asNumber = typeof code === 'string' && /^-?\d{1,15}$/.test(code) ? Number(code) : INTERNAL_ERROR
  const asText = typeof message === 'string' ? message : message === undefined ? FAILED : stringify(message)
  return { ...given, code: isWhole ? (code as number) : asNumber, message: asText }
}

/** A message without null members that can only mean absence; the same object if it has none. */
function withoutNulls(message: JsonObject): JsonObject {
  const { error, result, method, id } = message
  const absent = [
    ...(method === null ? ['method'] : []),
    ...(error === null && (result !== undefined || typeof method === 'string') ? ['error'] : []),
    ...(result === null && (isObject(error) || typeof method === 'string') ? ['result'] : []),
    ...(id === null && typeof method === 'string' ? ['id'] : []),
  ]
  return absent.length ? omit(message, ...absent) : message
}

function rejected(text: string, fault: string): [Rejected] {
  const heads = headsOf(text)
  // Requests and notifications of the server answer nothing, so they concern no caller.
  const answers = heads.length ? heads.filter(({ method }) => !method).map(({ id }) => id) : [undefined]
  return [{ answers, fault: notAccepted(fault) }]
}

/** Rejects what looks like an answer but is no JSON, such as one with `NaN`; a caller would wait for another one. */
function broken(text: string): Rejected[] {
  const answers = text.includes('"jsonrpc"')
    ? headsOf(text).flatMap(({ method, id }) => (method || id === undefined ? [] : [id]))
    : []
  return answers.length ? [{ answers, fault: notAccepted('it is not valid JSON') }] : []
}

/** Maximum characters of a rejected message in the log. */
const MAX_LOGGED = 200

/** Delivers messages, each on one line; rejected ones that concern no call are only logged. */
export function deliver(
  taken: readonly Taken[],
  events: Pick<ChannelEvents, 'message' | 'rejected'>,
  log: Logger,
  about: object,
): void {
  for (const each of taken) {
    if ('kind' in each && each.kind !== 'invalid') {
      events.message({ ...each, received: { raw: each.raw, text: oneLine(textOf(each)) } })
      continue
    }
    const { answers, fault } = 'fault' in each ? each : invalidAnswer(each)
    const text = 'received' in each ? each.received?.text.slice(0, MAX_LOGGED) : undefined
    log.warn({ ...about, reason: fault.message, text }, 'rejected a message of an MCP server')
    for (const id of answers) events.rejected(id, fault)
  }
}

function invalidAnswer({ id, reason }: Extract<Message, { kind: 'invalid' }>): Rejected {
  return { answers: id === null ? [] : [id], fault: notAccepted(reason) }
}

function notAccepted(reason: string): Fault {
  return new Fault('invalid', `The server sent a message that is not accepted: ${reason}`)
}

/** The known parts of an unparsed JSON-RPC message. */
export interface Head {
  /** The last of its ids. */
  id: RequestId | undefined
  /** Whether it is a request or a notification. */
  method: boolean
}

/** Maximum number of messages searched for. */
const MAX_HEADS = 100
/** Maximum characters of an id, including escapes. */
const MAX_ID = 2_000

/** Finds the heads of messages in a text that exceeds the JSON limits, in one pass at any depth. */
export function headsOf(text: string): Head[] {
  const heads: Head[] = []
  /** Depth of message objects: 1, or 2 in a batch. */
  let base = 0
  let depth = 0
  let key = ''
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (c === '"') {
      const end = closingQuote(text, i + 1)
      if (depth === base) key = text.slice(i + 1, Math.min(end, i + 10))
      i = end
    } else if (c === '{' || c === '[') {
      depth++
      base ||= c === '{' ? 1 : 2
      if (depth === base && heads.push({ id: undefined, method: false }) > MAX_HEADS) return heads
    } else if (c === '}' || c === ']') depth--
    else if (c === ':' && depth === base) {
      const head = heads.at(-1)
      if (head && key === 'method') head.method = true
      if (head && key === 'id') head.id = idAt(text, i + 1)
    }
  }
  return heads
}

function idAt(text: string, from: number): RequestId | undefined {
  let start = from
  while (/\s/.test(text[start] ?? '')) start++
  const end = text[start] === '"' ? closingQuote(text, start + 1) + 1 : numberEnd(text, start)
  if (end - start > MAX_ID) return undefined
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    return undefined
  }
}
