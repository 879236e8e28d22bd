/** The text, or its beginning and `…`, in at most `longest` characters. */
export function shorten(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}

/** The text, or its first `length` characters and how many there are in all. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  return `${wellFormed(text.slice(0, length))}… (${text.length} characters in all)`
}

/** The first of many parts, and `and 3 more` for the others. @param most default 12 */
export function firstOf(parts: readonly string[], most = 12): string[] {
  const rest = parts.length - most
  return rest > 0 ? [...parts.slice(0, most), `and ${rest} more`] : [...parts]
}

/** A value inside a sentence: in backticks, on one line, at most 60 characters of it. */
export function quote(text: string): string {
  return `\`${shorten(text.replace(/\s+/g, ' '), 60)}\``
}

/** Names inside a sentence, each in backticks: `` `a`, `b` ``. */
export function quoteAll(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}

/** The same of the first 12 of them, and how many more there are. */
export function quoteSome(words: readonly string[]): string {
  return firstOf(words.map((word) => `\`${word}\``)).join(', ')
}

/** The text with U+FFFD for every lone surrogate. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** `1,234`. */
export function numberText(number: number): string {
  return number.toLocaleString('en-US')
}

/** The noun or verb for this number of things. */
export function plural(number: number, one: string, several = `${one}s`): string {
  return number === 1 ? one : several
}

/** `1 tool`, `2 tools`. */
export function counted(number: number, one: string, several?: string): string {
  return `${number} ${plural(number, one, several)}`
}

/** `30 s`, `250 ms`. */
export function timeText(milliseconds: number): string {
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000} s` : `${milliseconds} ms`
}

/** Characters of a token of English text and JSON, by rule of thumb. */
const TOKEN = 4

/** Estimated tokens of a text with this number of characters. */
export function tokensIn(characters: number): number {
  return Math.ceil(characters / TOKEN)
}

/** `10 MiB`, `512 KiB`, `100 bytes`. */
export function sizeText(bytes: number): string {
  if (bytes >= 2 ** 20 && bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20} MiB`
  if (bytes >= 2 ** 10 && bytes % 2 ** 10 === 0) return `${bytes / 2 ** 10} KiB`
  return `${bytes} bytes`
}

const PLAIN = /^[\x21-\x7e]*$/
const INVISIBLE = /[\p{C}\p{Z}\p{M}]/gu

/** Folds a name as the most lenient reader does: without case, width, marks and invisible characters. */
export function fold(key: string): string {
  if (PLAIN.test(key)) return key.toLowerCase()
  // Both ways, as some letters are equal in one case only (Unicode, CaseFolding: U+0131, U+017F, U+212A).
  return key.normalize('NFKD').replace(INVISIBLE, '').toUpperCase().toLowerCase().replace(INVISIBLE, '')
}

/** `x-trace-id` → `X-Trace-Id`, as Go's net/textproto writes header names. */
export function canonicalHeader(name: string): string {
  return name.replace(/[^-]+/g, (word) => word[0]!.toUpperCase() + word.slice(1).toLowerCase())
}

/** Letters, digits and `_`, no digit first: an environment variable in any shell, a field in a template. */
export function isIdentifier(text: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text)
}
