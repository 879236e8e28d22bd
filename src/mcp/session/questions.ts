import { randomUUID } from 'node:crypto'
import { isObject, type JsonObject, stringify } from '../../json/index.ts'
import type { BackendSession } from '../backend.ts'
import type { Call } from '../call.ts'
import { errorResponse, INTERNAL_ERROR, type Message, notificationText, type RequestId } from '../protocol.ts'

/** Maximum server requests that wait for the client's answer, in one session or call. */
export const MAX_QUESTIONS = 64

/** A request that the client has not answered. */
export interface Question {
  /** The backend that serves the session. */
  readonly from: BackendSession
  /** The call that it belongs to, if known. */
  readonly call: Call | undefined
  /** Receives the response to one of the gateway's own questions; undefined: there will be no response. */
  readonly settle?: (response: JsonObject | 'timeout' | undefined) => void
}

export type OwnAnswer = JsonObject | 'timeout' | 'busy' | undefined

const TOO_MANY = 'Too many requests wait for the client'
const NO_CLIENT = 'The client has gone'

/** Requests to the client of a session that it has not answered. */
export class Questions {
  readonly #open = new Map<RequestId, Question>()
  #isSilent = false

  /**
   * @param answerTime milliseconds in which a person may answer
   * @param send sends the client a message about a call; if `isQueued`, once it can be reached
   */
  constructor(
    private readonly answerTime: number,
    private readonly send: (call: Call, text: string, isQueued: boolean) => void,
  ) {}

  get(id: RequestId): Question | undefined {
    return this.#open.get(id)
  }

  /** Registers a server's request; false: the server gets an error instead. */
  add(id: RequestId, question: Question): boolean {
    const mayAsk = !this.#isSilent && this.#open.size < MAX_QUESTIONS
    if (mayAsk) this.#open.set(id, question)
    else question.from.notify(unanswered(id, this.#isSilent ? NO_CLIENT : TOO_MANY))
    return mayAsk
  }

  /** Removes and returns the question that the client, or the server's cancellation, has ended. */
  take(id: RequestId): Question | undefined {
    const question = this.#open.get(id)
    this.#open.delete(id)
    return question
  }

  /**
   * Asks the client something for a call; undefined: the call ended first. The id tells other replicas where to forward
   * the answer.
   */
  ask(call: Call, from: BackendSession, method: string, params: JsonObject): Promise<OwnAnswer> {
    if (this.#isSilent) return Promise.resolve(undefined)
    if (this.#open.size >= MAX_QUESTIONS) return Promise.resolve('busy')
    const name = `plantgw-${randomUUID()}`
    const id = call.context.replicas?.seal(name) ?? name
    return new Promise((resolve) => {
      const settle = (answer: JsonObject | 'timeout' | undefined) => {
        clearTimeout(timer)
        this.#open.delete(id)
        resolve(answer)
        if (isObject(answer)) return
        const reason = answer === 'timeout' ? 'No answer in time' : 'The call is over'
        this.send(call, notificationText('notifications/cancelled', { requestId: id, reason }), false)
      }
      const timer = setTimeout(settle, this.answerTime, 'timeout')
      this.#open.set(id, { from, call, settle })
      this.send(call, stringify({ jsonrpc: '2.0', id, method, params }), true)
    })
  }

  /** The client cannot answer any more: ends current questions, and later ones at once. */
  silence(): void {
    this.#isSilent = true
    for (const [id, { from, settle }] of [...this.#open]) {
      this.#open.delete(id)
      if (settle) settle(undefined)
      else from.notify(unanswered(id, NO_CLIENT))
    }
  }

  /** Drops the questions of a server that lost its state. */
  forget(from: BackendSession): void {
    for (const [id, question] of this.#open)
      if (question.from === from && !question.settle) this.#open.delete(id)
  }

  /** Drops the questions of a call that has ended. */
  drop(call: Call): void {
    for (const [id, question] of this.#open) {
      if (question.call !== call) continue
      this.#open.delete(id)
      question.settle?.(undefined)
    }
  }

  some(test: (question: Question) => boolean): boolean {
    return [...this.#open.values()].some(test)
  }
}

/** The answer to a server whose question did not reach the client. */
function unanswered(id: RequestId, why: string): Message {
  return { kind: 'response', id, raw: errorResponse(id, { code: INTERNAL_ERROR, message: why }) }
}
