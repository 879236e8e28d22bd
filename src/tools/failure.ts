import type { Fault } from '../mcp/fault.ts'
import { NetFault, type NetFaultKind, tooLargeText } from '../net/index.ts'
import type { Outcome } from '../telemetry/outcome.ts'
import { timeText } from '../text/index.ts'

/** How a call counts that failed so. */
const OUTCOMES = {
  arguments: 'refused',
  template: 'refused',
  request: 'refused',
  'too-large': 'refused',
  outbound: 'refused',
  breaker: 'refused',
  timeout: 'timeout',
  cancelled: 'cancelled',
  connect: 'failed',
  /** There is no token for the server. */
  credentials: 'failed',
  tls: 'failed',
  network: 'failed',
  redirect: 'failed',
  'no-room': 'refused',
  status: 'tool_error',
  encoding: 'failed',
  'output-schema': 'failed',
  /** A fault of the gateway itself. */
  internal: 'failed',
} satisfies Record<string, Outcome>

/** Short code for the log. */
export type Failure = keyof typeof OUTCOMES

/** @param upstreamStatus of an answer that had begun */
export function outcomeOf(failure: Failure | undefined, upstreamStatus: number | undefined): Outcome {
  if (!failure) return 'ok'
  const outcome = OUTCOMES[failure]
  // A limit may also be reached by an answer.
  return outcome === 'refused' && upstreamStatus !== undefined ? 'failed' : outcome
}

/**
 * A call that ended early. `text` goes to the model as it is; `detail` is for the author of the tool, and never holds a
 * value.
 */
export class CallError extends Error {
  constructor(
    readonly failure: Failure,
    readonly text: string,
    readonly detail?: string,
    /** Of the upstream's answer, where it was the answer that failed. */
    readonly upstreamStatus?: number,
  ) {
    super(text)
  }
}

/** The other kinds have the same name. */
const FAILURES: Partial<Record<NetFaultKind, Failure>> = {
  name: 'connect',
  refused: 'connect',
  unreachable: 'connect',
  proxy: 'connect',
  'connect-timeout': 'timeout',
  closed: 'network',
  protocol: 'network',
  headers: 'network',
  ended: 'network',
  other: 'network',
}

/** The limits of a call, for the texts of what exceeds them. */
interface CallLimits {
  /** Milliseconds. */
  timeout: number
  /** Bytes. */
  maxResponseSize: number
}

/** What a fault of the network means for a call. */
function networkError(fault: NetFault, { timeout, maxResponseSize }: CallLimits): CallError {
  const failure = FAILURES[fault.kind] ?? (fault.kind as Failure)
  const { host } = fault
  let text = fault.message
  if (fault.kind === 'timeout')
    text = `${host} did not respond completely within ${timeText(timeout)} (timeout)`
  if (fault.kind === 'too-large') {
    const answered = fault.status === undefined ? '' : ` (${fault.status})`
    text = tooLargeText(`${host}${answered}`, maxResponseSize)
  }
  const doubt = fault.uncertain && (failure === 'network' || failure === 'timeout')
  const whole = `${text}.${doubt ? ' The request may or may not have been carried out.' : ''}`
  return new CallError(failure, whole, undefined, fault.status)
}

/** Why there is nothing to send to a server that wants to know who asks. */
export function credentialError({ kind, message }: Fault): CallError {
  return new CallError(kind === 'timeout' ? 'timeout' : 'credentials', `${message}.`)
}

/** Whatever ended a call; an error that nobody foresaw shows nothing of itself. */
export function asCallError(error: unknown, limits: CallLimits): CallError {
  if (error instanceof CallError) return error
  if (error instanceof NetFault) return networkError(error, limits)
  if (error instanceof RangeError)
    return new CallError('arguments', 'The arguments or the response are nested too deeply for this gateway.')
  return new CallError('internal', 'The gateway could not make this call.')
}
