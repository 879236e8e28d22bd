import { LOGIN_PAGES } from '../credentials/oauth/pages.ts'
import { isObject, type Json, mapMembers, parseVerbatim, stringify } from '../json/index.ts'
import type { CallContents, CallRecorder, Exchange, LoggedRequest, RecordedCall } from '../mcp/index.ts'
import { shorten, tokensIn } from '../text/index.ts'

/** Maximum calls that are remembered, and characters of the contents of one call and of all. */
export const MAX_CALLS = 500
const MAX_CONTENTS = 256 * 1024
const MAX_ALL_CONTENTS = 16 * 1024 * 1024
/** Minutes for which calls are counted. */
export const MINUTES = 60
const MINUTE = 60_000
const METHODS = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Counts of one prefix in one minute. */
export interface Minute {
  /** Minutes since 1970. */
  at: number
  calls: number
  errors: number
  /** Characters of answers, and those that shaping saved. */
  answered: number
  saved: number
}

/** The records of one process. */
export interface Recorded {
  /** The current minute, since 1970. */
  minute: number
  /** The last calls without their contents, the oldest first. */
  calls: readonly RecordedCall[]
  /** Counts of the last hour, by prefix. */
  minutes: ReadonlyMap<string, readonly Minute[]>
}

/** The calls of this process, or of all workers. */
export interface CallHistory {
  /** Gives the records of each process. */
  recorded(): Promise<readonly Recorded[]>
  /** One of the last calls, with its contents if they are recorded. */
  recordedCall(id: string): Promise<RecordedCall | undefined>
  /** Calls `listener` with each finished call, without its contents. @returns a function that ends it */
  follow(listener: (call: RecordedCall) => void): () => void
}

/** The last calls of clients. */
export class Recorder implements CallRecorder, CallHistory {
  readonly #calls: RecordedCall[] = []
  readonly #minutes = new Map<string, Minute[]>()
  readonly #listeners = new Set<(call: RecordedCall) => void>()
  #lastId = 0
  #characters = 0

  /**
   * @param contents whether arguments, requests and answers are recorded too
   * @param workers how many processes share the room for contents; absent: this is no worker
   * @param now milliseconds since 1970
   */
  constructor(
    private readonly contents: boolean,
    private readonly workers?: number,
    private readonly now: () => number = Date.now,
  ) {}

  begin(call: LoggedRequest): ReturnType<CallRecorder['begin']> {
    const { context, request } = call
    if (!METHODS.has(request.method)) return () => {}
    const begin = performance.now()
    const { onRecorded } = context
    const exchanges: Exchange[] = []
    const keepsContents = this.contents || onRecorded !== undefined
    if (keepsContents) call.onExchange = (exchange) => void exchanges.push(exchange)
    return ({ text, end }) => {
      const ms = performance.now() - begin
      const { tenant, prefix } = call.callLog
      const { params } = request
      const recorded: RecordedCall = {
        id: `${this.workers === undefined ? '' : `${process.pid}.`}${++this.#lastId}`,
        at: new Date(this.now()).toISOString(),
        tenant,
        prefix,
        method: request.method,
        name: shorten(String(params.name ?? params.uri), 200),
        caller: context.callerName ?? context.caller ?? context.address,
        revision: call.revision,
        outcome: end.outcome,
        failure: end.failure,
        ms,
        savedTokens: tokensIn(end.savedChars ?? 0),
        traceId: request.span?.traceId,
        sentTo: this.contents ? exchanges.at(-1)?.to : undefined,
      }
      this.#count(recorded, { answered: text?.length ?? 0, saved: end.savedChars ?? 0 })
      const contents = keepsContents
        ? bounded({ params: stringify(params), exchanges, answer: text })
        : undefined
      if (contents) onRecorded?.({ ...recorded, contents })
      this.#add(contents && this.contents ? { ...recorded, contents: withoutLogins(contents) } : recorded)
    }
  }

  async recorded(): Promise<Recorded[]> {
    const minute = Math.floor(this.now() / MINUTE)
    return [{ minute, calls: this.#calls.map(withoutContents), minutes: this.#minutes }]
  }

  async recordedCall(id: string): Promise<RecordedCall | undefined> {
    return this.#calls.find((call) => call.id === id)
  }

  follow(listener: (call: RecordedCall) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #add(call: RecordedCall): void {
    this.#calls.push(call)
    this.#characters += sizeOf(call)
    while (this.#calls.length > MAX_CALLS) this.#characters -= sizeOf(this.#calls.shift()!)
    // The oldest contents go first; the calls themselves stay.
    for (const old of this.#calls) {
      if (this.#characters <= MAX_ALL_CONTENTS / (this.workers ?? 1)) break
      this.#characters -= sizeOf(old)
      delete old.contents
    }
    for (const listener of this.#listeners) listener(withoutContents(call))
  }

  #count({ prefix, outcome }: RecordedCall, { answered, saved }: Pick<Minute, 'answered' | 'saved'>): void {
    const at = Math.floor(this.now() / MINUTE)
    const minutes = this.#minutes.get(prefix) ?? []
    if (minutes.at(-1)?.at !== at) minutes.push({ at, calls: 0, errors: 0, answered: 0, saved: 0 })
    const minute = minutes.at(-1) as Minute
    minute.calls++
    minute.answered += answered
    minute.saved += saved
    if (outcome !== 'ok' && outcome !== 'cancelled') minute.errors++
    if (minutes.length > MINUTES) minutes.shift()
    this.#minutes.set(prefix, minutes)
  }
}

function withoutContents({ contents: _, ...call }: RecordedCall): RecordedCall {
  return call
}

function sizeOf({ contents }: RecordedCall): number {
  if (!contents) return 0
  const { params, exchanges, answer = '' } = contents
  const sent = exchanges.reduce((sum, { sent, received = '' }) => sum + sent.length + received.length, 0)
  return params.length + answer.length + sent
}

/** Contents of a limited size. */
function bounded({ params, exchanges, answer }: CallContents): CallContents {
  const cut = (text: string) => (text.length > MAX_CONTENTS ? `${text.slice(0, MAX_CONTENTS)}…` : text)
  return {
    params: cut(params),
    // The last ones say how the call ended.
    exchanges: exchanges.slice(-4),
    answer: answer === undefined ? undefined : cut(answer),
  }
}

/** Contents without the links and codes with which a person logs in at a server, as they are good for one login. */
function withoutLogins({ params, exchanges, answer }: CallContents): CallContents {
  if (!answer?.includes(LOGIN_PAGES)) return { params, exchanges, answer }
  try {
    return { params, exchanges, answer: stringify(masked(parseVerbatim(answer))) }
  } catch {
    return { params, exchanges, answer: MASK }
  }
}

const MASK = '***'

/** A value in which `***` replaces texts with such a link, and the texts beside one. */
function masked(value: Json): Json {
  if (typeof value === 'string') return value.includes(LOGIN_PAGES) ? MASK : value
  if (Array.isArray(value)) return value.map(masked)
  if (!isObject(value)) return value
  const hasLink = typeof value.url === 'string' && value.url.includes(LOGIN_PAGES)
  return mapMembers(value, (one, key) =>
    hasLink && typeof one === 'string' && key !== 'mode' ? MASK : masked(one),
  )
}
