import { isUtf8 } from 'node:buffer'

/**
 * Characters that people do not see and models read: controls other than tab and line ends, directions of text
 * (bidi), zero-width characters, variation selectors of the supplement, and tags (U+E0000 to U+E007F).
 */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu

/** None of these: to look for each hidden one would take ten times as long. */
const PLAIN = /^[\t\n\r -~]*$/

/** Characters after which a zero-width joiner or non-joiner is legitimate: emoji, and scripts with joining letters. */
const JOINS =
  /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{M}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Mongolian}|\p{Script=Nko})$/u

/** The text without hidden characters; the same text when it has none. */
export function withoutHidden(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(HIDDEN, (found, at: number) => (belongs(text, found, at) ? found : ''))
}

/** The first hidden character, as `U+202E`; undefined when the text has none. */
export function hiddenIn(text: string): string | undefined {
  if (PLAIN.test(text)) return undefined
  for (const { 0: found, index } of text.matchAll(HIDDEN))
    if (!belongs(text, found, index))
      return `U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
  return undefined
}

function belongs(text: string, found: string, at: number): boolean {
  return (found === '\u200d' || found === '\u200c') && JOINS.test(text.slice(Math.max(0, at - 2), at))
}

/** Characters beyond ASCII that control a terminal or the direction of text, or end a line for some readers. */
const STEERING = String.raw`\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff`
const UNESCAPED = new RegExp(`[${STEERING}]`, 'g')
const CONTROL = new RegExp(`[\\0-\\x1f${STEERING}]`, 'g')
/** The only one of them in ASCII. */
const DELETE = '\u007f'

/** The same JSON with escapes for characters that would control a terminal. */
export function printableJson(json: string): string {
  // Nearly every line of a log is ASCII, which its size shows.
  if (Buffer.byteLength(json) === json.length && !json.includes(DELETE)) return json
  return json.replace(UNESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Replaces characters that would move the cursor, colour the terminal or change the direction of the text. */
export function printable(text: string): string {
  return text.replace(CONTROL, '\ufffd')
}

/** As `printable`, but line ends and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(/(?:[^\r\n\t]|\r(?!\n))+/g, printable)
}

/** Why bytes are no text, and what makes text of them. */
interface NotText {
  /** `compressed with gzip`. */
  what: string
  cure: string
}

/** By how the bytes begin, as Latin-1. */
const KINDS: readonly [RegExp, NotText][] = [
  [/^\x1f\x8b/, { what: 'compressed with gzip', cure: 'decompress it with `gunzip`' }],
  [/^BZh\d1AY/, { what: 'compressed with bzip2', cure: 'decompress it with `bunzip2`' }],
  [/^\xfd7zXZ\0/, { what: 'compressed with xz', cure: 'decompress it with `unxz`' }],
  [/^\x28\xb5\x2f\xfd/, { what: 'compressed with Zstandard', cure: 'decompress it with `unzstd`' }],
  [/^PK(?:\x03\x04|\x05\x06)/, { what: 'a ZIP archive', cure: 'extract the file from it' }],
  [/^(?:\xff\xfe|\xfe\xff|[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/, { what: 'UTF-16 text', cure: 'save it as UTF-8' }],
]

/** Undefined: they are UTF-8 text. */
export function notText(bytes: Uint8Array): NotText | undefined {
  const start = Buffer.from(bytes.subarray(0, 8)).toString('latin1')
  const [, known] = KINDS.find(([form]) => form.test(start)) ?? []
  return known ?? (isUtf8(bytes) ? undefined : { what: 'not UTF-8 text', cure: 'save it as UTF-8' })
}
