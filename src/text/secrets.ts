import { timingSafeEqual } from 'node:crypto'

/** Whether two secrets are equal, compared in constant time. */
export function isSameSecret(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Words that mark a name as that of a secret. */
const ALWAYS = 'secret|passw|credential|signature'
/** `auth` and `authorization`, not `author` or `authority`. */
const AUTH = 'auth(?!or(?!i[sz]))'

const HEADER = new RegExp(`cookie$|authorization$|(?:^|[_-])auth$|key|token|${ALWAYS}`, 'i')
/** Headers with a `key` that opens nothing. */
const OPEN_HEADER = /(?:idempotency|cache|sort|partition|routing|surrogate|public)[-_]?key$/i
const PARAMETER = new RegExp(
  `(?:^|api[_-]?|access[_-]?|app[_-]?|subscription[_-]?)key$|token$|pwd|${ALWAYS}|(?:^|[_-])(?:auth|sig|session)(?:$|[_-])`,
  'i',
)
const NAME = new RegExp(
  `key|token|pwd|(?:^|[_-])pw(?:$|[_-])|${AUTH}|cookie|session|bearer|private|${ALWAYS}`,
  'i',
)
const CERTAIN = new RegExp(
  `authorization|api[-_]?key|token|pwd|bearer|private|session|(?:^|[-_])sid$|${ALWAYS}`,
  'i',
)

/** Regular expression source for the end of a secret's key in a file. */
export const SECRET_KEY_END = '(?:key|token|secret|passw(?:or)?d|pwd|authorization|credential|bearer)s?'

/** Maximum number and length of cached names, as callers may choose them. */
const MOST_NAMES = 1_000

/** Caches the verdict for repeated names. */
function remembered(judge: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const verdict = judge(name)
    if (known.size < MOST_NAMES && name.length <= 100) known.set(name, verdict)
    return verdict
  }
}

/** Whether the value of a header with this name is, by its name, a secret. */
export const isSecretHeader = remembered((name) => HEADER.test(name) && !OPEN_HEADER.test(name))
/** The same of a query parameter. */
export const isSecretParameter = remembered((name) => PARAMETER.test(name))
/** The same of an environment variable or a key of `config`. */
export const isSecretName = (name: string) => NAME.test(name)
/** Whether nothing but a secret has such a name; a `session`, `cookie` or `key` may be a plain word. */
export const isCertainSecret = (name: string) => CERTAIN.test(name)
