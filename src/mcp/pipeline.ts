import { unexpected } from '../telemetry/unexpected.ts'
import { type Answer, faultAnswer } from './answer.ts'
import type { Call, Middleware, Pipeline } from './call.ts'
import { type CallerLogins, Fault } from './fault.ts'
import { approval } from './middleware/approval.ts'
import { discovery } from './middleware/discovery.ts'
import { logins, loginTools } from './middleware/logins.ts'
import { mirroredHeaders } from './middleware/mirrored-headers.ts'
import { permissions } from './middleware/permissions.ts'
import { keptResults } from './middleware/read-result.ts'
import { record } from './middleware/record.ts'

/** The optional middleware that a route needs. */
export interface PipelineParts {
  keepsResults?: boolean
  discovers?: boolean
  authorizes?: boolean
  approves?: boolean
  logsIn?: boolean | undefined
  /** Logins at servers that show their tools only after one. */
  logins?: readonly CallerLogins[] | undefined
}

/**
 * Every `Call` passes this list, whatever its transport, revision and backend; `initialize` and early refusals do not.
 * A new concern is a file and a line here.
 */
export function pipelineOf(parts: PipelineParts): Pipeline {
  const { keepsResults, discovers, authorizes, approves, logsIn, logins: needed = [] } = parts
  const results = keepsResults ? [keptResults] : []
  const rules = authorizes ? [permissions] : []
  return {
    clientRequests: compose([
      record,
      interruptible,
      ...(needed.length ? [loginTools(needed)] : []),
      ...results,
      ...(discovers ? [discovery] : []),
      ...rules,
      mirroredHeaders,
      ...(approves ? [approval] : []),
      ...(logsIn ? [logins] : []),
    ]),
    ownRequests: compose([...results, ...rules]),
  }
}

/** Ends the call early if it is cancelled, times out or its session ends; a bug becomes an internal error. */
const interruptible: Middleware = (call, next) =>
  call.signal.aborted ? call.interrupted : Promise.race([call.interrupted, safely(call, next)])

async function safely(call: Call, next: () => Promise<Answer>): Promise<Answer> {
  try {
    return await next()
  } catch (error) {
    unexpected(call.request.method)(error)
    return faultAnswer(call, new Fault('internal', 'Internal error'))
  }
}

/** Answers a call through the pipeline of its route. Never rejects. */
export function handle(call: Call): Promise<Answer> {
  return call.pipeline.clientRequests(call, () => (call.signal.aborted ? call.interrupted : call.serve()))
}

/** One middleware of several, the first outermost. */
export function compose(list: readonly Middleware[]): Middleware {
  return (call, next) => {
    const from = (i: number): Promise<Answer> => {
      const middleware = list[i]
      return middleware ? middleware(call, () => from(i + 1)) : next()
    }
    return from(0)
  }
}
