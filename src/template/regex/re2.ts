import { type CharTest, RegexError, type RegexNode, RegexReader } from './parse.ts'

interface Flags {
  insensitive: boolean
  multiline: boolean
  dotAll: boolean
  ungreedy: boolean
}

const FLAG_NAMES: Record<string, keyof Flags> = {
  i: 'insensitive',
  m: 'multiline',
  s: 'dotAll',
  U: 'ungreedy',
}
/** RE2's bound for counted repetitions. */
const MAX_REPEAT = 1000
const CLASSES: Partial<Record<string, string>> = {
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
const PERL: Partial<Record<string, string>> = { d: '0-9', s: '\\t\\n\\f\\r ', w: '\\w' }
const CONTROLS: Partial<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }
const ASSERTIONS = { A: 'start', z: 'end', b: 'word', B: 'notWord' } as const

interface Re2Pattern {
  node: RegexNode
  /** Number of capturing groups. */
  groups: number
  names: Map<string, number>
}

/** Reads a regular expression in RE2's syntax. @throws RegexError */
export function parseRe2(source: string): Re2Pattern {
  return new Re2Reader(source).pattern()
}

function fail(message: string): never {
  throw new RegexError('syntax', message)
}

class Re2Reader extends RegexReader {
  private readonly names = new Map<string, number>()
  private groups = 0
  /** Flags hold until the group around them ends. */
  private flags: Flags = { insensitive: false, multiline: false, dotAll: false, ungreedy: false }

  pattern(): Re2Pattern {
    const node = this.choice()
    if (this.at < this.source.length) fail('unexpected )')
    return { node, groups: this.groups, names: this.names }
  }

  protected override term(): RegexNode | undefined {
    const node = this.atom()
    const bounds = node && this.quantifier(MAX_REPEAT)
    if (!bounds) return node
    const { text, min, max } = bounds
    if (max < min) fail(`invalid repeat count: ${text}`)
    const greedy = this.eat('?') === this.flags.ungreedy
    if (this.quantifier(MAX_REPEAT)) fail('invalid nested repetition operator')
    return { type: 'repeat', node, min, max, greedy }
  }

  private atom(): RegexNode | undefined {
    const { dotAll, multiline } = this.flags
    const char = this.next()
    switch (char) {
      case '(':
        return this.group()
      case '[':
        return { type: 'set', test: this.bracket() }
      case '.':
        return { type: 'set', test: dotAll ? () => true : (code) => code !== 10 }
      case '^':
        return { type: 'assert', kind: multiline ? 'lineStart' : 'start' }
      case '$':
        return { type: 'assert', kind: multiline ? 'lineEnd' : 'end' }
      case '\\':
        return this.escaped()
      case '*':
      case '+':
      case '?':
        return fail(`missing argument to repetition operator: ${char}`)
      default:
        return this.literal(char)
    }
  }

