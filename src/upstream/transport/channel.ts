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
  isObject,
  MAX_BATCH,
  type Message,
  omit,
  oneLine,
  ProtocolKeys,
  type RequestId,
  type Response,
  readMessage,
  withoutNothing,
} from '../../mcp/index.ts'
import { tooLargeText } from '../../net/index.ts'
import type { Logger } from '../../telemetry/log.ts'

/**
 * A connection to a session-based server that carries JSON-RPC messages both ways. One channel is one session
 * of the server. It is never used again after it has closed.
 */
export interface Channel {
  /** Sends one message. A fault says why it could not be taken; the channel may live on. */
  send(text: string): Fault | undefined
  /** Ends the session and what carries it. */
  close(): void
  /** Resolves when nothing of it is left. */
  readonly ended: Promise<void>
  /**
   * Resolves when what the server says on its own arrives, it has no stream for it, or has not opened one in time; absent: it
   * arrives from the beginning.
   */
  readonly listening?: Promise<void>
  /** Of the child, where there is one. */
  readonly pid?: number | undefined
}

export interface ChannelEvents {
  /** A message of the server, and its text on one line. */
  message(message: Message, text: string): void
  /** A message came that is not accepted; the request that it answers when that could be found. */
  rejected(id: RequestId | undefined, fault: Fault): void
  /** The event stream was lost, and cannot be opened again at once. */
  silent?(): void
  /** The channel closed without being asked to. */
  closed(fault: Fault): void
}

/** What a caller hears of a fault of the gateway's own. */
export const FAILED = 'Internal error'

/** Why a message is rejected that is larger than `maxResponseSize`. */
export function tooLarge(server: string, limit: number): Fault {
  return new Fault('invalid', tooLargeText(`the server ${server}`, limit))
}

/** Messages on their way to a server, which takes them one after the other: bounded in bytes. */
export class Outgoing {
  readonly #hold = memory.queue()
  #closed = false

  /** @param server for the fault */
  constructor(private readonly server: string) {}

  /** Takes a message, which counts until `sent`; a fault when there is no room for it. */
  add(text: string): Fault | undefined {
    if (!this.#closed && this.#hold.add(text.length)) return undefined
    return new Fault('busy', `The server ${this.server} does not read what is sent to it; try again later`)
  }

  sent(text: string): void {
    if (!this.#closed) this.#hold.free(text.length)
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#closed = true
    this.#hold.free()
  }
}

/** One message of a server with its text on one line, or what is wrong with one that cannot be taken. */
export type Taken = { message: Message; text: string } | Rejected

export interface Rejected {
  /** The requests that it answers; undefined for one that could not be found. */
  answers: readonly (RequestId | undefined)[]
  fault: Fault
}

/** What other texts do not begin with, so that those need not be parsed. */
const BEGINNING = /^\s*[{[]/
/** Where a message may begin behind a text that has no line end. */
const WITHIN = /\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:/g
/** Places at which that is tried. */
const MAX_TRIES = 8

/**
 * Reads a text of a server as messages, a line, a body or an event: the one reader for all transports. Nothing when it is
 * not JSON. It takes what the official SDKs take, and a little more.
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

/** The messages behind a text that a program has printed before them on the same line; nothing when there are none. */
export function readBehind(line: string): Taken[] {
  let tries = 0
  for (const { index } of line.matchAll(WITHIN)) {
    if (++tries > MAX_TRIES) break
    const taken = readTexts(line.slice(index))
    if (taken.some((each) => 'message' in each && each.message.kind !== 'invalid')) return taken
  }
  return []
}

/**
 * The id among those under way that an id of a server names: it may write a number as text, as the official SDKs take it.
 * @param has whether a request of this id is under way
 */
export function idAmong(id: RequestId | null, has: (id: RequestId) => boolean): RequestId | undefined {
  if (id === null) return undefined
  if (has(id)) return id
  const number = typeof id === 'string' && /^-?\d{1,16}$/.test(id) ? Number(id) : undefined
  return number !== undefined && has(number) ? number : undefined
}

/** A message with another id, and its text. */
export function withId(message: Response, id: RequestId): { message: Response; text: string } {
  const raw = { ...message.raw, id }
  return { message: { ...message, id, raw }, text: stringify(raw) }
}

/**
 * A message of a server. A response has no other members (JSON-RPC 2.0, 5), so that none can pass for one of the gateway's
 * own.
 * @param text as it came; absent: it is written anew
 */
function read(value: Json, text?: string): Taken {
  const meant = withoutNothing(isObject(value) ? withoutNulls(value) : value)
  const message = readMessage(meant)
  const shown = meant === value ? (text ?? stringify(value)) : stringify(meant)
  if (message.kind !== 'response') return { message, text: shown }
  const raw: JsonObject = {}
  for (const key of ['jsonrpc', 'id', 'result', 'error'])
    if (Object.hasOwn(message.raw, key)) raw[key] = message.raw[key] as Json
  return { message: { ...message, raw }, text: shown }
}

/** Without members that are null where that can only mean that they are absent; the same where there are none. */
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
  // A request or a notification of the server answers nothing, so it concerns no caller.
  const answers = heads.length ? heads.filter(({ method }) => !method).map(({ id }) => id) : [undefined]
  return [{ answers, fault: notAccepted(fault) }]
}

/** Characters of a rejected message that are logged. */
const MAX_LOGGED = 200

/** Hands messages on, each text on one line; what was rejected and concerns no call goes to the log alone. */
export function deliver(
  taken: readonly Taken[],
  events: Pick<ChannelEvents, 'message' | 'rejected'>,
  log: Logger,
  about: object,
): void {
  for (const each of taken) {
    if ('message' in each && each.message.kind !== 'invalid') {
      events.message(each.message, oneLine(each.text))
      continue
    }
    const { answers, fault } = 'fault' in each ? each : invalidAnswer(each.message)
    const text = 'text' in each ? each.text.slice(0, MAX_LOGGED) : undefined
    log.warn({ ...about, reason: fault.message, text }, 'rejected a message of an MCP server')
    for (const id of answers) events.rejected(id, fault)
  }
}

function invalidAnswer(message: Message): Rejected {
  const { id, reason } = message as Extract<Message, { kind: 'invalid' }>
  return { answers: id === null ? [] : [id], fault: notAccepted(reason) }
}

function notAccepted(reason: string): Fault {
  return new Fault('invalid', `The server sent a message that is not accepted: ${reason}`)
}

/** What can be known of a JSON-RPC message that is not parsed. */
export interface Head {
  /** The last of its ids. */
  id: RequestId | undefined
  /** Whether it is a request or a notification. */
  method: boolean
}

/** Messages that are looked for at the most. */
const MAX_HEADS = 100
/** Characters of an id, escapes included. */
const MAX_ID = 2_000

/** The heads of the messages in a text that exceeds the limits of JSON: one pass, of any depth. */
export function headsOf(text: string): Head[] {
  const heads: Head[] = []
  /** Depth of the objects that are messages: 2 in a batch. */
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
