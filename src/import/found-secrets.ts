import { issuedSecrets } from '../checks/practice/leaked-secrets.ts'
import { isSecretHeader, isSecretName, isSecretParameter } from '../text/index.ts'

/** A secret in a text, by UTF-16 offsets. */
interface FoundSecret {
  start: number
  end: number
  /** Its name in the text; undefined: none. */
  name: string | undefined
}

const SCHEME = /^(?:Bearer|Basic|Token|ApiKey)\s+/i

/**
 * Syntaxes of a secret with its name. Groups: the name, and the secret at the end of the match, possibly with quotes or
 * the scheme of an `Authorization` header.
 */
const NAMED: readonly [form: RegExp, isSecret: (name: string) => boolean][] = [
  // A header: `Authorization: Bearer x`, also as an option's value.
  [/^(?:--?[\w-]+=)?["']?([\w-]{1,80}):[ \t]*([^\r\n]+)$/g, isSecretHeader],
  // The whole text: `API_KEY=x`, `--env=API_KEY=x`.
  [/^(?:--?[\w-]+=)?([A-Za-z][\w.-]{0,80})=([^&;#?\s]+)$/g, isSecretOption],
  // In a query, connection string or shell command: `?token=x`, `;Password=x`, ` API_KEY=x`.
  [/(?<=^|[?&;,\s])(?:--?)?([A-Za-z][\w.-]{0,80})=("[^"]*"|'[^']*'|[^&;#\s"']+)/g, isSecretOption],
  // In a shell command: `node x --token y`.
  [/(?<=^|\s)--?([A-Za-z][\w-]{0,80})\s+("[^"]*"|'[^']*'|[^\s"'-][^\s"']*)/g, isSecretOption],
  // A member of JSON.
  [
    /\\?["']([\w-]{1,80})\\?["']\s*:\s*\\?["']([^"'\\]+)/g,
    (name) => isSecretHeader(name) || isSecretName(name),
  ],
]
/** A URL's password; or a user name as long as a token. */
const IN_URL =
  /\b[a-z][a-z\d+.-]{1,20}:\/\/(?:[^\s:@/?#"'`]{0,128}:([^\s@/?#"'`]{1,512})|([^\s:@/?#"'`]{16,512}))@/gi
/** A URL path segment that looks like a random token of digits and letters. */
const IN_PATH =
  /(?<=\bhttps?:\/\/[^\s?#]{1,400}\/)(?:(?=[^\s/?#]{0,200}\d)(?=[^\s/?#]{0,200}[A-Z])(?=[^\s/?#]{0,200}[a-z])[\w:-]{24,512}|[\da-f]{32,128})(?=[/?#]|$)/g

/** All secrets in a text for programs, by format or name. */
export function foundSecrets(whole: string): FoundSecret[] {
  const text = whole.slice(0, 256 * 1024)
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

/** A text to be shown, with secrets masked. */
export function withoutSecrets(text: string): string {
  let made = ''
  let end = 0
  for (const one of foundSecrets(text)) {
    made += `${text.slice(end, one.start)}…`
    end = one.end
  }
  return made + text.slice(end)
}

/** The first of overlapping matches; of those with the same start, the longest. */
function apart(found: readonly FoundSecret[]): FoundSecret[] {
  const made: FoundSecret[] = []
  for (const one of [...found].sort((a, b) => a.start - b.start || b.end - a.end))
    if (one.start >= (made.at(-1)?.end ?? 0)) made.push(one)
  return made
}

/** Whether it is only a client variable, so that there is nothing to hide. */
export function isVariable(value: string): boolean {
  return /^\$\{[^{}]+\}$|^\$[A-Za-z_]\w*$/.test(value)
}

/** Whether it is a flag, number, address or path, which are not secret. */
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
