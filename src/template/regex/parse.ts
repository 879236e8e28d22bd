/** Whether a set contains a code point. */
export type CharTest = (code: number) => boolean

/** The syntax tree of a regular expression. */
export type RegexNode =
  | { type: 'set'; test: CharTest }
  | { type: 'assert'; kind: Assertion }
  | { type: 'group'; node: RegexNode; index: number }
  | { type: 'list'; nodes: RegexNode[] }
  | { type: 'choice'; nodes: RegexNode[] }
  | { type: 'repeat'; node: RegexNode; min: number; max: number; greedy: boolean }
  /** `(?=…)` and the like, for which there is no instruction. */
  | { type: 'look'; ahead: boolean; negative: boolean; node: RegexNode }

export type Assertion = 'start' | 'end' | 'lineStart' | 'lineEnd' | 'word' | 'notWord'

/** Why an expression is refused: its syntax, a construct that a linear engine cannot run, or its size. */
export type RegexFault = 'syntax' | 'look-around' | 'back-reference' | 'size'

export class RegexError extends Error {
  constructor(
    readonly kind: RegexFault,
    message: string,
  ) {
    super(message)
  }
}

/** Maximum characters of an expression, and maximum instructions, as nested repetitions multiply. */
export const MAX_PROGRAM = 10_000

/** The common part of the parsers of both dialects. */
export abstract class RegexReader {
  protected at = 0
  private depth = 0
  private readonly tests = new Map<string, CharTest>()
  /** Number of sets with properties, such as `\p{L}`. */
  private properties = 0

  /** @throws RegexError */
  constructor(protected readonly source: string) {
    if (source.length > MAX_PROGRAM)
      throw new RegexError('size', `it is longer than ${MAX_PROGRAM} characters`)
  }

  /** One node with its repetitions; undefined for a group that only sets flags. */
  protected abstract term(): RegexNode | undefined

  protected choice(): RegexNode {
    if (++this.depth > 200) throw new RegexError('size', `its groups are nested deeper than 200`)
    const nodes = [this.sequence()]
    while (this.eat('|')) nodes.push(this.sequence())
    this.depth--
    return nodes.length === 1 ? nodes[0]! : { type: 'choice', nodes }
  }

  private sequence(): RegexNode {
    const nodes: RegexNode[] = []
    while (this.at < this.source.length && !'|)'.includes(this.source[this.at]!)) {
      const node = this.term()
      if (node) nodes.push(node)
    }
    return { type: 'list', nodes }
  }

  /** The test of a set in the syntax of V8, such as `[a-z]`, or of one character. The same text gives the same test. */
  protected testOf(source: string, flags: string): CharTest {
    const key = `${flags} ${source}`
    let test = this.tests.get(key)
    if (!test) {
      // V8 takes up to half a millisecond for each.
      if (/\\p/i.test(source) && ++this.properties > 100)
        throw new RegexError('size', `it holds more than 100 different sets with properties`)
      test = charTest(source, flags)
      this.tests.set(key, test)
    }
    return test
  }

  /** Reads `*`, `+`, `?` or `{…}`. */
  protected quantifier(most: number): { text: string; min: number; max: number } | undefined {
    const match = this.match(/[*+?]|\{(\d+)(?:(,)(\d*))?\}/y)
    if (!match) return undefined
    const [text, least, comma, high] = match
    if (least === undefined)
      return { text, min: text === '+' ? 1 : 0, max: text === '?' ? 1 : Number.POSITIVE_INFINITY }
    const min = Number(least)
    const max = high === '' ? Number.POSITIVE_INFINITY : Number(comma ? high : least)
    if (min > most || (Number.isFinite(max) && max > most))
      throw new RegexError('size', `it repeats something more than ${most} times`)
    return { text, min, max }
  }

  /** Consumes a match of a sticky expression at this position. */
  protected match(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.at
    const found = form.exec(this.source)
    if (found) this.at += found[0].length
    return found
  }

  /** Reads this character if it comes next. */
  protected eat(char: string): boolean {
    if (this.source[this.at] !== char) return false
    this.at++
    return true
  }

  /** Reads one character. */
  protected next(): string {
    const char = String.fromCodePoint(this.source.codePointAt(this.at)!)
    this.at += char.length
    return char
  }
}

/** The test of a set in the syntax of V8, or of a single character. */
export function charTest(source: string, flags: string): CharTest {
  const only = source.codePointAt(0)
  if (source !== '.' && source.length === (only! > 0xffff ? 2 : 1)) return (code) => code === only
  const form = new RegExp(`^${source}$`, flags)
  const ascii: (boolean | undefined)[] = []
  return (code) => {
    if (code > 0x7f) return form.test(String.fromCodePoint(code))
    ascii[code] ??= form.test(String.fromCharCode(code))
    return ascii[code]
  }
}
