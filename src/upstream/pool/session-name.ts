import type { UpstreamCall } from '../backend/stateless.ts'

/** The header by which a 2026-07-28 client names its session of a session-based server. */
export const SESSION_NAME = 'plantgw-session'
/** Names are safe to use unescaped in logs and file names. */
const NAME = /^[\w.~-]{1,128}$/
/** Minimum characters of a name that only its secrecy protects: 128 bits in Base64. */
const UNGUESSABLE = 22

/** The fault in a session name, as a sentence; undefined if it is valid or absent. */
export function faultOfName({
  headers,
  caller,
}: Pick<UpstreamCall, 'headers' | 'caller'>): string | undefined {
  const name = headers[SESSION_NAME]
  if (name === undefined) return undefined
  if (!NAME.test(name))
    return 'the Plantgw-Session header must have 1 to 128 characters: letters, digits, and any of - . _ ~'
  if (caller === undefined && name.length < UNGUESSABLE)
    return `the Plantgw-Session header must be unguessable, with at least ${UNGUESSABLE} characters, because the caller is not authenticated`
  return undefined
}
