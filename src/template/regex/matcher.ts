import { checkLength } from '../funcs/define.ts'
import type { Host } from '../types.ts'
import { type Assertion, RegexError } from './parse.ts'
import { assemble, type Instruction } from './program.ts'
import { parseRe2 } from './re2.ts'

/**
 * A regular expression in RE2's syntax, matched in linear time by following all alternatives at once. It finds the
 * leftmost match, and of several the one that Perl would find.
 */
export interface Matcher {
  /** UTF-16 offsets of the match and its groups in turn, or undefined. The work is charged to the host. */
  match(text: string, from: number, host: Host): number[] | undefined
  names: ReadonlyMap<string, number>
  /** Number of instructions. */
  size: number
}

export function matcher(source: string): Matcher | { error: string } {
  try {
    const { node, groups, names } = parseRe2(source)
    const program = assemble(node)
    const slots = 2 * (groups + 1)
    return { names, size: program.length, match: (text, from, host) => run(program, slots, text, from, host) }
  } catch (error) {
    if (error instanceof RegexError) return { error: error.message }
    throw error
  }
}

interface Thread {
  at: number
  saved: number[]
}

function run(program: readonly Instruction[], slots: number, text: string, from: number, host: Host) {
  let threads: Thread[] = []
  let found: number[] | undefined
  const seen = new Int32Array(program.length).fill(-1)
  /** A step with many groups copies much. */
  const weight = 1 + (slots >> 5)
  /** Instructions looked at for one character. */
  let visited = 0
  // Starting costs as much as a few characters.
  host.charge(2 + (program.length >> 8))

  /** Follows all instructions that read no character, in order of preference. */
  function follow(list: Thread[], start: number, saved: number[], at: number): void {
    const pending: Thread[] = [{ at: start, saved }]
    while (pending.length > 0) {
      const thread = pending.pop()!
      visited++
      if (seen[thread.at] === at) continue
      seen[thread.at] = at
      const step = program[thread.at]!
      switch (step.op) {
        case 'jump':
          pending.push({ at: step.to, saved: thread.saved })
          break
        case 'split':
          pending.push({ at: step.second, saved: thread.saved }, { at: step.first, saved: thread.saved })
          break
        case 'save': {
          const next = thread.saved.slice()
          next[step.slot] = at
          pending.push({ at: thread.at + 1, saved: next })
          break
        }
        case 'assert':
          if (holds(step.kind, text, at)) pending.push({ at: thread.at + 1, saved: thread.saved })
          break
        default:
          list.push(thread)
      }
    }
  }

  for (let at = from; at <= text.length; ) {
    if (!found) follow(threads, 0, new Array<number>(slots).fill(-1), at)
    if (threads.length === 0 && found) break
    host.charge((1 + (visited >> 3)) * weight)
    visited = 0
    const code = text.codePointAt(at)
    const width = code !== undefined && code > 0xffff ? 2 : 1
    const next: Thread[] = []
    for (const thread of threads) {
      const step = program[thread.at]!
      if (step.op === 'match') {
        found = thread.saved
        break
      }
      if (step.op === 'set' && code !== undefined && step.test(code))
        follow(next, thread.at + 1, thread.saved, at + width)
    }
    threads = next
    at += width
  }
  return found
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && /\w/.test(char)
}

function holds(kind: Assertion, text: string, at: number): boolean {
  switch (kind) {
    case 'start':
      return at === 0
    case 'end':
      return at === text.length
    case 'lineStart':
      return at === 0 || text[at - 1] === '\n'
    case 'lineEnd':
      return at === text.length || text[at] === '\n'
    default:
      return (isWord(text[at - 1]) !== isWord(text[at])) === (kind === 'word')
  }
}

/** Successive matches: at most `count`, or all for a negative count. */
export function allMatches(expression: Matcher, text: string, count: number, host: Host): number[][] {
  const matches: number[][] = []
  const limit = count < 0 ? text.length + 1 : count
  let previous = -1
  for (let at = 0; matches.length < limit && at <= text.length; ) {
    const found = expression.match(text, at, host)
    if (!found) break
    const [start, end] = found as [number, number]
    // No empty match right behind another match.
    if (end !== at || start !== previous) matches.push(found)
    at = end > at ? end : at + (text.codePointAt(at)! > 0xffff ? 2 : 1)
    previous = end
  }
  return matches
}

export function replaceMatches(
  expression: Matcher,
  text: string,
  by: (groups: number[]) => string,
  host: Host,
): string {
  let out = ''
  let last = 0
  for (const groups of allMatches(expression, text, -1, host)) {
    out += text.slice(last, groups[0]) + by(groups)
    checkLength(out.length, host)
    last = groups[1]!
  }
  return out + text.slice(last)
}

/** Go's Regexp.Expand: `$name`, `$1` (the longest possible name), `${name}` and `$$`. */
export function expand(
  template: string,
  text: string,
  groups: readonly number[],
  names: ReadonlyMap<string, number>,
): string {
  return template.replace(/\$(?:\$|\{(\w+)\}|(\w+))/g, (whole, braced?: string, bare?: string) => {
    if (whole === '$$') return '$'
    const name = braced ?? bare!
    const index = /^\d+$/.test(name) ? Number(name) : names.get(name)
    if (index === undefined || (groups[2 * index] ?? -1) < 0) return ''
    return text.slice(groups[2 * index], groups[2 * index + 1])
  })
}
