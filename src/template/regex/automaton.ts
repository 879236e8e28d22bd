import { type EcmaPattern, parseEcma } from './ecma.ts'
import { type Assertion, RegexError } from './parse.ts'
import { assemble, type Instruction } from './program.ts'
import { inverted, LAST, type Ranges } from './ranges.ts'

/** A regular expression of ECMA-262 (flag `u`) that takes time linear to the text. */
export interface Pattern {
  /**
   * Whether the expression matches anywhere in the text.
   * @param charge counts the work in steps of about 10 ns: one for 2 characters, several for a new state
   * @throws what `charge` throws
   */
  test(text: string, charge: (steps: number) => void): boolean
}

/** An expression that can be run in linear time, or why it cannot be. */
export function compilePattern(source: string): Pattern | { error: string } {
  try {
    const { node, also }: EcmaPattern = parseEcma(source)
    const main = automaton(assemble(node))
    const others = also.map((one) => ({ run: automaton(assemble(one.node)), negative: one.negative }))
    return {
      test: (text, charge) =>
        main(text, charge) && others.every(({ run, negative }) => run(text, charge) !== negative),
    }
  } catch (error) {
    if (error instanceof RegexError) return { error: error.message }
    throw error
  }
}

type Run = Pattern['test']

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

/** Runs a program as a deterministic automaton, whose states are made when a text first reaches them. */
function automaton(program: readonly Instruction<Ranges>[]): Run {
  const words = program.some(
    (step) => step.op === 'assert' && (step.kind === 'word' || step.kind === 'notWord'),
  )
  const { classOf, count, members, isWord } = classes(program, words)
  const stamps = new Int32Array(program.length)
  let stamp = 0
  let states = new Map<string, State>()
  let size = 0

  const reach = (
    open: readonly number[],
    before: number,
    next: number,
    charge: (steps: number) => void,
  ): Reached => {
    stamp++
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

  const stateOf = (open: number[], before: number, charge: (steps: number) => void): State => {
    const key = `${before}:${open.join()}`
    let state = states.get(key)
    if (!state) {
      charge(8 * open.length + (count >> 1) + 512)
      size += open.length + count + 16
      state = { open, before, next: new Array(count), reached: [] }
      states.set(key, state)
    }
    return state
  }

  const none = () => {}
  // No later place can be the start of the text.
  const anchored = [NEXT_OTHER, NEXT_WORD, NEXT_END].every((next) =>
    [BEHIND_OTHER, BEHIND_WORD].every((before) => {
      const { matched, sets } = reach([0], before, next, none)
      return !matched && sets.length === 0
    }),
  )
  const matchedState: State = { open: [], before: START, next: [], reached: [] }

  const step = (from: State, class_: number, charge: (steps: number) => void): State => {
    const next = isWord[class_] ? NEXT_WORD : NEXT_OTHER
    from.reached[next] ??= reach(from.open, from.before, next, charge)
    const reached = from.reached[next]
    let to = matchedState
    if (!reached.matched) {
      const open: number[] = []
      for (const at of reached.sets) if (members[at]![class_]) open.push(at + 1)
      if (!anchored) open.push(0)
      charge(2 * reached.sets.length)
      to = stateOf(open, words && next === NEXT_WORD ? BEHIND_WORD : BEHIND_OTHER, charge)
    }
    from.next[class_] = to
    return to
  }

  const run = (text: string, charge: (steps: number) => void): boolean => {
    let state = stateOf([0], START, charge)
    for (let at = 0; at < text.length; at++) {
      let code = text.charCodeAt(at)
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(at)!
        if (code > 0xffff) at++
      }
      const class_ = classOf(code)
      state = state.next[class_] ?? step(state, class_, charge)
      if (state === matchedState) return true
      if (state.open.length === 0) return false
    }
    state.reached[NEXT_END] ??= reach(state.open, state.before, NEXT_END, charge)
    return state.reached[NEXT_END].matched
  }

  return (text, charge) => {
    charge(8 + (text.length >> 1))
    try {
      return run(text, charge)
    } finally {
      if (size > MAX_KEPT) {
        states = new Map()
        size = 0
      }
    }
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

const WORD: Ranges = [48, 57, 65, 90, 95, 95, 97, 122]

/** Sets times intervals of characters: sorting them apart takes so many steps. */
const MAX_CLASSES = 4_000_000

/** Characters that no set of the program tells apart are one class; with `words` those of words are apart, too. */
function classes(program: readonly Instruction<Ranges>[], words: boolean) {
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
    throw new RegexError('it holds too many different sets of characters')
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
  /** By instruction. */
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
