import { Fault, type LoginNeed } from '../mcp/fault.ts'
import { NetFault, type NetFaultKind, tooLargeText } from '../net/index.ts'
import type { Outcome } from '../telemetry/outcome.ts'
import { timeText } from '../text/index.ts'

/** The metrics outcome of each failure. */
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
  /** No token for the server. */
  credentials: 'failed',
  tls: 'failed',
  network: 'failed',
  redirect: 'failed',
  'no-room': 'refused',
  status: 'tool_error',
  encoding: 'failed',
  'output-schema': 'failed',
  /** A bug of the gateway. */
  internal: 'failed',
} satisfies Record<string, Outcome>

/** Short code for the log. */
export type Failure = keyof typeof OUTCOMES

/** A part of a template: `what` is such as `endpoint` or `header X-Id`; offsets are into its text. */
export interface TemplatePlace {
  what: string
  start: number
  end: number
}

/** @param upstreamStatus of an answer that had begun */
export function metricOutcome(failure: Failure | undefined, upstreamStatus: number | undefined): Outcome {
  if (!failure) return 'ok'
  const outcome = OUTCOMES[failure]
  // The answer itself may exceed a limit.
  return outcome === 'refused' && upstreamStatus !== undefined ? 'failed' : outcome
}

/**
 * A call that ended early. `text` is sent to the model unchanged; `detail` is for the author of the tool, and never
 * contains values.
 */
export class CallError extends Error {
  constructor(
    readonly failure: Failure,
    readonly text: string,
    readonly detail?: string,
    /** Status of the answer, if the answer caused the failure. */
    readonly upstreamStatus?: number,
    /** The template that failed. */
    readonly place?: TemplatePlace,
    /** The login that the call lacks. */
    readonly login?: LoginNeed,
  ) {
    super(text)
  }
}

/** Other kinds keep their names. */
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

/** Limits mentioned in the texts. */
interface CallLimits {
  /** Milliseconds. */
  timeout: number
  /** Bytes. */
  maxResponseSize: number
}

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

/** The given credentials. @throws CallError if they could not be obtained */
export function obtained<T>(given: T | Fault): T {
  if (!(given instanceof Fault)) return given
  const { kind, message, login } = given
  const failure = kind === 'timeout' ? 'timeout' : 'credentials'
  throw new CallError(failure, `${message}.`, undefined, undefined, undefined, login)
}

/** The failure for any error; unexpected errors do not reveal their text. */
export function asCallError(error: unknown, limits: CallLimits): CallError {
  if (error instanceof CallError) return error
  if (error instanceof NetFault) return networkError(error, limits)
  if (error instanceof RangeError)
    return new CallError('arguments', 'The arguments or the response are nested too deeply for this gateway.')
  return new CallError('internal', 'The gateway could not make this call.')
}
