import { isObject, type Json, type JsonObject } from '../../json/index.ts'
import { shorten } from '../../text/index.ts'
import { type Answer, errorAnswer, faultAnswer, toolResult } from '../answer.ts'
import type { Call, Middleware } from '../call.ts'
import type { ApprovalOutcome } from '../call-log.ts'
import { Fault } from '../fault.ts'
import { INVALID_PARAMS } from '../protocol.ts'
import { approvalMessage } from './approval-message.ts'
import { listedTool, listSource } from './listed-tools.ts'

/** Asks a person, through the calling client, to approve calls of tools that may be destructive. */

const CALL = 'tools/call'
/** The request that asks a person, and the client capability that it requires. */
export const ELICIT = 'elicitation/create'
export const ELICITATION = ['elicitation', 'form'] as const

/** Asks a person before a tool that may be destructive is called. */
export const approval: Middleware = async (call, next) => {
  if (call.request.method !== CALL) return next()
  if (call.approval !== 'accepted') {
    const refused = await unapproved(call)
    if (refused) return refused
  }
  return call.approval === 'accepted' ? call.keepApproval(await next()) : next()
}

/** The answer to a call that is not approved; undefined: it is, or needs no approval. */
async function unapproved(call: Call): Promise<Answer | undefined> {
  if (call.approval) return refusalOf(call, call.approval)
  const { name } = call.request.params
  if (typeof name !== 'string')
    return errorAnswer(call, { code: INVALID_PARAMS, message: 'params.name must be a string' })
  const listed = await listedTool(name, listSource(call))
  if (listed instanceof Fault) return faultAnswer(call, listed)
  const { tool } = listed
  // The hints of an unlisted tool are unknown, so its call is refused.
  if (!tool) return errorAnswer(call, { code: INVALID_PARAMS, message: `Unknown tool: ${shorten(name, 80)}` })
  if (!isDestructive(tool)) return undefined
  const answer = await call.ask(questionFor(call, titleOf(tool)))
  if ('end' in answer) return answer
  call.approval = answer.outcome
  return answer.outcome === 'accepted' ? undefined : refusalOf(call, answer.outcome, answer.why)
}

/**
 * By the defaults of MCP (ToolAnnotations), destructive unless `readOnlyHint` is true or `destructiveHint` is false.
 */
function isDestructive({ annotations }: JsonObject): boolean {
  const hints = isObject(annotations) ? annotations : {}
  return hints.readOnlyHint !== true && hints.destructiveHint !== false
}

function titleOf({ title, annotations }: JsonObject): string | undefined {
  const hints = isObject(annotations) ? annotations : {}
  return [title, hints.title].find((one) => typeof one === 'string') as string | undefined
}

/** Parameters of the elicitation request: a form without fields, so accepting it approves the call. */
function questionFor({ context, request }: Call, title: string | undefined): JsonObject {
  const { name, arguments: given } = request.params
  const server = context.route.approval?.server ?? ''
  return {
    message: approvalMessage({ server, tool: String(name), title, given }),
    requestedSchema: { type: 'object', properties: {} },
  }
}

export function outcomeOfAnswer(result: Json | undefined): 'accepted' | 'declined' | 'cancelled' {
  const action = isObject(result) ? result.action : undefined
  if (action === 'accept') return 'accepted'
  return action === 'decline' ? 'declined' : 'cancelled'
}

const REASONS = {
  declined: 'the person who was asked declined it. Do not repeat the call unless the user asks for it',
  cancelled: 'the person who was asked gave no answer. Ask the user before you repeat the call',
  timeout: 'no answer in time. Ask the user before you repeat the call',
}

/** Reason, and remedy, when the client cannot ask a person. */
export const CANNOT_ASK =
  'the client cannot ask anybody: use one that declares the capability `elicitation` (form), in revision 2025-06-18 or later'

/** A result that tells the model why the call was not sent. */
function refusalOf(call: Call, outcome: ApprovalOutcome, why?: string): Answer {
  const reason = why ?? REASONS[outcome as keyof typeof REASONS] ?? CANNOT_ASK
  const text = messageFor(call, reason)
  const end = { outcome: 'refused', failure: text, denied: 'approval' } as const
  return toolResult(call, [text], end)
}

export function messageFor({ request }: Call, reason: string): string {
  const name = shorten(String(request.params.name), 80)
  return `The call was not sent: a person has to approve calls of the tool ${name}, and ${reason}.`
}
