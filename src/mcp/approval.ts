import { isObject, type Json, type JsonObject, parseVerbatim, stringify } from '../json/index.ts'
import { shorten } from '../text/index.ts'
import { approvalMessage } from './approval-message.ts'
import type { ApprovalOutcome, Call, CallLog } from './call.ts'
import { Fault } from './fault.ts'
import { type ListSource, listedTool } from './listed-tools.ts'
import { INVALID_PARAMS, isSessionRevision, METHOD_NOT_FOUND, type RpcError } from './protocol.ts'
import type { Reply } from './stream.ts'

/** Asks a person, through the calling client, to approve calls of tools that may be destructive. */

export type Unapproved = Exclude<ApprovalOutcome, 'asked' | 'accepted'>

const CALL = 'tools/call'
/** The request that asks a person, and the client capability that it requires. */
export const ELICIT = 'elicitation/create'
export const ELICITATION = ['elicitation', 'form'] as const

/** Whether the route requires approval and the request is a tool call. */
export function mayNeedApproval({ context, request }: Call): boolean {
  return context.approval !== undefined && request.method === CALL
}

export interface ToolToApprove {
  title: string | undefined
}

/** The tool that needs approval; `free`: it needs none; undefined: the call has been answered. */
export async function toolToApprove(
  call: Call,
  source: ListSource,
): Promise<ToolToApprove | 'free' | undefined> {
  const { method, params } = call.request
  const refused = (error: RpcError) => {
    call.error(error)
    return undefined
  }
  // A lenient server could treat a similar spelling as `tools/call`, so only the exact method passes.
  if (method !== CALL) return refused({ code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })
  const { name } = params
  if (typeof name !== 'string')
    return refused({ code: INVALID_PARAMS, message: 'params.name must be a string' })
  const listed = await listedTool(name, source)
  if (call.over) return undefined
  if (listed instanceof Fault) {
    call.fail(listed)
    return undefined
  }
  const { tool } = listed
  // The hints of an unlisted tool are unknown, so its call is refused.
  if (!tool) return refused({ code: INVALID_PARAMS, message: `Unknown tool: ${shorten(name, 80)}` })
  return isDestructive(tool) ? { title: titleOf(tool) } : 'free'
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
export function questionFor({ context, request }: Call, { title }: ToolToApprove): JsonObject {
  const { name, arguments: given } = request.params
  const server = context.approval?.server ?? ''
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

const REASONS: Readonly<Record<Exclude<Unapproved, 'unavailable'>, string>> = {
  declined: 'the person who was asked declined it. Do not repeat the call unless the user asks for it',
  cancelled: 'the person who was asked gave no answer. Ask the user before you repeat the call',
  timeout: 'no answer in time. Ask the user before you repeat the call',
}

/** Reason, and remedy, when the client cannot ask a person. */
export const CANNOT_ASK =
  'the client cannot ask anybody: use one that declares the capability `elicitation` (form), in revision 2025-06-18 or later'

/** Answers an unapproved call with a result that the model can read. */
export function refuseUnapproved(call: Call, outcome: Unapproved, why?: string): void {
  const reason = why ?? (outcome === 'unavailable' ? CANNOT_ASK : REASONS[outcome])
  const text = messageFor(call, reason)
  const content = [{ type: 'text', text }]
  const result = { content, isError: true }
  call.approval = outcome
  call.result(stringify(isSessionRevision(call.revision) ? result : { resultType: 'complete', ...result }), {
    outcome: 'refused',
    failure: text,
    denied: 'approval',
  })
}

export function messageFor({ request }: Call, reason: string): string {
  const name = shorten(String(request.params.name), 80)
  return `The call was not sent: a person has to approve calls of the tool ${name}, and ${reason}.`
}

/** Call log of the gateway's own requests: they are logged, but not counted or audited. */
export function silent({ tenant, prefix, log }: CallLog): CallLog {
  return { tenant, prefix, log }
}

/** Collects the answer to one of the gateway's own requests. */
export class OwnReply implements Reply {
  readonly response: Promise<JsonObject | Fault>
  private resolve!: (response: JsonObject | Fault) => void

  constructor() {
    this.response = new Promise((resolve) => {
      this.resolve = resolve
    })
  }

  canStream(): boolean {
    return false
  }
  canResume(): boolean {
    return false
  }
  message(): void {}
  answer(text: string): void {
    const raw = parseVerbatim(text)
    this.resolve(isObject(raw) ? raw : NO_ANSWER)
  }
  end(): void {
    this.resolve(NO_ANSWER)
  }
  write(): void {}
  prime(): void {}
}

const NO_ANSWER = new Fault('lost', 'The server gave no list of its tools')
