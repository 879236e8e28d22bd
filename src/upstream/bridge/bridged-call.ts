import { memory } from '../../access/memory.ts'
import { type JsonObject, parseVerbatim, stringify } from '../../json/index.ts'
import { CANCELLATION, declares, Fault, isObject, MAX_QUESTIONS } from '../../mcp/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  metaOf,
  omit,
  PROTOCOL_VERSION,
} from '../../mcp/protocol.ts'
import { Waiting } from '../../mcp/session/waiting.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { helloOf, type PooledSession } from '../pool/session.ts'
import type { SentRequest, ServerRequest } from '../rpc/rpc-client.ts'
import type { LockHolder, LockMode } from '../rpc/session-lock.ts'
import type { UpstreamCall } from '../rpc/stateless-upstream.ts'
import { isWanted } from '../rpc/upstream-session.ts'

/** Requests during which the server may ask the client (Multi Round-Trip Requests, Supported Requests). */
export const ASKING = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** Client capability that each server request requires. */
const NEEDS: Record<string, string> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}
/** Faults of calls that were cancelled at the server. */
const UNANSWERED = new Set(['cancelled', 'timeout'])
const TIMED_OUT = { code: -32000, message: 'The client did not answer in time' }

/** A call running in the server, over all client requests that it takes. */
export class BridgedCall implements LockHolder {
  /** Server requests that the client has not answered. */
  readonly questions = new Map<string, ServerRequest>()
  /** `sent`: to the server; `waiting`: for its turn in an open session. */
  state: 'new' | 'waiting' | 'sent' = 'new'
  /** Whether the server has answered or will not. */
  over = false
  /** Path of a capability that the server needed and the client lacks. */
  missing: readonly string[] | undefined
  #sent: SentRequest | undefined
  /** The answer, which may wait for earlier questions to the client. */
  #answer: Promise<JsonObject | Fault> | undefined
  #isCancelled = false
  #onAnswered: (() => void) | undefined
  readonly #asked = memory.queue()
  #count = 0
  /** Messages received between two requests of the client. */
  #kept: Waiting | undefined
  /** The current client request. */
  #open: UpstreamCall | undefined
  #onAsked: (() => void) | undefined
  /** Whether the client no longer receives messages. */
  #isLeft = false

  /** @param onDropped called once, when a message is dropped */
  constructor(
    readonly session: PooledSession,
    readonly caller: string,
    readonly mode: LockMode,
    private readonly first: UpstreamCall,
    private readonly onDropped: () => void,
  ) {}

