import { type CharTest, CLASSES, type Flags, literal, PERL, property, range } from './classes.ts'

/** The syntax tree of a regular expression; `Test` is what one character is held against. */
export type RegexNode<Test = CharTest> =
  | { type: 'empty' }
  | { type: 'set'; test: Test }
  | { type: 'assert'; kind: Assertion }
  | { type: 'group'; node: RegexNode<Test>; index: number }
  | { type: 'list'; nodes: RegexNode<Test>[] }
  | { type: 'choice'; nodes: RegexNode<Test>[] }
  | { type: 'repeat'; node: RegexNode<Test>; min: number; max: number; greedy: boolean }

export type Assertion = 'start' | 'end' | 'lineStart' | 'lineEnd' | 'word' | 'notWord'

export class RegexError extends Error {}

/** RE2's bound for counted repetitions, and ours for nesting. */
const MAX_REPEAT = 1000
const MAX_DEPTH = 200

/** @throws RegexError */
export function parseRegex(source: string): { node: RegexNode; groups: number; names: Map<string, number> } {
  const names = new Map<string, number>()
  let at = 0
  let groups = 0
  let depth = 0

  const fail = (message: string): never => {
    throw new RegexError(message)
  }

  function choice(flags: Flags): RegexNode {
    if (++depth > MAX_DEPTH) fail('expression nests too deeply')
    const nodes: RegexNode[] = [sequence(flags)]
    while (source[at] === '|') {
      at++
      nodes.push(sequence(flags))
    }
    depth--
    return nodes.length === 1 ? nodes[0]! : { type: 'choice', nodes }
  }

  function sequence(flags: Flags): RegexNode {
    const nodes: RegexNode[] = []
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const node = atom(flags)
      if (node) nodes.push(quantified(node, flags))
    }
    return nodes.length === 1 ? nodes[0]! : { type: 'list', nodes }
  }

  function quantified(node: RegexNode, flags: Flags): RegexNode {
    let result = node
    for (let count = 0; ; count++) {
      const bounds = quantifier()
      if (!bounds) return result
      if (count > 0) fail('invalid nested repetition operator')
      const lazy = source[at] === '?'
      if (lazy) at++
      result = { type: 'repeat', node: result, ...bounds, greedy: lazy === flags.ungreedy }
    }
  }

  function quantifier(): { min: number; max: number } | undefined {
    switch (source[at]) {
      case '*':
        at++
        return { min: 0, max: Number.POSITIVE_INFINITY }
      case '+':
        at++
        return { min: 1, max: Number.POSITIVE_INFINITY }
      case '?':
        at++
        return { min: 0, max: 1 }
      case '{': {
        const match = /^\{(\d{1,6})(?:(,)(\d{0,6}))?\}/.exec(source.slice(at, at + 20))
        if (!match) return undefined
        at += match[0].length
        const min = Number(match[1])
        const max = match[2] ? (match[3] === '' ? Number.POSITIVE_INFINITY : Number(match[3])) : min
        if (min > MAX_REPEAT || (Number.isFinite(max) && (max > MAX_REPEAT || max < min))) {
          fail(`invalid repeat count: ${match[0]}`)
        }
        return { min, max }
      }
      default:
        return undefined
    }
  }

  function atom(flags: Flags): RegexNode | undefined {
    const code = source.codePointAt(at)!
    const char = String.fromCodePoint(code)
    at += char.length
    switch (char) {
      case '(':
        return group(flags)
      case '[':
        return { type: 'set', test: bracket(flags) }
      case '.':
        return { type: 'set', test: flags.dotAll ? () => true : (c) => c !== 10 }
      case '^':
        return { type: 'assert', kind: flags.multiline ? 'lineStart' : 'start' }
      case '$':
        return { type: 'assert', kind: flags.multiline ? 'lineEnd' : 'end' }
      case '\\':
        return escapeSequence(flags)
      case '*':
      case '+':
      case '?':
        return fail(`missing argument to repetition operator: ${char}`)
      default:
        return { type: 'set', test: literal(code, flags) }
    }
  }

  function group(flags: Flags): RegexNode | undefined {
    if (source[at] !== '?') return captured(flags)
    const name = /^\?P?<([A-Za-z_]\w*)>/.exec(source.slice(at, at + 100))
    if (name) {
      at += name[0].length
      if (names.has(name[1]!)) fail(`duplicate capture group name: ${name[1]}`)
      names.set(name[1]!, groups + 1)
      return captured(flags)
    }
    const set = /^\?([imsU]*)(?:-([imsU]+))?([:)])/.exec(source.slice(at, at + 20))
    if (!set) return fail('invalid or unsupported Perl syntax: look-around and back-references')
    at += set[0].length
    const inner = set[3] === ')' ? flags : { ...flags }
    const change = (letters: string, value: boolean) => {
      for (const letter of letters) {
        if (letter === 'i') inner.insensitive = value
        else if (letter === 'm') inner.multiline = value
        else if (letter === 's') inner.dotAll = value
        else inner.ungreedy = value
      }
    }
    change(set[1] ?? '', true)
    change(set[2] ?? '', false)
    if (set[3] === ')') return undefined
    const node = choice(inner)
    if (source[at++] !== ')') fail('missing closing )')
    return node
  }

  function captured(flags: Flags): RegexNode {
    const index = ++groups
    const node = choice({ ...flags })
    if (source[at++] !== ')') fail('missing closing )')
    return { type: 'group', node, index }
  }

  function escapeSequence(flags: Flags): RegexNode {
    const char = source[at] ?? fail('trailing backslash at end of expression')
    switch (char) {
      case 'A':
        at++
        return { type: 'assert', kind: 'start' }
      case 'z':
        at++
        return { type: 'assert', kind: 'end' }
      case 'b':
        at++
        return { type: 'assert', kind: 'word' }
      case 'B':
        at++
        return { type: 'assert', kind: 'notWord' }
      case 'Q': {
        const close = source.indexOf('\\E', at)
        const text = source.slice(at + 1, close < 0 ? undefined : close)
        at = close < 0 ? source.length : close + 2
        return {
          type: 'list',
          nodes: Array.from(text, (c) => ({ type: 'set', test: literal(c.codePointAt(0)!, flags) })),
        }
      }
      default:
        return { type: 'set', test: classEscape() ?? literal(charEscape(), flags) }
    }
  }

  /** `\d`, `\pL`, …; undefined when it is a single character. */
  function classEscape(): CharTest | undefined {
    const char = source[at]!
    const perl = PERL[char.toLowerCase()]
    if (perl && Object.hasOwn(PERL, char.toLowerCase())) {
      at++
      const negate = char !== char.toLowerCase()
      return (code) => perl.test(String.fromCodePoint(code)) !== negate
    }
    if (char !== 'p' && char !== 'P') return undefined
    const name = /^[pP](?:\{(\^?)(\w{1,40})\}|([A-Z]))/.exec(source.slice(at, at + 50))
    if (!name) return fail('invalid character class range')
    at += name[0].length
    const negate = (char === 'P') !== (name[1] === '^')
    const pattern = property(name[2] ?? name[3]!) ?? fail(`invalid character class range: ${name[2]}`)
    return (code) => pattern.test(String.fromCodePoint(code)) !== negate
  }

  function charEscape(): number {
    const rest = source.slice(at, at + 12)
    const hex = /^x(?:\{([\da-fA-F]{1,6})\}|([\da-fA-F]{2}))/.exec(rest)
    const octal = /^[0-7]{1,3}/.exec(rest)
    const simple = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }[rest[0]!]
    if (hex) {
      at += hex[0].length
      const code = Number.parseInt(hex[1] ?? hex[2]!, 16)
      return code > 0x10ffff ? fail('invalid escape sequence') : code
    }
    if (octal && (rest[0] === '0' || octal[0].length === 3)) {
      at += octal[0].length
      return Number.parseInt(octal[0], 8)
    }
    const code = source.codePointAt(at)!
    at += code > 0xffff ? 2 : 1
    if (simple !== undefined) return simple
    if (/[0-9A-Za-z]/.test(String.fromCodePoint(code)) || code > 0x7f)
      fail(`invalid escape sequence: \\${rest[0]}`)
    return code
  }

  function bracket(flags: Flags): CharTest {
    const negate = source[at] === '^'
    if (negate) at++
    const tests: CharTest[] = []
    let first = true
    for (;;) {
      if (at >= source.length) fail('missing closing ]')
      if (source[at] === ']' && !first) break
      first = false
      const named = /^\[:(\^?)(\w+):\]/.exec(source.slice(at, at + 20))
      if (named) {
        const set = CLASSES[named[2]!] ?? fail(`invalid character class range: ${named[0]}`)
        const pattern = new RegExp(`^[${named[1]}${set}]$`, 'u')
        at += named[0].length
        tests.push((code) => pattern.test(String.fromCodePoint(code)))
        continue
      }
      if (source[at] === '\\') {
        at++
        if (at >= source.length) fail('trailing backslash at end of expression')
        const set = classEscape()
        if (set) {
          tests.push(set)
          continue
        }
        at--
      }
      const low = classChar()
      let high = low
      if (source[at] === '-' && source[at + 1] !== ']' && at + 1 < source.length) {
        at++
        high = classChar()
        if (high < low) fail('invalid character class range')
      }
      tests.push(range(low, high, flags))
    }
    at++
    return (code) => tests.some((test) => test(code)) !== negate
  }

  function classChar(): number {
    if (source[at] === '\\') {
      at++
      return charEscape()
    }
    const code = source.codePointAt(at)!
    at += code > 0xffff ? 2 : 1
    return code
  }

  const node = choice({ insensitive: false, multiline: false, dotAll: false, ungreedy: false })
  if (at < source.length) fail('unexpected )')
  return { node, groups, names }
}
