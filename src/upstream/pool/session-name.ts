import type { StatelessCall } from '../backend/stateless.ts'

/**
 * The header by which a client of 2026-07-28, whose requests stand alone, names its session of a server that has
 * sessions.
 */
export const SESSION_NAME = 'plantgw-session'
/** Characters of a name that need nobody to escape them, in a log or in a file. */
const NAME = /^[\w.~-]{1,128}$/
/** Characters of a name that nobody can guess, where nothing else keeps others out: 128 bits in Base64. */
const UNGUESSABLE = 22

/** What is wrong with the name of a session, as a sentence; undefined when it is right, or there is none. */
export function faultOfName({
  headers,
  caller,
}: Pick<StatelessCall, 'headers' | 'caller'>): string | undefined {
  const name = headers[SESSION_NAME]
  if (name === undefined) return undefined
  if (!NAME.test(name))
    return 'the Plantgw-Session header must have 1 to 128 characters: letters, digits, and any of - . _ ~'
  if (caller === undefined && name.length < UNGUESSABLE)
    return `the Plantgw-Session header must have at least ${UNGUESSABLE} characters, which nobody can guess, as the caller is not known`
  return undefined
}
