import { issuedSecrets } from '../checks/practice/secret-forms.ts'
import { isSecretHeader, isSecretName, isSecretParameter } from '../text/index.ts'

/** A secret in a text, by offsets of UTF-16. */
export interface FoundSecret {
  start: number
  end: number
  /** What it is called beside it; undefined: nothing says that. */
  name: string | undefined
}

/** Characters of a text in which secrets are looked for. */
const MAX_TEXT = 256 * 1024
const SCHEME = /^(?:Bearer|Basic|Token|ApiKey)\s+/i

/**
 * Ways to write a secret with its name. Groups: what the secret is called, and the secret at the end of the match, which
 * may have quotes around it or the scheme of an `Authorization` header before it.
 */
const NAMED: readonly [form: RegExp, isSecret: (name: string) => boolean][] = [
  // A header: `Authorization: Bearer x`, also as the value of an option.
  [/^(?:--?[\w-]+=)?["']?([\w-]{1,80}):[ \t]*([^\r\n]+)$/g, isSecretHeader],
  // The whole text: `API_KEY=x`, `--env=API_KEY=x`.
  [/^(?:--?[\w-]+=)?([A-Za-z][\w.-]{0,80})=([^&;#?\s]+)$/g, isSecretOption],
  // Of a query, of a connection or of a command in a shell: `?token=x`, `;Password=x`, ` API_KEY=x`.
  [/(?<=^|[?&;,\s])(?:--?)?([A-Za-z][\w.-]{0,80})=("[^"]*"|'[^']*'|[^&;#\s"']+)/g, isSecretOption],
  // Of a command in a shell: `node x --token y`.
  [/(?<=^|\s)--?([A-Za-z][\w-]{0,80})\s+("[^"]*"|'[^']*'|[^\s"'-][^\s"']*)/g, isSecretOption],
  // A member of JSON.
  [
    /\\?["']([\w-]{1,80})\\?["']\s*:\s*\\?["']([^"'\\]+)/g,
    (name) => isSecretHeader(name) || isSecretName(name),
  ],
]
/** The password of a URL; where there is none, a name that is as long as a token. */
const IN_URL =
  /\b[a-z][a-z\d+.-]{1,20}:\/\/(?:[^\s:@/?#"'`]{0,128}:([^\s@/?#"'`]{1,512})|([^\s:@/?#"'`]{16,512}))@/gi
/** A segment of the path of a URL that nobody made up: a token of digits and letters. */
const IN_PATH =
  /(?<=\bhttps?:\/\/[^\s?#]{1,400}\/)(?:(?=[^\s/?#]{0,200}\d)(?=[^\s/?#]{0,200}[A-Z])(?=[^\s/?#]{0,200}[a-z])[\w:-]{24,512}|[\da-f]{32,128})(?=[/?#]|$)/g

/** All secrets of a text that somebody wrote for a program: what has the form of one, or a name that says so. */
export function foundSecrets(whole: string): FoundSecret[] {
  const text = whole.slice(0, MAX_TEXT)
  const found: FoundSecret[] = []
  const add = (start: number, secret: string, name?: string) => {
    if (secret !== '' && !isVariable(secret)) found.push({ start, end: start + secret.length, name })
  }
  for (const { index, 0: match, 1: password, 2: user } of text.matchAll(IN_URL)) {
    const secret = password ?? user ?? ''
    add(index + match.length - 1 - secret.length, secret, password === undefined ? undefined : 'password')
  }
  for (const { index, 0: secret } of text.matchAll(IN_PATH)) add(index, secret)
  for (const [form, isSecret] of NAMED)
    for (const { index, 0: match, 1: name = '', 2: written = '' } of text.matchAll(form)) {
      if (!isSecret(name)) continue
      const quote = /^["']/.test(written) ? 1 : 0
      const inner = written.slice(quote, written.length - quote)
      const secret = inner.replace(SCHEME, '')
      if (isValue(secret)) add(index + match.length - quote - secret.length, secret, name)
    }
  for (const { start, secret } of issuedSecrets(text)) add(start, secret)
  return apart(found)
}

/** A text that is shown to somebody. */
export function withoutSecrets(text: string): string {
  let made = ''
  let end = 0
  for (const one of foundSecrets(text)) {
    made += `${text.slice(end, one.start)}…`
    end = one.end
  }
  return made + text.slice(end)
}

/** The first of those that overlap, and of those that begin together the longest. */
function apart(found: readonly FoundSecret[]): FoundSecret[] {
  const made: FoundSecret[] = []
  for (const one of [...found].sort((a, b) => a.start - b.start || b.end - a.end))
    if (one.start >= (made.at(-1)?.end ?? 0)) made.push(one)
  return made
}

/** Nothing but a variable of the client: there is no value to hide. */
export function isVariable(value: string): boolean {
  return /^\$\{[^{}]+\}$|^\$[A-Za-z_]\w*$/.test(value)
}

/** A flag, a number, an address or the path of a file says nothing of who may use it. */
export function isValue(value: string): boolean {
  return (
    value !== '' &&
    !/^(?:true|false|yes|no|on|off|\d{1,6})$/i.test(value) &&
    !/^https?:\/\/[^@?]*$/i.test(value) &&
    !/^(?:~|\.{1,2}|\$\{?\w+\}?)?\/[^\s:]*\.\w+$|^[A-Za-z]:[\\/]/.test(value)
  )
}

export function isSecretOption(name: string): boolean {
  return isSecretParameter(name) || /^(?:bearer|auth)$|[-_]key$/i.test(name)
}
