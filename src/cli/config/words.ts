import type { Conflict } from '../../store/index.ts'

/** What is said of a change that is based on another version than the store holds. */
export function conflictLine({ name, expected, found }: Conflict): string {
  const read = expected === undefined ? 'based on there being none' : `based on version ${expected}`
  const holds =
    found === undefined ? 'the store does not hold it any more' : `the store holds version ${found}`
  return `${JSON.stringify(name)} was changed by somebody else: ${read}, ${holds}; nothing was written`
}
