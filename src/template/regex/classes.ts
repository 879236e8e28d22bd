/** Takes a code point. */
export type CharTest = (code: number) => boolean

export interface Flags {
  insensitive: boolean
  multiline: boolean
  dotAll: boolean
  ungreedy: boolean
}

export const CLASSES: Record<string, string> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7f',
  blank: '\\t ',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-/:-@[-`{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
}
export const PERL: Record<string, RegExp> = { d: /^[0-9]$/, s: /^[\t\n\f\r ]$/, w: /^[0-9A-Za-z_]$/ }

export function literal(code: number, flags: Flags): CharTest {
  return range(code, code, flags)
}

export function range(low: number, high: number, flags: Flags): CharTest {
  if (!flags.insensitive) return (code) => code >= low && code <= high
  const within = (code: number) => code >= low && code <= high
  return (code) => {
    if (within(code)) return true
    const char = String.fromCodePoint(code)
    return [char.toLowerCase(), char.toUpperCase()].some((other) => {
      const folded = other.codePointAt(0)!
      return other.length === (folded > 0xffff ? 2 : 1) && within(folded)
    })
  }
}

/** A Unicode category or script. */
export function property(name: string): RegExp | undefined {
  if (name === 'Any') return /^[\s\S]$/u
  for (const text of [name, `Script=${name}`]) {
    try {
      return new RegExp(`^\\p{${text}}$`, 'u')
    } catch {
      // Not a category: a script, or nothing.
    }
  }
  return undefined
}
