import {
  type Assertion,
  type CharTest,
  charTest,
  RegexError,
  type RegexFault,
  type RegexNode,
  RegexReader,
} from './parse.ts'
import { assemble, type Instruction } from './program.ts'

/**
 * A regular expression of ECMA-262 (flag `u`) that takes time linear to the text.
 * Why not re2js 2.10, which is linear too: it cannot count its work, so one call cannot be stopped
 * (`(?:a?){500}[xb]` on 4 KB: 220 ms); it takes 6 times as long for short texts (5 µs against 0.8 for a date, 21
 * against 2.3 for `\p{L}`, which takes 15 ms to compile) and 35 ms to load. It is twice as fast in long texts.
 * ECMA's syntax would still have to be parsed, to translate it.
 */
interface Pattern {
  /**
   * Whether the expression matches anywhere in the text.
   * @param charge counts the work in steps of about 10 ns: one for 2 characters, several for a new state
   * @throws what `charge` throws
   */
  test(text: string, charge: (steps: number) => void): boolean
}

/** Why an expression cannot be run in linear time. */
interface PatternFault {
  kind: RegexFault
  error: string
}

/** An expression that can be run in linear time, or why it cannot be. */
export function compilePattern(source: string): Pattern | PatternFault {
  try {
    const { node, also } = parseEcma(source)
    const main = new Automaton(assemble(node))
    const others = also.map((one) => ({ run: new Automaton(assemble(one.node)), negative: one.negative }))
    if (others.length === 0) return main
    return {
      test: (text, charge) =>
        main.test(text, charge) && others.every(({ run, negative }) => run.test(text, charge) !== negative),
    }
  } catch (error) {
    if (error instanceof RegexError) return { kind: error.kind, error: error.message }
    throw error
  }
}

const isWord = charTest('\\w', 'u')

type Charge = (steps: number) => void

/** Kinds of the character before a position, for assertions. */
const START = 0
const BEHIND_WORD = 1
const BEHIND_OTHER = 2
/** Kinds of the next character. */
const NEXT_OTHER = 0
const NEXT_WORD = 1
const NEXT_END = 2

/** A set of program positions, before instructions that read no character are followed. */
interface State {
  open: readonly number[]
  before: number
  /** By class of the next character. */
  next: (State | undefined)[]
  /** By the kind of the next character. */
  reached: (Reached | undefined)[]
}

/** The instructions that read a character, and whether the end of the program was reached. */
interface Reached {
  matched: boolean
  sets: number[]
}

const MATCHED: State = { open: [], before: START, next: [], reached: [] }

/** Runs a program as a deterministic automaton, whose states are made when a text first reaches them. */
class Automaton implements Pattern {
  /** The distinct character sets; the last one may be the word characters. */
  private readonly sets: CharTest[]
  /** By instruction: the index of its set. */
  private readonly setOf: number[]
  /** Whether word characters are distinguished from others. */
  private readonly words: boolean
  /** Whether a match can begin only at the start of the text. */
  private readonly anchored: boolean
  private readonly stamps: Int32Array
  private stamp = 0
  private states = new Map<string, State>()
  /** Characters that all sets treat alike form a class, which is made when a text first contains one of them. */
  private classOfLatin: (number | undefined)[] = []
  private classOfOther = new Map<number, number>()
  private classes = new Map<string, number>()
  /** By class: which sets contain its characters. */
  private members: Uint8Array[] = []
  private size = 0

  constructor(private readonly program: readonly Instruction[]) {
    this.words = program.some(
      (step) => step.op === 'assert' && (step.kind === 'word' || step.kind === 'notWord'),
    )
    const sets = new Set(program.flatMap((step) => (step.op === 'set' ? [step.test] : [])))
    // Each new character is tested against all of them.
    if (sets.size > 1400) throw new RegexError('size', 'it holds too many different sets of characters')
    this.sets = [...sets]
    const indexes = new Map(this.sets.map((test, index) => [test, index]))
    this.setOf = program.map((step) => (step.op === 'set' ? indexes.get(step.test)! : -1))
    if (this.words) this.sets.push(isWord)
    this.stamps = new Int32Array(program.length)
    this.anchored = [NEXT_OTHER, NEXT_WORD, NEXT_END].every((next) =>
      [BEHIND_OTHER, BEHIND_WORD].every((before) => {
        const { matched, sets } = this.reach([0], before, next, () => {})
        return !matched && sets.length === 0
      }),
    )
  }

