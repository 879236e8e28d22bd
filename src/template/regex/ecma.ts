import { lowerFirst } from '../../text/index.ts'
import { RegexError, type RegexNode, RegexReader } from './parse.ts'

/** Patterns for a text: the main one, and lookaheads and lookbehinds that must or must not match. */
interface EcmaPattern {
  node: RegexNode
  also: { node: RegexNode; negative: boolean }[]
}

const MOST_REPEATED = 10_000

/**
 * Reads a regular expression of ECMA-262 with the flag `u`, the dialect of JSON Schema.
 * Look-ahead right behind a leading `^` and look-behind right before a final `$` become expressions of their own.
 * @throws RegexError for invalid syntax, and for constructs that no linear engine can run
 */
export function parseEcma(source: string): EcmaPattern {
  return new EcmaReader(source).pattern()
}

/** A set in brackets, an escape (two halves of a pair are one), or a character. */
const SET =
  /\[(?:[^\\\]]|\\.)*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|.)|./suy

/** Reads an expression that `RegExp` accepts, so it does not check the syntax again. */
class EcmaReader extends RegexReader {
  pattern(): EcmaPattern {
    const fault = syntaxFault(this.source)
    if (fault !== undefined) throw new RegexError('syntax', fault)
    const node = this.choice()
    return { node, also: node.type === 'list' ? hoisted(node.nodes) : [] }
  }

  protected override term(): RegexNode {
    const node = this.atom()
    const bounds = this.quantifier(MOST_REPEATED)
    if (!bounds) return node
    // Laziness does not change whether a text matches.
    this.eat('?')
    return { type: 'repeat', node, min: bounds.min, max: bounds.max, greedy: true }
  }

  private atom(): RegexNode {
    if (this.eat('(')) return this.group()
    const [text] = this.match(SET)!
    if (text === '^' || text === '$') return { type: 'assert', kind: text === '^' ? 'start' : 'end' }
    if (text === '\\b' || text === '\\B') return { type: 'assert', kind: text === '\\b' ? 'word' : 'notWord' }
    if (/^\\[1-9k]/.test(text)) throw new RegexError('back-reference', 'it refers back to a group')
    return { type: 'set', test: this.testOf(text, 'u') }
  }

  private group(): RegexNode {
    const [, behind, sign] = this.match(/(?:\?(?:(<?)([=!])|:|<[^>]*>))?/y)!
    // Later versions of the runtime know groups with flags.
    if (this.source[this.at] === '?') throw new RegexError('syntax', 'invalid group')
    const node = this.choice()
    this.eat(')')
    return sign === undefined ? node : { type: 'look', ahead: behind === '', negative: sign === '!', node }
  }
}

/**
 * Takes out each look-ahead right after `^` and each look-behind right before `$`: it can be matched alone against
 * the whole text.
 */
function hoisted(nodes: RegexNode[]): EcmaPattern['also'] {
  const also: EcmaPattern['also'] = []
  const take = (index: number, ahead: boolean) => {
    const look = nodes[index]
    if (look?.type !== 'look' || look.ahead !== ahead) return false
    nodes.splice(index, 1)
    const place: RegexNode = { type: 'assert', kind: ahead ? 'start' : 'end' }
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

function isAssertion(node: RegexNode | undefined, kind: 'start' | 'end'): boolean {
  return node?.type === 'assert' && node.kind === kind
}

/** The error of `RegExp` for a text, such as `invalid escape`; undefined: the text is a regular expression. */
export function syntaxFault(source: string): string | undefined {
  try {
    new RegExp(source, 'u')
    return undefined
  } catch (error) {
    // `Invalid regular expression: /…/u: Invalid escape`
    const text = (error as Error).message
    return lowerFirst(text.slice(text.lastIndexOf(': ') + 2))
  }
}
