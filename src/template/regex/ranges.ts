/** Code points as pairs of first and last, ascending and apart: `[48, 57, 97, 122]` is `[0-9a-z]`. */
export type Ranges = readonly number[]

export const LAST = 0x10ffff
/** `\w`. */
export const WORD: Ranges = [48, 57, 65, 90, 95, 95, 97, 122]

/** The same code points as ascending pairs that neither touch nor overlap. */
export function normalized(pairs: Ranges): Ranges {
  const sorted: [number, number][] = []
  for (let at = 0; at < pairs.length; at += 2) sorted.push([pairs[at]!, pairs[at + 1]!])
  sorted.sort((a, b) => a[0] - b[0])
  const made: number[] = []
  for (const [low, high] of sorted) {
    const end = made.length - 1
    if (end > 0 && low <= made[end]! + 1) made[end] = Math.max(made[end]!, high)
    else made.push(low, high)
  }
  return made
}

/** Every code point that is not in the ranges. */
export function inverted(ranges: Ranges): Ranges {
  const made: number[] = []
  let next = 0
  for (let at = 0; at < ranges.length; at += 2) {
    if (ranges[at]! > next) made.push(next, ranges[at]! - 1)
    next = ranges[at + 1]! + 1
  }
  if (next <= LAST) made.push(next, LAST)
  return made
}

const properties = new Map<string, Ranges>()
let everyCharacter: string | undefined

/** The code points of `\p{name}`, as the runtime's Unicode data has them; the name must be one that it knows. */
export function propertyRanges(name: string): Ranges {
  let known = properties.get(name)
  if (!known) {
    known = readProperty(name)
    properties.set(name, known)
  }
  return known
}

function readProperty(name: string): Ranges {
  everyCharacter ??= Array.from({ length: LAST + 1 }, (_, code) =>
    code >= 0xd800 && code <= 0xdfff ? ' ' : String.fromCodePoint(code),
  ).join('')
  const made: number[] = []
  const runs = new RegExp(`\\p{${name}}+`, 'gu')
  for (const { 0: run, index } of everyCharacter.matchAll(runs)) {
    const low = codeAt(index)
    made.push(low, codeAt(index + run.length) - 1)
  }
  return surrogates(name, made)
}

/** Which code point begins at an offset of `everyCharacter`. */
function codeAt(offset: number): number {
  return offset <= 0x10000 ? offset : 0x10000 + (offset - 0x10000) / 2
}

/** Halves of pairs have all the same properties; the text of all characters holds spaces in their place. */
function surrogates(name: string, ranges: Ranges): Ranges {
  const apart =
    ranges.length === 0 ? [] : inverted(normalized([...inverted(normalized(ranges)), 0xd800, 0xdfff]))
  return new RegExp(`^\\p{${name}}$`, 'u').test('\ud800') ? normalized([...apart, 0xd800, 0xdfff]) : apart
}
