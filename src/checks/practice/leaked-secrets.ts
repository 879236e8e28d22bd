import type { Source } from '../../config/index.ts'
import { type Finding, finding } from '../../findings/index.ts'
import { ISSUED, positionsOf, SECRET_KEY_END } from '../../text/index.ts'

/** One combined pattern is much faster than many. */
const ANY_ISSUED = new RegExp(String.raw`\b(?:${ISSUED.map(([, form]) => form).join('|')})`, 'g')

const IN_URL = /\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s:@/"'${}]{0,64}:([^\s:@/"'${}]{3,128})(?=@)/gi

/** Other formats, each with a part that every match contains; the secret is the end of the match, or its group. */
const FORMS: readonly [what: string, part: string, form: RegExp][] = [
  ['a private key', 'PRIVATE KEY-----', /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[^-"']{0,8192}/g],
  [
    'a webhook of Slack',
    'hooks.slack.com',
    /\bhooks\.slack\.com\/services\/(\w{6,16}\/\w{6,16}\/\w{16,64})/g,
  ],
  ['a token of Terraform', '.atlasv1.', /\.atlasv1\.([\w-]{60,80})/g],
  ['a JSON Web Token', 'eyJ', /\beyJ[\w-]{10,2048}\.eyJ[\w-]{10,4096}\.[\w-]{10,2048}/g],
  ['a password in a URL', '@', IN_URL],
]

/** Placeholders for issued secrets; words such as `test` may occur in a real one by chance. */
const MASKED = /x{4}|\*{3}|<|\{\{|\$\{|your|example|placeholder|([a-z0-9])\1{7}/i
/** Placeholders for passwords. */
const PLACEHOLDER =
  /example|change[-_ ]?me|replace|your[-_ ]|x{4}|\*{3}|\.{3}|placeholder|dummy|sample|fake|demo|test|todo|<|\{\{|\$\{/i

/** All parts of a text in the format of a secret. */
export function* issuedSecrets(text: string): Generator<{ what: string; start: number; secret: string }> {
  for (const { 0: secret, index: start } of text.matchAll(ANY_ISSUED)) {
    if (MASKED.test(secret)) continue
    const [issuer] = ISSUED.find(([, form]) => new RegExp(`^(?:${form})`).test(secret)) ?? ['an issuer']
    yield { what: `a token of ${issuer}`, start, secret }
  }
  for (const [what, part, form] of FORMS) {
    if (!text.includes(part)) continue
    for (const { 0: match, 1: secret = match, index } of text.matchAll(form))
      if (!(form === IN_URL ? PLACEHOLDER : MASKED).test(secret))
        yield { what, start: index + match.length - secret.length, secret }
  }
}

/** A key and its value on one line. */
const PAIR =
  /(?<=^|[{,\s])["']?([A-Za-z][\w.-]{0,63})["']?[ \t]{0,8}:[ \t]{1,8}(?:"([^"\n]{6,512})"|'([^'\n]{6,512})'|([^\s"'#&*|>{}[\],][^\s#,}\]]{4,511}(?: [^\s#,}\]]{1,511})?))/gm
/** Other forms of a key and its value: `token=x` in a query or command, `"--token", "x"`, and `${TOKEN:x}`. */
const ASSIGNED: readonly [behind: RegExp, form: RegExp][] = [
  [/=/, /(?<=([A-Za-z][\w-]{0,63}))=([^\s"'&,;(){}[\]$<>]{6,512})/g],
  [
    /[,\r\n]/,
    /(?<=[\s"'[])--?([A-Za-z][\w-]{0,63})["']?(?:[ \t]{0,8},|[ \t]{0,8}\r?\n[ \t]{0,64}-)\s{0,8}["']?([^\s"',(){}[\]$<>-][^\s"',(){}[\]$<>]{5,511})/g,
  ],
  [/:/, /\$\{([A-Za-z_]\w{0,63}):([^\s"'{}]{6,512})\}/g],
]
const BEARER = /\bBearer ([\w.~+/-]{12,512}=*)/g
const SECRET_KEY = new RegExp(`${SECRET_KEY_END}$`, 'i')
const BEHIND_KEY = new RegExp(`${SECRET_KEY_END}["']?[ \\t]{0,8}([=:,\\r\\n])`, 'gi')
/** Keys whose values are always secret. */
const CERTAIN_KEY =
  /(?:secret|authorization|bearer|(?:api|access|private|secret)[-_]?key|(?:access|auth|bot|api)[-_]?token)$|^token$/i
const PASSWORD_KEY = /(?:passw(?:or)?d|pwd)$/i

/** Secrets in a file, by format or key; findings never show them. */
export function secretsIn({ file, text }: Source): Finding[] {
  const found: { start: number; end: number; what: string }[] = []
  const add = (start: number, end: number, what: string) => {
    if (!found.some((one) => start < one.end && one.start < end)) found.push({ start, end, what })
  }
  for (const { what, start, secret } of issuedSecrets(text)) add(start, start + secret.trimEnd().length, what)
  // This format is a secret under any key.
  for (const { 0: whole, 1: secret = '', index } of text.matchAll(BEARER)) {
    const end = index + whole.length
    if (!PLACEHOLDER.test(secret) && isSecret('authorization', secret))
      add(end - secret.length, end, 'a bearer token')
  }
  // Examines only lines with such keys, as searching everything is slow.
  const keys = [...text.matchAll(BEHIND_KEY)]
  const behind = [...new Set(keys.map(([, next]) => next))].join('')
  for (const [at, [whole, key = '', ...quoted]] of pairsOf(text, keys)) {
    const value = quoted.find((one) => one !== undefined) ?? ''
    const secret = value.replace(/^(?:Bearer|Basic|Token|ApiKey)\s+/i, '')
    if (!SECRET_KEY.test(key) || PLACEHOLDER.test(value)) continue
    if (!(/^Basic\s/i.test(value) ? isLogin(secret) : isSecret(key, secret))) continue
    const start = at + whole.lastIndexOf(value) + value.length - secret.length
    add(start, start + secret.length, `what \`${key}\` is set to`)
  }
  for (const [next, form] of ASSIGNED)
    for (const { 0: whole, 1: key = '', 2: value = '', index } of next.test(behind)
      ? text.matchAll(form)
      : []) {
      if (!SECRET_KEY.test(key) || PLACEHOLDER.test(value) || !isSecret(key, value)) continue
      const start = index + whole.lastIndexOf(value)
      add(start, start + value.length, `what \`${key}\` is set to`)
    }
  const place = positionsOf(text)
  return found.map(({ start, end, what }) => {
    const hint = 'Replace it at its issuer, then give the new one by `${NAME}`'
    const message = `${what} looks like a secret written into the file`
    return finding('literal-secret', file, message, { range: { start: place(start), end: place(end) }, hint })
  })
}

/** The pairs on lines with such keys, each with its offset; no pair spans lines. */
function* pairsOf(text: string, keys: readonly RegExpExecArray[]): Generator<[number, RegExpExecArray]> {
  let done = -1
  for (const { 1: next, index } of keys) {
    if (next !== ':' || index < done) continue
    const start = text.lastIndexOf('\n', index) + 1
    const end = text.indexOf('\n', index)
    done = end < 0 ? text.length : end
    for (const match of text.slice(start, done).matchAll(PAIR)) yield [start + match.index, match]
  }
}

/** Judges by characters: long and random, or a password with more than letters. */
function isSecret(key: string, value: string): boolean {
  if (/public/i.test(key)) return false
  if (/\s/.test(value) || /^[a-z][a-z\d+.-]*:\/\//i.test(value)) return false
  if (PASSWORD_KEY.test(key) && value.length <= 64)
    return /[\d!#%^&*+=?@]/.test(value) && /[A-Za-z]/.test(value)
  if (!/^[\w+/=.~-]+$/.test(value) || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false
  const bits = entropy(value)
  return CERTAIN_KEY.test(key) ? value.length >= 12 && bits >= 2.5 : value.length >= 20 && bits >= 3.3
}

/** `name:password` of basic authentication. */
function isLogin(value: string): boolean {
  const login = Buffer.from(value, 'base64').toString('latin1')
  return /^[\x20-\x7e]+$/.test(login) && login.slice(1, -1).includes(':') && !PLACEHOLDER.test(login)
}

/** Shannon entropy in bits for each character. */
function entropy(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  return [...counts.values()].reduce((sum, n) => sum - (n / text.length) * Math.log2(n / text.length), 0)
}

/** The text with its secrets as `*`, for code frames. */
export function maskSecrets(text: string, findings: readonly Finding[]): string {
  const secrets = findings.flatMap(({ code, range }) => (code === 'literal-secret' && range ? [range] : []))
  secrets.sort((a, b) => a.start.offset - b.start.offset)
  let masked = ''
  let at = 0
  for (const { start, end } of secrets) {
    masked += text.slice(at, start.offset) + text.slice(start.offset, end.offset).replace(/[^\r\n]/g, '*')
    at = end.offset
  }
  return masked + text.slice(at)
}