  /** Undefined for flags alone, which hold until the group around them ends. */
  private group(): RegexNode | undefined {
    const outer = this.flags
    if (!this.eat('?')) return this.captured(outer)
    const [, name] = this.match(/P?<([A-Za-z_]\w{0,99})>/y) ?? []
    if (name !== undefined) {
      if (this.names.has(name)) fail(`duplicate capture group name: ${name}`)
      this.names.set(name, this.groups + 1)
      return this.captured(outer)
    }
    const set = this.match(/([imsU]{0,9})(?:-([imsU]{1,9}))?([:)])/y)
    if (!set) return fail('invalid or unsupported Perl syntax: look-around and back-references')
    this.flags = { ...outer }
    for (const letter of set[1]!) this.flags[FLAG_NAMES[letter]!] = true
    for (const letter of set[2] ?? '') this.flags[FLAG_NAMES[letter]!] = false
    return set[3] === ')' ? undefined : this.inside(outer)
  }

  private captured(outer: Flags): RegexNode {
    const index = ++this.groups
    return { type: 'group', node: this.inside(outer), index }
  }

  private inside(outer: Flags): RegexNode {
    const node = this.choice()
    if (!this.eat(')')) fail('missing closing )')
    this.flags = outer
    return node
  }

  private escaped(): RegexNode {
    const [asserted] = this.match(/[AzbB]/y) ?? []
    if (asserted) return { type: 'assert', kind: ASSERTIONS[asserted as keyof typeof ASSERTIONS] }
    if (this.eat('Q')) {
      const close = this.source.indexOf('\\E', this.at)
      const text = this.source.slice(this.at, close < 0 ? undefined : close)
      this.at = close < 0 ? this.source.length : close + 2
      return { type: 'list', nodes: Array.from(text, (char) => this.literal(char)) }
    }
    const test = this.classEscape()
    return test ? { type: 'set', test } : this.literal(String.fromCodePoint(this.charEscape()))
  }

  private literal(char: string): RegexNode {
    const source = this.flags.insensitive || char === '.' ? escaped(char.codePointAt(0)!) : char
    return { type: 'set', test: this.folded(source) }
  }

  private folded(source: string): CharTest {
    return this.testOf(source, this.flags.insensitive ? 'iu' : 'u')
  }

  /** `\d`, `\pL`, …; undefined when it is a single character. */
  private classEscape(): CharTest | undefined {
    const char = this.source[this.at] ?? fail('trailing backslash at end of expression')
    const perl = PERL[char.toLowerCase()]
    if (perl) {
      this.at++
      return this.testOf(char === char.toLowerCase() ? `[${perl}]` : `[^${perl}]`, 'u')
    }
    if (char !== 'p' && char !== 'P') return undefined
    const name = this.match(/[pP](?:\{(\^?)(\w{1,40})\}|([A-Z]))/y)
    if (!name) return fail('invalid character class range')
    const negative = (char === 'P') !== (name[1] === '^')
    return this.testOf(`[${negative ? '^' : ''}${propertyOf(name[2] ?? name[3]!)}]`, 'u')
  }

  private charEscape(): number {
    const hex = this.match(/x\{([\da-fA-F]{1,6})\}|x([\da-fA-F]{2})/y)
    if (hex) {
      const code = Number.parseInt((hex[1] ?? hex[2])!, 16)
      return code > 0x10ffff ? fail('invalid escape sequence') : code
    }
    const [octal] = this.match(/0[0-7]{0,2}|[1-7][0-7]{2}/y) ?? []
    if (octal) return Number.parseInt(octal, 8)
    const char = this.next()
    const control = CONTROLS[char]
    if (control !== undefined) return control
    if (/[0-9A-Za-z]|[^\x00-\x7f]/u.test(char)) fail(`invalid escape sequence: \\${char}`)
    return char.codePointAt(0)!
  }

  private bracket(): CharTest {
    const negative = this.eat('^')
    const tests: CharTest[] = []
    let ranges = ''
    do {
      if (this.at >= this.source.length) fail('missing closing ]')
      const part = this.named() ?? this.member()
      if (typeof part === 'string') ranges += part
      else tests.push(part)
    } while (!this.eat(']'))
    if (ranges !== '') tests.push(this.folded(`[${ranges}]`))
    return (code) => tests.some((test) => test(code)) !== negative
  }

  /** `[:alpha:]`. */
  private named(): CharTest | undefined {
    const [text, not, name] = this.match(/\[:(\^?)(\w{1,20}):\]/y) ?? []
    if (name === undefined) return undefined
    const set = CLASSES[name] ?? fail(`invalid character class range: ${text}`)
    return this.testOf(`[${not}${set}]`, 'u')
  }

  /** A class, or a range in the syntax of V8, inside of brackets. */
  private member(): CharTest | string {
    const low = this.classChar()
    if (typeof low !== 'number') return low
    const high = this.match(/-(?=[^\]])/y) ? this.classChar() : low
    if (typeof high !== 'number' || high < low) return fail('invalid character class range')
    return `${escaped(low)}-${escaped(high)}`
  }

  private classChar(): CharTest | number {
    if (!this.eat('\\')) return this.next().codePointAt(0)!
    return this.classEscape() ?? this.charEscape()
  }
}

function escaped(code: number): string {
  return `\\u{${code.toString(16)}}`
}

/** A Unicode category or script. */
function propertyOf(name: string): string {
  for (const text of [`\\p{${name}}`, `\\p{Script=${name}}`]) {
    try {
      new RegExp(text, 'u')
      return text
    } catch {
      // Not a category: a script, or nothing.
    }
  }
  return fail(`invalid character class range: ${name}`)
}
