import { RegexError, type RegexNode } from './parse.ts'
import { MAX_PROGRAM } from './program.ts'
import { inverted, LAST, normalized, propertyRanges, type Ranges } from './ranges.ts'

type Node = RegexNode<Ranges>
/** `(?=…)` and its like, until it is clear whether it stands where it can be an expression of its own. */
interface Look {
  type: 'look'
  ahead: boolean
  negative: boolean
  node: Node
}

/** What a text must match, and at which of the others it must or must not match. */
export interface EcmaPattern {
  node: Node
  also: { node: Node; negative: boolean }[]
}

const MAX_DEPTH = 200
const DIGIT: Ranges = [48, 57]
const WORD: Ranges = [48, 57, 65, 90, 95, 95, 97, 122]
/** WhiteSpace and LineTerminator of ECMA-262, 12.2 and 12.3. */
const SPACE: Ranges = normalized([
  ...[9, 13, 32, 32, 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a],
  ...[0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff],
])
const LINE_END: Ranges = [10, 10, 13, 13, 0x2028, 0x2029]
const CLASSES: Record<string, Ranges> = {
  d: DIGIT,
  D: inverted(DIGIT),
  w: WORD,
  W: inverted(WORD),
  s: SPACE,
  S: inverted(SPACE),
}
const CONTROLS: Record<string, number> = { f: 12, n: 10, r: 13, t: 9, v: 11, 0: 0 }

/**
 * Reads a regular expression of ECMA-262 with the flag `u`, the dialect of JSON Schema.
 * Look-ahead right behind a leading `^` and look-behind right before a final `$` become expressions of their own.
 * @throws RegexError for what is not of the dialect, and for what no linear engine can run
 */
