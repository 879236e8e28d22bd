/** Quoting as Go's strconv does. */

const ESCAPES: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}
/** Go's IsPrint: letters, marks, numbers, punctuation, symbols and the ASCII space. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** What may have to be escaped. */
const ODD = /[^ !#-[\]-~]/gu

export function isPrintable(char: string): boolean {
  return PRINTABLE.test(char)
}

/** A double-quoted Go string; a lone surrogate stands for the byte it holds (see bytes.ts). */
export function quote(text: string, ascii: boolean): string {
  return `"${text.replace(ODD, (char) => (char === '"' ? '\\"' : escaped(char, ascii)))}"`
}

/** A single-quoted Go rune. */
export function quoteChar(char: string, ascii: boolean): string {
  return `'${char === "'" ? "\\'" : escaped(char, ascii)}'`
}

function escaped(char: string, ascii: boolean): string {
  const known = ESCAPES[char]
  if (known !== undefined) return known
  const code = char.codePointAt(0)!
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(code - 0xdc00, 2)}`
  if (code >= 0xd800 && code <= 0xdfff) return ascii ? '\\ufffd' : '\ufffd'
  if (code < 0x80 || !ascii) {
    if (isPrintable(char)) return char
  }
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, '0')
}

/** One line without control characters other than tab and without a backquote. */
export function canBackquote(text: string): boolean {
  return !/[\x00-\x08\x0a-\x1f`\x7f\ufeff]|\p{Surrogate}/u.test(text)
}
