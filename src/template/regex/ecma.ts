import { RegexError, type RegexNode, RegexReader } from './parse.ts'
import { inverted, LAST, normalized, propertyRanges, type Ranges, WORD } from './ranges.ts'

type Node = RegexNode<Ranges>

/** What a text must match, and at which of the others it must or must not match. */
export interface EcmaPattern {
  node: Node
  also: { node: Node; negative: boolean }[]
}

const MOST_REPEATED = 10_000
const DIGIT: Ranges = [48, 57]
/** WhiteSpace and LineTerminator of ECMA-262, 12.2 and 12.3. */
const SPACE: Ranges = normalized([
  ...[9, 13, 32, 32, 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a],
  ...[0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff],
])
const LINE_END: Ranges = [10, 10, 13, 13, 0x2028, 0x2029]
const CLASSES: Partial<Record<string, Ranges>> = {
  d: DIGIT,
  D: inverted(DIGIT),
  w: WORD,
  W: inverted(WORD),
  s: SPACE,
  S: inverted(SPACE),
}
const CONTROLS: Partial<Record<string, number>> = { f: 12, n: 10, r: 13, t: 9, v: 11, 0: 0 }

/**
 * Reads a regular expression of ECMA-262 with the flag `u`, the dialect of JSON Schema.
 * Look-ahead right behind a leading `^` and look-behind right before a final `$` become expressions of their own.
 * @throws RegexError for what is not of the dialect, and for what no linear engine can run
 */
export function parseEcma(source: string): EcmaPattern {
  return new EcmaReader(source).pattern()
}

/** The syntax is checked by V8 before, so that this need not. */
class EcmaReader extends RegexReader<Ranges> {
  pattern(): EcmaPattern {
    checkSyntax(this.source)
    const node = this.choice()
    return { node, also: node.type === 'list' ? hoisted(node.nodes) : [] }
  }

  protected override term(): Node {
    const node = this.atom()
    const bounds = this.quantifier(MOST_REPEATED)
    if (!bounds) return node
    // Which of the ways is tried first does not matter: none is kept.
    this.eat('?')
    return { type: 'repeat', node, min: bounds.min, max: bounds.max, greedy: true }
  }

  private atom(): Node {
    const char = this.next()
    switch (char) {
      case '^':
        return { type: 'assert', kind: 'start' }
      case '$':
        return { type: 'assert', kind: 'end' }
      case '(':
        return this.group()
      case '[':
        return { type: 'set', test: this.bracket() }
      case '.':
        return { type: 'set', test: inverted(LINE_END) }
      case '\\':
        return this.escaped()
      default:
        return { type: 'set', test: one(char.codePointAt(0)!) }
    }
  }

  private group(): Node {
    const [, behind, sign] = this.match(/(?:\?(?:(<?)([=!])|:|<[^>]*>))?/y)!
    // Later versions of the runtime know groups with flags.
    if (this.source[this.at] === '?') throw new RegexError('syntax', 'invalid group')
    const node = this.choice()
    this.eat(')')
    return sign === undefined ? node : { type: 'look', ahead: behind === '', negative: sign === '!', node }
  }

  private escaped(): Node {
    const [edge] = this.match(/[bB]/y) ?? []
    if (edge) return { type: 'assert', kind: edge === 'b' ? 'word' : 'notWord' }
    if (/[1-9k]/.test(this.source[this.at]!))
      throw new RegexError('back-reference', 'it refers back to a group')
    return { type: 'set', test: this.classEscape() ?? one(this.charEscape()) }
  }

  /** `\d`, `\p{…}` and their like; undefined for a single character. */
  private classEscape(): Ranges | undefined {
    const [, sign, name] = this.match(/([pP])\{([^}]*)\}/y) ?? []
    if (name !== undefined) return sign === 'p' ? propertyRanges(name) : inverted(propertyRanges(name))
    const known = CLASSES[this.source[this.at]!]
    if (known) this.at++
    return known
  }

  private charEscape(): number {
    const hex = this.match(/x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}/y)
    if (hex) {
      const code = Number.parseInt((hex[1] ?? hex[2] ?? hex[3])!, 16)
      return hex[2] === undefined ? code : this.paired(code)
    }
    const char = this.next()
    if (char === 'c') return this.next().charCodeAt(0) % 32
    return CONTROLS[char] ?? char.codePointAt(0)!
  }

  /** Two escapes of the halves of a pair are one character. */
  private paired(code: number): number {
    const low = code >= 0xd800 && code <= 0xdbff ? this.match(/\\u(d[c-f][\da-f]{2})/iy) : null
    return low ? 0x10000 + (code - 0xd800) * 0x400 + Number.parseInt(low[1]!, 16) - 0xdc00 : code
  }

  private bracket(): Ranges {
    const negative = this.eat('^')
    const pairs: number[] = []
    while (!this.eat(']')) {
      const low = this.classAtom()
      if (typeof low !== 'number') pairs.push(...low)
      else if (this.match(/-(?!\])/y)) pairs.push(low, this.classAtom() as number)
      else pairs.push(low, low)
    }
    const ranges = normalized(pairs)
    return negative ? inverted(ranges) : ranges
  }

  private classAtom(): number | Ranges {
    if (!this.eat('\\')) return this.next().codePointAt(0)!
    if (this.eat('b')) return 8
    return this.classEscape() ?? this.charEscape()
  }
}

/** Takes out the look-ahead behind `^` and the look-behind before `$`, which the whole text can be asked for alone. */
function hoisted(nodes: Node[]): EcmaPattern['also'] {
  const also: EcmaPattern['also'] = []
  const take = (index: number, ahead: boolean) => {
    const look = nodes[index]
    if (look?.type !== 'look' || look.ahead !== ahead) return false
    nodes.splice(index, 1)
    const place: Node = { type: 'assert', kind: ahead ? 'start' : 'end' }
    also.push({
      node: { type: 'list', nodes: ahead ? [place, look.node] : [look.node, place] },
      negative: look.negative,
    })
    return true
  }
  if (isAssertion(nodes[0], 'start')) while (take(1, true));
  if (isAssertion(nodes.at(-1), 'end')) while (take(nodes.length - 2, false));
  return also
}

function isAssertion(node: Node | undefined, kind: 'start' | 'end'): boolean {
  return node?.type === 'assert' && node.kind === kind
}

function one(code: number): Ranges {
  return [code, Math.min(code, LAST)]
}

/** @throws RegexError with what the runtime says against the expression, such as `invalid escape` */
function checkSyntax(source: string): void {
  try {
    new RegExp(source, 'u')
  } catch (error) {
    const text = (error as Error).message
    // `Invalid regular expression: /…/u: Invalid escape`
    const reason = text.slice(text.lastIndexOf(': ') + 2)
    throw new RegexError('syntax', reason.charAt(0).toLowerCase() + reason.slice(1))
  }
}
