/**
 * How a call ended, for tools and proxied servers alike; the label `outcome` of metrics and logs.
 *
 * - `ok`: the call has a result.
 * - `tool_error`: the call has a result that says that the tool failed (`isError`), or the upstream answered with an error.
 * - `timeout`: no answer came in time.
 * - `cancelled`: the client cancelled the call or went away.
 * - `refused`: the call was not sent: invalid arguments, an unknown or hidden tool, a limit.
 * - `failed`: the upstream could not be reached, broke off, or sent what cannot be read; or the gateway failed.
 */
export type Outcome = 'ok' | 'tool_error' | 'timeout' | 'cancelled' | 'refused' | 'failed'
