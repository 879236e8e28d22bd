import { isObject, type JsonObject, stringify } from '../../json/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { type Answer, errorAnswer, resultAnswer, toolResult, withResult } from '../answer.ts'
import type { Call, ElicitationOutcome, Middleware } from '../call.ts'
import type { ApprovalOutcome } from '../call-log.ts'
import { declares } from '../client-capabilities.ts'
import { type CallerLogins, Fault, type LoginNeed, type LoginQuestion } from '../fault.ts'
import {
  CLIENT_CAPABILITIES,
  isSessionRevision,
  metaOf,
  notificationText,
  omit,
  type Request,
  withParams,
} from '../protocol.ts'
import { ELICIT, outcomeOfAnswer } from './approval.ts'
import { forgetTools } from './listed-tools.ts'

/**
 * Logins of callers at servers: the client sends its user to a page (2025-11-25 and 2026-07-28, Elicitation, URL mode), and
 * the call is repeated. A call without its login was not executed, so that is safe.
 */

/** The client capability. */
export const VISITS = ['elicitation', 'url'] as const
/** `URLElicitationRequiredError` of 2025-11-25. */
const VISIT_REQUIRED = -32042
/** Milliseconds for which a repeated stateless call waits for the login. */
const PATIENCE = 20_000

/** Asks for a login that a call lacks. */
export const logins: Middleware = async (call, next) => {
  const answer = await next()
  const { login } = answer.end
  if (!login || call.signal.aborted) return answer
  // It was not executed, so it continues.
  call.isOver = false
  return asked(call, login, next)
}

/** @param next answers the call once the caller has logged in */
async function asked(call: Call, login: LoginNeed, next: () => Promise<Answer>): Promise<Answer> {
  const question = await login.ask()
  if (question instanceof Fault) return refusal(call, question.message)
  const visited = await call.visit(paramsOf(question))
  if ('end' in visited) return told(call, question, visited)
  const { outcome } = visited
  if (outcome === 'declined' || outcome === 'cancelled')
    return refusal(
      call,
      `The user did not log in at the server ${question.server}. Do not repeat the call unless the user asks for it`,
    )
  if (outcome !== 'accepted') return refusal(call, question.advice)
  const isOpen = isSessionRevision(call.revision)
  const isThere = await question.done(call.signal, isOpen ? undefined : PATIENCE)
  if (isThere) {
    call.message(completionOf(question))
    return next()
  }
  const again = isOpen ? visited : await call.visit(paramsOf(question))
  return 'end' in again ? again : refusal(call, question.advice)
}

/** The answer with the address of a page; the client hears when its user has logged in there. */
function told(call: Call, question: LoginQuestion, answer: Answer): Answer {
  if (isSessionRevision(call.revision))
    question.completed
      .then((isThere) => isThere && call.messageLater(completionOf(question)))
      .catch(unexpected('a login'))
  return answer
}

function completionOf({ id }: LoginQuestion): string {
  return notificationText('notifications/elicitation/complete', { elicitationId: id })
}

/** Begins the names of the tools by which clients log in at servers whose own tools are not known yet. */
const TOOL = 'login_'

/**
 * Lists a tool for each server that shows its tools only to callers who have logged in, and answers its calls. Rules, which are
 * about tools of servers, do not name it.
 */
export function loginTools(all: readonly CallerLogins[]): Middleware {
  return async (call, next) => {
    const { context, request } = call
    const { method, params } = request
    const mayAsk = context.permissions?.allowsSome ?? true
    if (!mayAsk || (method !== 'tools/list' && method !== 'tools/call')) return next()
    const missingAt = ({ missing }: CallerLogins) => missing(context.identity)
    const named = all.find(({ server }) => params.name === TOOL + server)
    const login = named && (await missingAt(named))
    if (login) return asked(call, login, async () => loggedIn(call, named.server))
    const shown = named && (await named.show(context.identity))
    if (shown !== undefined) return textAnswer(call, shown)
    const answer = await next()
    const isList = method === 'tools/list'
    if (!isList && !call.listing) return answer
    const missing = await Promise.all(all.map(missingAt))
    const lacking = all.filter((_, i) => missing[i])
    // A search that was made before the login would not find the tools of the server.
    if (lacking.length) forgetTools(call.viewer.of, call.viewer.key)
    return isList && lacking.length && params.cursor === undefined ? withTools(answer, lacking) : answer
  }
}

function withTools(answer: Answer, lacking: readonly CallerLogins[]): Answer {
  return withResult(answer, (result) => {
    if (!Array.isArray(result.tools)) return undefined
    const tools = [...result.tools, ...lacking.map(({ server }) => toolOf(server))]
    return { ...result, tools, ...(result.cacheScope !== undefined && { cacheScope: 'private' }) }
  })
}

function toolOf(server: string): JsonObject {
  return {
    name: TOOL + server,
    description: `Log in at the server ${server}, which then shows its tools. Use it when the user needs this server.`,
    inputSchema: { type: 'object', properties: {} },
  }
}

function loggedIn(call: Call, server: string): Answer {
  forgetTools(call.viewer.of, call.viewer.key)
  return textAnswer(
    call,
    `The user is logged in at the server ${server}. List the tools again to see its tools`,
  )
}

function textAnswer(call: Call, text: string): Answer {
  return toolResult(call, [`${text}.`], { outcome: 'ok' })
}

function paramsOf({ id, url, message }: LoginQuestion): JsonObject {
  return { mode: 'url', elicitationId: id, url, message }
}

/** A result that a model can act on. */
function refusal(call: Call, text: string): Answer {
  return toolResult(call, [`${text}.`], { outcome: 'refused', failure: 'login', denied: 'login' })
}

/** The error with which a client of 2025-11-25 sends its user to a page. */
export function visitRequired(call: Call, params: JsonObject): Answer {
  const error = {
    code: VISIT_REQUIRED,
    message: `${params.message} ${params.url}`,
    data: { elicitations: [params] },
  }
  return errorAnswer(call, error, { outcome: 'refused', failure: 'login', denied: 'login' })
}

/** Begins the `requestState` of the gateway's own questions. */
const STATE = 'login.'
const KEY = 'login'

/** A stateless request without the answer to the gateway's question, and that answer, if it has one. */
export function withoutVisit(request: Request): { request: Request; visited?: ApprovalOutcome } {
  const { requestState, inputResponses } = request.params
  if (typeof requestState !== 'string' || !requestState.startsWith(STATE)) return { request }
  const own = withParams(request, omit(request.params, 'requestState', 'inputResponses'))
  const answer = isObject(inputResponses) ? inputResponses[KEY] : undefined
  return answer === undefined ? { request: own } : { request: own, visited: outcomeOfAnswer(answer) }
}

/** Answers a stateless call with the question, unless its client cannot send a user to a page. */
export function visitStateless(call: Call, params: JsonObject): ElicitationOutcome | Answer {
  const capabilities = metaOf(call.request.params)[CLIENT_CAPABILITIES]
  if (!isObject(capabilities) || !declares(capabilities, VISITS)) return { outcome: 'unavailable' }
  const inputRequests = { [KEY]: { method: ELICIT, params } }
  const result = { resultType: 'input_required', inputRequests, requestState: STATE + params.elicitationId }
  return resultAnswer(call, stringify(result), { outcome: 'refused', failure: 'login', denied: 'login' })
}
