import { memory } from '../../access/memory.ts'
import { type JsonObject, parseVerbatim, stringify } from '../../json/index.ts'
import { declares, Fault, isObject, MAX_QUESTIONS } from '../../mcp/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  metaOf,
  omit,
  PROTOCOL_VERSION,
} from '../../mcp/protocol.ts'
import { Waiting } from '../../mcp/session.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { isWanted } from '../backend/session-state.ts'
import type { StatelessCall } from '../backend/stateless.ts'
import { helloOf, type PooledSession } from '../pool/session.ts'
import type { Turn, Use } from '../pool/turn.ts'
import type { SentRequest, ServerRequest } from '../rpc/rpc-client.ts'

/** Requests during which a client may be asked (Multi Round-Trip Requests, Supported Requests). */
export const ASKING = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** Which capability of a client answers which request of a server. */
const NEEDS: Record<string, string> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}
/** Faults of calls that the server was told to forget. */
const UNANSWERED = new Set(['cancelled', 'timeout'])
const TIMED_OUT = { code: -32000, message: 'The client did not answer in time' }

/** A call that is under way in the server, over all the requests of the client that it takes. */
export class BridgedCall implements Turn {
  /** Requests of the server that the client has not answered. */
  readonly questions = new Map<string, ServerRequest>()
  /** Whether it has been sent, or waits in a session that is open. */
  state: 'new' | 'waiting' | 'sent' = 'new'
  /** Whether the server owes it nothing more. */
  over = false
  /** A capability that the server wanted and the client did not declare, as a path. */
  missing: readonly string[] | undefined
  #sent: SentRequest | undefined
  /** To the call, which may wait for what the client is asked before it. */
  #answer: Promise<JsonObject | Fault> | undefined
  #isCancelled = false
  #onAnswered: (() => void) | undefined
  readonly #asked = memory.queue()
  #count = 0
  /** Messages that came while the client was asked. */
  #kept: Waiting | undefined
  /** The request of the client that is open. */
  #open: StatelessCall | undefined
  #onAsked: (() => void) | undefined
  /** Nobody takes its messages any more. */
  #isLeft = false

  /** @param onDropped runs once, when a message is lost */
  constructor(
    readonly session: PooledSession,
    readonly who: string,
    readonly use: Use,
    private readonly first: StatelessCall,
    private readonly onDropped: () => void,
  ) {}

  /** @param ready the server's result of `initialize` */
  async send(ready: JsonObject): Promise<void> {
    const { session, first, use } = this
    const { method, params } = first.message
    const { [LOG_LEVEL]: level } = metaOf(params)
    this.state = 'sent'
    // Others that are under way have their own.
    if (level !== undefined && (use !== 'plain' || !session.turns.busy)) await session.setLevel(ready, level)
    const hasRoots = ASKING.has(method) && declares(helloOf(params).capabilities, ['roots'])
    const offered = hasRoots ? session.offerRoots(() => this.#whenAnswered()) : undefined
    this.#answer = offered ? offered.then(() => this.#request()) : this.#request()
    this.#answer.catch(unexpected(method))
  }

  /** Resolves when the client owes no answer; whether it did. */
  #whenAnswered(): Promise<boolean> {
    if (!this.questions.size) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#onAnswered = () => resolve(true)
    })
  }

  /** Sends the call. */
  #request(): Promise<JsonObject | Fault> {
    const { session, first, use } = this
    const { method, params, span } = first.message
    this.#sent = this.#isCancelled
      ? { answer: Promise.resolve(new Fault('cancelled', 'The call was cancelled')), cancel() {} }
      : session.request(method, forSession(params), {
          onMessage: (raw) => this.message(raw),
          isAsking: () => this.questions.size > 0,
          span,
        })
    const over = async (answer: JsonObject | Fault) => {
      this.over = true
      this.#asked.free()
      // What the server says of a call that it has not answered must not pass for the next one's.
      if (use === 'alone' && answer instanceof Fault && UNANSWERED.has(answer.kind))
        await session.calm(this.who !== '')
      session.turns.leave(this)
      session.left()
    }
    this.#sent.answer.then(over).catch(unexpected(method))
    return this.#sent.answer
  }

  /** The answer, or that the server has asked something. */
  async next(call: StatelessCall): Promise<JsonObject | Fault | 'asked'> {
    this.#open = call
    for (const text of this.#kept?.take() ?? []) this.#deliver(parseVerbatim(text) as JsonObject, call)
    const asked = new Promise<'asked'>((resolve) => {
      // Several questions at once are one round for the client.
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
    this.#kept ??= new Waiting(this.first.sharer ?? '', this.onDropped)
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

  /** Gives the server what the client has answered. */
  answer(given: JsonObject): void {
    for (const [key, question] of this.questions) {
      const result = Object.hasOwn(given, key) ? given[key] : undefined
      if (!isObject(result)) continue
      this.questions.delete(key)
      this.session.respond(question, { result: omit(result, 'resultType') })
    }
    if (!this.questions.size) this.#onAnswered?.()
  }

  /** Nobody has answered, or the answer came too late. */
  giveUp(): void {
    for (const question of this.questions.values()) this.session.respond(question, { error: TIMED_OUT })
    this.#onAnswered?.()
    this.cancel(TIMED_OUT.message)
    this.leave()
  }

  /** Its client has the answer, or wants none. */
  leave(): void {
    this.#isLeft = true
    this.#kept?.take()
  }

  cancel(reason: string): void {
    this.#isCancelled = true
    this.#onAnswered?.()
    this.#sent?.cancel(reason)
  }

  /** Gives a message to a request of the client, which may name another progress token and level than the first. */
  #deliver(raw: JsonObject, { message, onMessage }: StatelessCall): void {
    const { progressToken, [LOG_LEVEL]: level } = metaOf(message.params)
    const params = isObject(raw.params) ? raw.params : {}
    if (raw.method === 'notifications/progress') {
      if (progressToken !== undefined) onMessage({ ...raw, params: { ...params, progressToken } })
    } else if (raw.method !== 'notifications/message' || isWanted(params.level, level)) onMessage(raw)
  }
}

/** How a request uses its session. */
export function useOf({ method, params }: StatelessCall['message']): Use {
  if (/\/list$|^completion\//.test(method)) return 'plain'
  if (metaOf(params)[LOG_LEVEL] !== undefined) return 'alone'
  const { capabilities } = helloOf(params)
  const asks = ASKING.has(method) && Object.values(NEEDS).some((needs) => capabilities[needs])
  return asks ? 'alone' : 'open'
}

/** The capability of a client that a request of a server needs; undefined: the request cannot be bridged. */
function capabilityFor({ method, params }: ServerRequest): readonly string[] | undefined {
  const needs = Object.hasOwn(NEEDS, method) ? (NEEDS[method] as string) : undefined
  if (needs === 'elicitation') return [needs, params.mode === 'url' ? 'url' : 'form']
  if (needs === 'sampling' && params.tools !== undefined) return [needs, 'tools']
  return needs === undefined ? undefined : [needs]
}

/** Parameters without what only 2026-07-28 has. */
function forSession(params: JsonObject): JsonObject {
  const meta = omit(metaOf(params), PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL)
  const rest = omit(params, '_meta', 'inputResponses', 'requestState')
  return Object.keys(meta).length ? { ...rest, _meta: meta } : rest
}
