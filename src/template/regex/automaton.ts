import { parseEcma } from './ecma.ts'
import { type Assertion, RegexError, type RegexFault } from './parse.ts'
import { assemble, type Instruction } from './program.ts'
import { inverted, LAST, type Ranges, WORD } from './ranges.ts'

/**
 * A regular expression of ECMA-262 (flag `u`) that takes time linear to the text.
 *
 * Ours rather than re2js 2.10, which is linear too: that cannot be asked to count its work, so that one call could not
 * be stopped (`(?:a?){500}[xb]` on 4 KB: 220 ms), takes 6 times as long for the short texts of arguments (5 µs against
 * 0.8 for a date, 21 against 2.3 for `\p{L}`, which takes 15 ms to compile) and 35 ms to load. It is twice as fast at
 * finding matches in long texts. ECMA's syntax would have to be read all the same, to be translated.
 */
export interface Pattern {
  /**
   * Whether the expression matches anywhere in the text.
   * @param charge counts the work in steps of about 10 ns: one for 2 characters, several for a new state
   * @throws what `charge` throws
   */
  test(text: string, charge: (steps: number) => void): boolean
}

/** Why an expression cannot be run in linear time. */
export interface PatternFault {
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

type Charge = (steps: number) => void

/** What stood before a place of the text, as far as assertions ask. */
const START = 0
const BEHIND_WORD = 1
const BEHIND_OTHER = 2
/** What follows a place. */
const NEXT_OTHER = 0
const NEXT_WORD = 1
const NEXT_END = 2

/** All ways through the program that are open at a place: instructions before what reads nothing is followed. */
interface State {
  open: readonly number[]
  before: number
  /** By class of the next character. */
  next: (State | undefined)[]
  /** By what follows. */
  reached: (Reached | undefined)[]
}

/** The instructions that read a character, and whether the end of the program was reached. */
interface Reached {
  matched: boolean
  sets: number[]
}

/** Units of states, of their size, that are kept from one text to the next. */
const MAX_KEPT = 4000

const MATCHED: State = { open: [], before: START, next: [], reached: [] }

/** Runs a program as a deterministic automaton, whose states are made when a text first reaches them. */
class Automaton implements Pattern {
  private readonly classes: Classes
  /** Word characters are distinguished from others. */
  private readonly words: boolean
  /** No later place can be the start of the text. */
  private readonly anchored: boolean
  private readonly stamps: Int32Array
  private stamp = 0
  private states = new Map<string, State>()
  private size = 0

  constructor(private readonly program: readonly Instruction<Ranges>[]) {
    this.words = program.some(
      (step) => step.op === 'assert' && (step.kind === 'word' || step.kind === 'notWord'),
    )
    this.classes = classesOf(program, this.words)
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
      if (this.size > MAX_KEPT) {
        this.states = new Map()
        this.size = 0
      }
    }
  }

  private run(text: string, charge: Charge): boolean {
    const { classOf } = this.classes
    let state = this.stateOf([0], START, charge)
    for (let at = 0; at < text.length; at++) {
      let code = text.charCodeAt(at)
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(at)!
        if (code > 0xffff) at++
      }
      const class_ = classOf(code)
      state = state.next[class_] ?? this.step(state, class_, charge)
      if (state === MATCHED) return true
      if (state.open.length === 0) return false
    }
    state.reached[NEXT_END] ??= this.reach(state.open, state.before, NEXT_END, charge)
    return state.reached[NEXT_END].matched
  }

  private step(from: State, class_: number, charge: Charge): State {
    const { isWord, members } = this.classes
    const next = isWord[class_] ? NEXT_WORD : NEXT_OTHER
    from.reached[next] ??= this.reach(from.open, from.before, next, charge)
    const reached = from.reached[next]
    let to = MATCHED
    if (!reached.matched) {
      const open: number[] = []
      for (const at of reached.sets) if (members[at]![class_]) open.push(at + 1)
      if (!this.anchored) open.push(0)
      charge(2 * reached.sets.length)
      to = this.stateOf(open, this.words && next === NEXT_WORD ? BEHIND_WORD : BEHIND_OTHER, charge)
    }
    from.next[class_] = to
    return to
  }

  private stateOf(open: number[], before: number, charge: Charge): State {
    const { count } = this.classes
    const key = `${before}:${open.join()}`
    let state = this.states.get(key)
    if (!state) {
      charge(8 * open.length + (count >> 1) + 512)
      this.size += open.length + count + 16
      state = { open, before, next: new Array(count), reached: [] }
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

/** Sets times intervals of characters: sorting them apart takes so many steps. */
const MAX_CLASSES = 4_000_000

interface Classes {
  count: number
  classOf(code: number): number
  /** By instruction: whether a class is in its set. */
  members: readonly (Uint8Array | undefined)[]
  isWord: Uint8Array
}

/** Characters that no set of the program tells apart are one class; with `words` those of words are apart, too. */
function classesOf(program: readonly Instruction<Ranges>[], words: boolean): Classes {
  const sets = new Map<string, Ranges>()
  const testsByText = new Map<Ranges, string>()
  for (const step of program)
    if (step.op === 'set' && !testsByText.has(step.test)) {
      const text = step.test.join()
      testsByText.set(step.test, text)
      sets.set(text, step.test)
    }
  if (words) sets.set('words', WORD)
  const starts = [...new Set([0, ...[...sets.values()].flatMap(boundaries)])].sort((a, b) => a - b)
  if (sets.size * starts.length > MAX_CLASSES)
    throw new RegexError('size', 'it holds too many different sets of characters')
  let classAt = new Int32Array(starts.length)
  let count = 1
  for (const set of sets.values()) {
    const inside = insideOf(starts, set)
    const renamed = new Int32Array(2 * count).fill(-1)
    let made = 0
    classAt = classAt.map((known, index) => {
      const key = 2 * known + inside[index]!
      if (renamed[key]! < 0) renamed[key] = made++
      return renamed[key]!
    })
    count = made
  }
  const membersOf = (set: Ranges): Uint8Array => {
    const member = new Uint8Array(count)
    insideOf(starts, set).forEach((inside, index) => {
      if (inside) member[classAt[index]!] = 1
    })
    return member
  }
  const byText = new Map([...sets].map(([text, set]) => [text, membersOf(set)]))
  const members = program.map((step) =>
    step.op === 'set' ? byText.get(testsByText.get(step.test)!) : undefined,
  )
  const search = (code: number): number => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= code) low = middle
      else high = middle - 1
    }
    return classAt[low]!
  }
  const latin = Int32Array.from({ length: 256 }, (_, code) => search(code))
  const classOf = (code: number): number => (code < 256 ? latin[code]! : search(code))
  return { classOf, count, members, isWord: words ? byText.get('words')! : new Uint8Array(count) }
}

function boundaries(set: Ranges): number[] {
  return [...set, ...inverted(set)].filter((_, index) => index % 2 === 0)
}

/** For each interval of code points that begins at one of `starts`, whether the set holds it. */
function insideOf(starts: readonly number[], set: Ranges): Uint8Array {
  const inside = new Uint8Array(starts.length)
  let at = 0
  starts.forEach((start, index) => {
    while (at < set.length && set[at + 1]! < start) at += 2
    if (at < set.length && set[at]! <= start && start <= LAST) inside[index] = 1
  })
  return inside
}