  /** @param ready the server's `initialize` result */
  async send(ready: JsonObject): Promise<void> {
    const { session, first, mode } = this
    const { method, params } = first.message
    const { [LOG_LEVEL]: level } = metaOf(params)
    this.state = 'sent'
    // Other running calls have their own level.
    if (level !== undefined && (mode !== 'metadata' || !session.lock.busy))
      await session.setLevel(ready, level)
    const hasRoots = ASKING.has(method) && declares(helloOf(params).capabilities, ['roots'])
    const offered = hasRoots ? session.offerRoots(() => this.#whenAnswered()) : undefined
    this.#answer = offered ? offered.then(() => this.#request()) : this.#request()
    this.#answer.catch(unexpected(method))
  }

  /** Resolves when no question is open; whether there was one. */
  #whenAnswered(): Promise<boolean> {
    if (!this.questions.size) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#onAnswered = () => resolve(true)
    })
  }

  /** Sends the call. */
  #request(): Promise<JsonObject | Fault> {
    const { session, first, mode } = this
    const { method, params, span } = first.message
    this.#sent = this.#isCancelled
      ? { answer: Promise.resolve(CANCELLATION), cancel() {} }
      : session.request(method, forSession(params), {
          onMessage: (raw) => this.message(raw),
          isAsking: () => this.questions.size > 0,
          span,
        })
    const over = async (answer: JsonObject | Fault) => {
      this.over = true
      this.#asked.free()
      // Late messages of an unanswered call must not be attributed to the next one.
      if (mode === 'exclusive' && answer instanceof Fault && UNANSWERED.has(answer.kind))
        await session.calm(this.caller !== '')
      session.lock.leave(this)
      session.left()
    }
    this.#sent.answer.then(over).catch(unexpected(method))
    return this.#sent.answer
  }

  /** The answer, or `asked` when the server asks something. */
  async next(call: UpstreamCall): Promise<JsonObject | Fault | 'asked'> {
    this.#open = call
    for (const text of this.#kept?.take() ?? []) this.#deliver(parseVerbatim(text) as JsonObject, call)
    const asked = new Promise<'asked'>((resolve) => {
      // Combines simultaneous questions in one round.
      this.#onAsked = () => setImmediate(resolve, 'asked')
      if (this.questions.size) this.#onAsked()
    })
    const outcome = await Promise.race([this.#answer!, asked])
    this.#open = undefined
    this.#onAsked = undefined
    return outcome
  }

  message(raw: JsonObject): void {
    if (this.#isLeft) return
    if (this.#open) {
      this.#deliver(raw, this.#open)
      return
    }
    this.#kept ??= new Waiting(this.first.quotaKey ?? '', this.onDropped)
    this.#kept.push(stringify(raw))
  }

  ask(question: ServerRequest): void {
    const needed = ASKING.has(this.first.message.method) ? capabilityFor(question) : undefined
    const isAwaited = !this.over && !this.#isLeft
    const able = needed && isAwaited && declares(helloOf(this.first.message.params).capabilities, needed)
    if (able && this.questions.size < MAX_QUESTIONS && this.#asked.add(stringify(question.raw).length)) {
      this.questions.set(`${question.method.split('/')[0]}-${++this.#count}`, question)
      this.#onAsked?.()
      return
    }
    if (!able) this.missing ??= needed
    this.session.refuse(question, 'The client cannot do that')
  }

  /** Passes the client's answers to the server. */
  answer(given: JsonObject): void {
    for (const [key, question] of this.questions) {
      const result = Object.hasOwn(given, key) ? given[key] : undefined
      if (!isObject(result)) continue
      this.questions.delete(key)
      this.session.respond(question, { result: omit(result, 'resultType') })
    }
    if (!this.questions.size) this.#onAnswered?.()
  }

  /** The client did not answer in time. */
  giveUp(): void {
    for (const question of this.questions.values()) this.session.respond(question, { error: TIMED_OUT })
    this.#onAnswered?.()
    this.cancel(TIMED_OUT.message)
    this.leave()
  }

  /** The client has the answer, or has cancelled. */
  leave(): void {
    this.#isLeft = true
    this.#kept?.take()
  }

  cancel(reason: string): void {
    this.#isCancelled = true
    this.#onAnswered?.()
    this.#sent?.cancel(reason)
  }

  /** Delivers a message to a client request, whose progress token and level may differ from the first one's. */
  #deliver(raw: JsonObject, { message, onMessage }: UpstreamCall): void {
    const { progressToken, [LOG_LEVEL]: level } = metaOf(message.params)
    const params = isObject(raw.params) ? raw.params : {}
    if (raw.method === 'notifications/progress') {
      if (progressToken !== undefined) onMessage({ ...raw, params: { ...params, progressToken } })
    } else if (raw.method !== 'notifications/message' || isWanted(params.level, level)) onMessage(raw)
  }
}

/** How a request uses its session. */
export function lockModeOf({ method, params }: UpstreamCall['message']): LockMode {
  if (/\/list$|^completion\//.test(method)) return 'metadata'
  if (metaOf(params)[LOG_LEVEL] !== undefined) return 'exclusive'
  const { capabilities } = helloOf(params)
  const asks = ASKING.has(method) && Object.values(NEEDS).some((needs) => capabilities[needs])
  return asks ? 'exclusive' : 'shared'
}

/** The client capability that a server request needs; undefined: it cannot be bridged. */
function capabilityFor({ method, params }: ServerRequest): readonly string[] | undefined {
  const needs = Object.hasOwn(NEEDS, method) ? (NEEDS[method] as string) : undefined
  if (needs === 'elicitation') return [needs, params.mode === 'url' ? 'url' : 'form']
  if (needs === 'sampling' && params.tools !== undefined) return [needs, 'tools']
  return needs === undefined ? undefined : [needs]
}

/** Parameters without members specific to 2026-07-28. */
function forSession(params: JsonObject): JsonObject {
  const meta = omit(metaOf(params), PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL)
  const rest = omit(params, '_meta', 'inputResponses', 'requestState')
  return Object.keys(meta).length ? { ...rest, _meta: meta } : rest
}