  test(text: string, charge: Charge): boolean {
    charge(8 + (text.length >> 1))
    try {
      return this.run(text, charge)
    } finally {
      // Keeps a bounded number of states and classes between texts.
      if (this.size > 4000) this.clearCache()
    }
  }

  private clearCache(): void {
    this.states = new Map()
    this.classOfLatin = []
    this.classOfOther = new Map()
    this.classes = new Map()
    this.members = []
    this.size = 0
  }

  private run(text: string, charge: Charge): boolean {
    const { classOfLatin, classOfOther } = this
    let state = this.stateOf([0], START, charge)
    for (let at = 0; at < text.length; at++) {
      let code = text.charCodeAt(at)
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(at)!
        if (code > 0xffff) at++
      }
      const known = code < 256 ? classOfLatin[code] : classOfOther.get(code)
      const class_ = known ?? this.newClass(code, charge)
      state = state.next[class_] ?? this.step(state, class_, charge)
      if (state === MATCHED) return true
      if (state.open.length === 0) return false
    }
    state.reached[NEXT_END] ??= this.reach(state.open, state.before, NEXT_END, charge)
    return state.reached[NEXT_END].matched
  }

  private step(from: State, class_: number, charge: Charge): State {
    const member = this.members[class_]!
    const next = this.words && member[this.sets.length - 1] ? NEXT_WORD : NEXT_OTHER
    from.reached[next] ??= this.reach(from.open, from.before, next, charge)
    const reached = from.reached[next]
    let to = MATCHED
    if (!reached.matched) {
      const open: number[] = []
      for (const at of reached.sets) if (member[this.setOf[at]!]) open.push(at + 1)
      if (!this.anchored) open.push(0)
      charge(2 * reached.sets.length)
      to = this.stateOf(open, next === NEXT_WORD ? BEHIND_WORD : BEHIND_OTHER, charge)
    }
    from.next[class_] = to
    return to
  }

  /** The class of a character that is read for the first time. */
  private newClass(code: number, charge: Charge): number {
    charge(32 + 16 * this.sets.length)
    let key = ''
    for (const test of this.sets) key += test(code) ? '1' : '0'
    let made = this.classes.get(key)
    if (made === undefined) {
      made = this.members.push(Uint8Array.from(key, Number)) - 1
      this.classes.set(key, made)
      this.size += this.sets.length
    }
    if (code < 256) this.classOfLatin[code] = made
    else this.classOfOther.set(code, made)
    this.size++
    return made
  }

  private stateOf(open: number[], before: number, charge: Charge): State {
    const key = `${before}:${open.join()}`
    let state = this.states.get(key)
    if (!state) {
      charge(8 * open.length + 512)
      this.size += open.length + this.members.length + 16
      state = { open, before, next: [], reached: [] }
      this.states.set(key, state)
    }
    return state
  }

  private reach(open: readonly number[], before: number, next: number, charge: Charge): Reached {
    const { program, stamps } = this
    const stamp = ++this.stamp
    const sets: number[] = []
    const pending = open.slice().reverse()
    let visited = 0
    let matched = false
    while (pending.length > 0 && !matched) {
      const at = pending.pop()!
      visited++
      if (stamps[at] === stamp) continue
      stamps[at] = stamp
      const step = program[at]!
      switch (step.op) {
        case 'set':
          sets.push(at)
          break
        case 'jump':
          pending.push(step.to)
          break
        case 'split':
          pending.push(step.second, step.first)
          break
        case 'save':
          pending.push(at + 1)
          break
        case 'assert':
          if (holds(step.kind, before, next)) pending.push(at + 1)
          break
        default:
          matched = true
      }
    }
    charge(2 * visited)
    return { matched, sets }
  }
}

function holds(kind: Assertion, before: number, next: number): boolean {
  switch (kind) {
    case 'start':
      return before === START
    case 'end':
      return next === NEXT_END
    default:
      return ((before === BEHIND_WORD) !== (next === NEXT_WORD)) === (kind === 'word')
  }
}

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
function parseEcma(source: string): EcmaPattern {
  return new EcmaReader(source).pattern()
}

/** A set in brackets, an escape (two halves of a pair are one), or a character. */
const SET =
  /\[(?:[^\\\]]|\\.)*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|x..|c.|.)|./suy

/** V8 has checked the syntax, so this reader does not. */
class EcmaReader extends RegexReader {
  pattern(): EcmaPattern {
    checkSyntax(this.source)
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

/** @throws RegexError with the runtime's error, such as `invalid escape` */
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