export function parseEcma(source: string): EcmaPattern {
  if (source.length > MAX_PROGRAM) throw new RegexError(`it is longer than ${MAX_PROGRAM} characters`)
  // The syntax is checked here, so the reader below need not.
  checkSyntax(source)
  let at = 0
  let depth = 0
  let looks = 0

  function choice(): (Node | Look)[][] {
    if (++depth > MAX_DEPTH) throw new RegexError(`its groups nest deeper than ${MAX_DEPTH}`)
    const options = [sequence()]
    while (source[at] === '|') {
      at++
      options.push(sequence())
    }
    depth--
    return options
  }

  function sequence(): (Node | Look)[] {
    const nodes: (Node | Look)[] = []
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const node = term()
      nodes.push(node.type === 'look' ? node : quantified(node))
    }
    return nodes
  }

  function quantified(node: Node): Node {
    const bounds = /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})/.exec(source.slice(at, at + 50))
    if (!bounds) return node
    at += bounds[0].length
    if (source[at] === '?') at++
    const [sign, least, comma, most] = bounds
    const min = least === undefined ? (sign === '+' ? 1 : 0) : Number(least)
    const open = least === undefined ? sign !== '?' : comma !== undefined && most === ''
    const max = open ? Number.POSITIVE_INFINITY : least === undefined ? 1 : Number(comma ? most : least)
    if (min > MAX_PROGRAM || (!open && max > MAX_PROGRAM))
      throw new RegexError(`it repeats something more than ${MAX_PROGRAM} times`)
    return { type: 'repeat', node, min, max, greedy: true }
  }

  function term(): Node | Look {
    const char = next()
    switch (char) {
      case '^':
        return { type: 'assert', kind: 'start' }
      case '$':
        return { type: 'assert', kind: 'end' }
      case '(':
        return group()
      case '[':
        return { type: 'set', test: bracket() }
      case '.':
        return { type: 'set', test: inverted(LINE_END) }
      case '\\':
        return escaped()
      default:
        return single(char)
    }
  }

  function group(): Node | Look {
    const start = /^(?:\?(?:(<?)([=!])|:|<[^>]*>))?/.exec(source.slice(at, at + 1000))!
    at += start[0].length
    const options = choice()
    at++
    const node = plain(options)
    if (start[2] === undefined) return node
    looks++
    return { type: 'look', ahead: start[1] === '', negative: start[2] === '!', node }
  }

  function escaped(): Node {
    const char = source[at]!
    if (char === 'b' || char === 'B') {
      at++
      return { type: 'assert', kind: char === 'b' ? 'word' : 'notWord' }
    }
    if (/[1-9k]/.test(char)) throw new RegexError('it refers back to a group')
    return { type: 'set', test: classEscape() ?? one(charEscape()) }
  }

  /** `\d`, `\p{…}` and their like; undefined for a single character. */
  function classEscape(): Ranges | undefined {
    const char = source[at]!
    if (Object.hasOwn(CLASSES, char)) {
      at++
      return CLASSES[char]
    }
    if (char !== 'p' && char !== 'P') return undefined
    const end = source.indexOf('}', at)
    const ranges = propertyRanges(source.slice(at + 2, end))
    at = end + 1
    return char === 'p' ? ranges : inverted(ranges)
  }

  function charEscape(): number {
    const hex = /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\})/.exec(source.slice(at, at + 40))
    if (hex) {
      at += hex[0].length
      const code = Number.parseInt((hex[1] ?? hex[2] ?? hex[3])!, 16)
      return hex[2] === undefined ? code : paired(code)
    }
    const char = next()
    if (char === 'c') return next().charCodeAt(0) % 32
    return CONTROLS[char] ?? char.codePointAt(0)!
  }

  /** Two escapes of the halves of a pair are one character. */
  function paired(code: number): number {
    const low = /^\\u(d[c-f][\da-f]{2})/i.exec(source.slice(at, at + 6))
    if (code < 0xd800 || code > 0xdbff || !low) return code
    at += 6
    return 0x10000 + (code - 0xd800) * 0x400 + Number.parseInt(low[1]!, 16) - 0xdc00
  }

  function bracket(): Ranges {
    const negative = source[at] === '^'
    if (negative) at++
    const pairs: number[] = []
    while (source[at] !== ']') {
      const low = classAtom()
      if (typeof low !== 'number') {
        pairs.push(...low)
      } else if (source[at] === '-' && source[at + 1] !== ']') {
        at++
        pairs.push(low, classAtom() as number)
      } else pairs.push(low, low)
    }
    at++
    const ranges = normalized(pairs)
    return negative ? inverted(ranges) : ranges
  }

  function classAtom(): number | Ranges {
    if (source[at] !== '\\') return next().codePointAt(0)!
    at++
    if (source[at] === 'b') {
      at++
      return 8
    }
    return classEscape() ?? charEscape()
  }

  function next(): string {
    const char = String.fromCodePoint(source.codePointAt(at)!)
    at += char.length
    return char
  }

  const options = choice()
  const also = options.length === 1 ? hoisted(options[0]!) : []
  if (looks > also.length)
    throw new RegexError('it looks ahead or behind at another place than right after `^` or right before `$`')
  return { node: plain(options), also }
}

/** Takes out the look-ahead behind `^` and the look-behind before `$`, which the whole text can be asked for alone. */
function hoisted(nodes: (Node | Look)[]): EcmaPattern['also'] {
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

function isAssertion(node: Node | Look | undefined, kind: 'start' | 'end'): boolean {
  return node?.type === 'assert' && node.kind === kind
}

/** Looks that are left are refused in the end. */
function plain(options: (Node | Look)[][]): Node {
  const lists = options.map(
    (nodes): Node => ({ type: 'list', nodes: nodes.filter((node) => node.type !== 'look') }),
  )
  return lists.length === 1 ? lists[0]! : { type: 'choice', nodes: lists }
}

function single(char: string): Node {
  return { type: 'set', test: one(char.codePointAt(0)!) }
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
    throw new RegexError(reason.charAt(0).toLowerCase() + reason.slice(1))
  }
}
