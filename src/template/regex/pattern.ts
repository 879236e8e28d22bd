import { parseEcma } from './ecma.ts'
import { type Assertion, type CharTest, charTest, RegexError, type RegexFault } from './parse.ts'
import { assemble, type Instruction } from './program.ts'

/**
 * A regular expression of ECMA-262 (flag `u`) that takes time linear to the text. The library re2js 2.10 is linear too,
 * but cannot count its work, so one call cannot be stopped (`(?:a?){500}[xb]` on 4 KB: 220 ms).
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
    const main = new LazyDfa(assemble(node))
    const others = also.map((one) => ({ run: new LazyDfa(assemble(one.node)), negative: one.negative }))
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

/** The kind of the character before a position, and of the next one: assertions such as `^` and `\b` ask for them. */
type Before = 'start' | 'word' | 'other'
type Next = 'word' | 'other' | 'end'

/** A state of the automaton: all positions of the program that the text so far may have led to. */
interface State {
  positions: readonly number[]
  before: Before
  /** The following states that are known, by class of the next character. */
  next: (State | undefined)[]
  closures: Partial<Record<Next, Closure>>
}

/** The instructions that are reached without reading a character (epsilon closure). */
interface Closure {
  /** Whether the end of the program is reached. */
  matched: boolean
  /** Those that read a character. */
  readers: number[]
}

const MATCHED: State = { positions: [], before: 'start', next: [], closures: {} }

/** Runs a program as a deterministic automaton (DFA), whose states are made when a text first reaches them. */
class LazyDfa implements Pattern {
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
  private setsOfClass: Uint8Array[] = []
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
    this.anchored = (['other', 'word', 'end'] as const).every((next) =>
      (['other', 'word'] as const).every((before) => {
        const { matched, readers } = this.closureOf([0], before, next, () => {})
        return !matched && readers.length === 0
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
    this.setsOfClass = []
    this.size = 0
  }

  private run(text: string, charge: Charge): boolean {
    const { classOfLatin, classOfOther } = this
    let state = this.stateOf([0], 'start', charge)
    for (let at = 0; at < text.length; at++) {
      let code = text.charCodeAt(at)
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(at)!
        if (code > 0xffff) at++
      }
      const known = code < 256 ? classOfLatin[code] : classOfOther.get(code)
      const charClass = known ?? this.newClass(code, charge)
      state = state.next[charClass] ?? this.transition(state, charClass, charge)
      if (state === MATCHED) return true
      if (state.positions.length === 0) return false
    }
    return this.closureAt(state, 'end', charge).matched
  }

  /** The state after reading a character of this class. */
  private transition(from: State, charClass: number, charge: Charge): State {
    const isInSet = this.setsOfClass[charClass]!
    const next: Next = this.words && isInSet[this.sets.length - 1] ? 'word' : 'other'
    const { matched, readers } = this.closureAt(from, next, charge)
    let to = MATCHED
    if (!matched) {
      const positions: number[] = []
      for (const at of readers) if (isInSet[this.setOf[at]!]) positions.push(at + 1)
      if (!this.anchored) positions.push(0)
      charge(2 * readers.length)
      to = this.stateOf(positions, next, charge)
    }
    from.next[charClass] = to
    return to
  }

  /** The class of a character that is read for the first time. */
  private newClass(code: number, charge: Charge): number {
    charge(32 + 16 * this.sets.length)
    let key = ''
    for (const test of this.sets) key += test(code) ? '1' : '0'
    let made = this.classes.get(key)
    if (made === undefined) {
      made = this.setsOfClass.push(Uint8Array.from(key, Number)) - 1
      this.classes.set(key, made)
      this.size += this.sets.length
    }
    if (code < 256) this.classOfLatin[code] = made
    else this.classOfOther.set(code, made)
    this.size++
    return made
  }

  private stateOf(positions: number[], before: Before, charge: Charge): State {
    const key = `${before}:${positions.join()}`
    let state = this.states.get(key)
    if (!state) {
      charge(8 * positions.length + 512)
      this.size += positions.length + this.setsOfClass.length + 16
      state = { positions, before, next: [], closures: {} }
      this.states.set(key, state)
    }
    return state
  }

  private closureAt(state: State, next: Next, charge: Charge): Closure {
    state.closures[next] ??= this.closureOf(state.positions, state.before, next, charge)
    return state.closures[next]
  }

  private closureOf(positions: readonly number[], before: Before, next: Next, charge: Charge): Closure {
    const { program, stamps } = this
    const stamp = ++this.stamp
    const readers: number[] = []
    const pending = positions.slice().reverse()
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
          readers.push(at)
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
    return { matched, readers }
  }
}

function holds(kind: Assertion, before: Before, next: Next): boolean {
  switch (kind) {
    case 'start':
      return before === 'start'
    case 'end':
      return next === 'end'
    default:
      return ((before === 'word') !== (next === 'word')) === (kind === 'word')
  }
}
