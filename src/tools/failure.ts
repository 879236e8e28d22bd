import { NetFault, type NetFaultKind } from '../net/index.ts'
import { sizeText, timeText } from '../text/index.ts'
import type { Failure, ToolResult } from './types.ts'

/**
 * A call that ended early. `text` goes to the model as it is; `detail` is for the author of the tool, and never holds a
 * value.
 */
export class CallError extends Error {
  constructor(
    readonly failure: Failure,
    readonly text: string,
    readonly detail?: string,
  ) {
    super(text)
  }
}

/** A result that says what failed. */
export function errorResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

const FAILURES: Readonly<Record<NetFaultKind, Failure>> = {
  name: 'connect',
  refused: 'connect',
  unreachable: 'connect',
  proxy: 'connect',
  'connect-timeout': 'timeout',
  timeout: 'timeout',
  tls: 'tls',
  cancelled: 'cancelled',
  closed: 'network',
  protocol: 'network',
  headers: 'network',
  ended: 'network',
  other: 'network',
  'too-large': 'too-large',
  'no-room': 'no-room',
  encoding: 'encoding',
  request: 'request',
}

/** The limits of a call, for the texts of what exceeds them. */
export interface CallLimits {
  /** Milliseconds. */
  timeout: number
  /** Bytes. */
  maxResponseSize: number
}

/** What a fault of the network means for a call. */
export function networkError(fault: NetFault, { timeout, maxResponseSize }: CallLimits): CallError {
  const failure = FAILURES[fault.kind]
  const { host } = fault
  let text = fault.message
  if (fault.kind === 'timeout')
    text = `${host} did not respond completely within ${timeText(timeout)} (timeout)`
  if (fault.kind === 'too-large') {
    const answered = fault.status === undefined ? '' : ` (${fault.status})`
    text = `The response of ${host}${answered} is larger than the limit of ${sizeText(maxResponseSize)} (maxResponseSize)`
  }
  const doubt = fault.uncertain && (failure === 'network' || failure === 'timeout')
  return new CallError(
    failure,
    `${text}.${doubt ? ' The request may or may not have been carried out.' : ''}`,
  )
}

/** Whatever ended a call; an error that nobody foresaw shows nothing of itself. */
export function asCallError(error: unknown, limits: CallLimits): CallError {
  if (error instanceof CallError) return error
  if (error instanceof NetFault) return networkError(error, limits)
  if (error instanceof RangeError)
    return new CallError('arguments', 'The arguments or the response are nested too deeply for this gateway.')
  return new CallError('internal', 'The gateway could not make this call.')
}
