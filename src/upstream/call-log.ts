import type { Logger } from '../telemetry/log.ts'

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
export function callLog(log: Logger, fields: { tenant: string; prefix: string }): (call: Call) => void {
  return ({ method, name, ...rest }) => {
    // Most lines are not printed, and need not be made.
    if (!rest.failure && !log.isLevelEnabled(method === 'tools/call' ? 'info' : 'debug')) return
    const line = { ...fields, ...(method === 'tools/call' ? { tool: name } : { method }), ...rest }
    // That a client goes away is no fault of a server.
    if (/cancelled/.test(rest.failure ?? '')) log.info(line, 'proxied call cancelled')
    else if (rest.failure) log.warn(line, 'proxied call failed')
    else if (method === 'tools/call') log.info(line, 'proxied call')
    else log.debug(line, 'proxied call')
  }
}
