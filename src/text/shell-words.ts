/** White space, a comment of no use here, and quoted or plain pieces of words, as POSIX shells read them, with `$'…'`. */
const PIECE =
  /(\s+)|\$'((?:[^'\\]|\\[\s\S])*)'|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|((?:[^\s'"\\$]|\$(?!'))+)/gy
/** Shell syntax outside of quotes: pipes, redirections, lists, substitutions and patterns. */
const SHELL_ONLY = /[|&;<>()`]|\$[({]/

/**
 * The words of a command line, split as a POSIX shell splits them; variables stay as they are.
 * @returns undefined for an unclosed quote, or syntax that only a shell can evaluate
 */
export function shellWords(line: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let end = 0
  for (const match of line.matchAll(PIECE)) {
    const [whole, blank, ansi, single, double, escaped, plain] = match
    end = match.index + whole.length
    if (blank !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      if (plain !== undefined && SHELL_ONLY.test(plain)) return undefined
      // A line break behind a backslash joins two lines.
      const own =
        escaped === '\n'
          ? ''
          : (escaped ??
            (ansi === undefined ? single : ansiText(ansi)) ??
            plain ??
            double?.replace(/\\([\\"$`])|\\\n/g, '$1'))
      if (escaped !== '\n' || word !== undefined) word = (word ?? '') + own
    }
  }
  if (end < line.length) return undefined
  if (word !== undefined) words.push(word)
  return words
}

const ANSI: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}
/** Octal, hexadecimal and Unicode digits, a control character, or one character. */
const ANSI_ESCAPE =
  /(?:\\(?:[0-7]{1,3}|x[0-9A-Fa-f]{1,2}))+|\\(?:u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c([\s\S])|([\s\S]))/g

/** The text of `$'…'`, as bash, zsh and POSIX.1-2024 read it; numeric escapes are bytes of UTF-8. */
function ansiText(text: string): string {
  return text.replace(ANSI_ESCAPE, (whole, short?: string, long?: string, control?: string, one?: string) => {
    if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 31)
    if (one !== undefined) return ANSI[one] ?? (/['"?\\]/.test(one) ? one : whole)
    const code = short ?? long
    if (code === undefined) return bytesText(whole)
    const point = Number.parseInt(code, 16)
    return point > 0x10ffff ? '\ufffd' : String.fromCodePoint(point)
  })
}

function bytesText(escapes: string): string {
  const bytes = escapes
    .split('\\')
    .slice(1)
    .map((one) => Number.parseInt(one.replace('x', ''), one.startsWith('x') ? 16 : 8) & 255)
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

/** Quotes a text as one word for a POSIX shell; the text may be untrusted. */
export function shellWord(text: string): string {
  return /^[\w./:~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
