import type { Logger } from '../../telemetry/log.ts'
import type { CallRecord } from '../../telemetry/metrics.ts'

/** Characters of a name that are logged: clients choose it. */
const MAX_NAME = 200

/** A proxied request that is over. */
export interface Call {
  method: string
  /** Of a tool or prompt, as the client called it. */
  name: unknown
  ms: number
  requestId: string
  failure?: string
}

/** Writes a line for each call: tools at `info`, other methods at `debug`, what failed at `warn`. */
export function callLog(
  log: Logger,
  fields: { tenant: string; prefix: string },
  onCall: ((call: CallRecord) => void) | undefined,
): (call: Call) => void {
  const { tenant, prefix } = fields
  return (call) => {
    const { method, ms, failure } = call
    // That a client goes away is no fault of a server.
    const cancelled = failure !== undefined && /cancelled/.test(failure)
    const outcome = cancelled ? 'cancelled' : failure === undefined ? 'ok' : 'failed'
    onCall?.({ tenant, prefix, method, ms, outcome })
    // Most lines are not printed, and need not be made.
    if (failure || log.isLevelEnabled(method === 'tools/call' ? 'info' : 'debug')) write(call, cancelled)
  }

  function write({ method, name, ...rest }: Call, cancelled: boolean): void {
    const tool = typeof name === 'string' ? name.slice(0, MAX_NAME) : undefined
    const line = { ...fields, ...(method === 'tools/call' ? { tool } : { method }), ...rest }
    if (cancelled) log.info(line, 'proxied call cancelled')
    else if (rest.failure) log.warn(line, 'proxied call failed')
    else if (method === 'tools/call') log.info(line, 'proxied call')
    else log.debug(line, 'proxied call')
  }
}
