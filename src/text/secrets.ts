/** Words that name a secret wherever they stand in a name. */
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

/** The source of a regular expression: how the key of a secret ends that somebody wrote into a file. */
export const SECRET_KEY_END = '(?:key|token|secret|passw(?:or)?d|pwd|authorization|credential|bearer)s?'

/** Names whose verdict is kept, and their characters, at the most: callers may choose them. */
const MOST_NAMES = 1_000
const LONGEST_NAME = 100

/** A verdict on names that is looked up, not made, for those that come again and again. */
function remembered(judge: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const verdict = judge(name)
    if (known.size < MOST_NAMES && name.length <= LONGEST_NAME) known.set(name, verdict)
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
