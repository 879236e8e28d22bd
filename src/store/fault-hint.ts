import { StoreError } from './store-error.ts'

/** Hints by the error code or text of the system, server or driver. */
const HINTS: readonly [RegExp, string][] = [
  [/ECONNREFUSED/, 'Start the server, or correct host and port: nothing listens there'],
  [/ENOTFOUND|EAI_AGAIN/, 'Check the spelling of the host, and the DNS and VPN of this machine'],
  [/database .{0,200}does not exist|Unknown database/i, 'Create the database, or correct its name'],
  [
    /\b(?:role|password|Access denied|authentication|WRONGPASS|NOAUTH|NOPERM|pg_hba)\b/i,
    'Check user, password and what the user may do',
  ],
  [
    /time-?out|timed out|ETIMEDOUT|in time/i,
    'Check host and port, firewalls on the way, and what listens there',
  ],
  [/certificate|SSL|TLS/i, 'Check whether the server speaks TLS, and that its certificate is trusted here'],
]

/**
 * What to do about a database server or broker that cannot be used. Undefined: the error is another one, or says nothing
 * that is known.
 */
export function faultHint(error: Error): string | undefined {
  const isOfServer =
    error instanceof StoreError
      ? error.kind === 'unreachable' || error.kind === 'refused'
      : error.name === 'BrokerError'
  if (!isOfServer) return undefined
  const { message, code = '' } = firstCause(error) as NodeJS.ErrnoException
  return HINTS.find(([said]) => said.test(code) || said.test(message))?.[1]
}

/** The first cause has the original text of the system, server or driver. */
function firstCause(error: Error): Error {
  return error.cause instanceof Error ? firstCause(error.cause) : error
}
