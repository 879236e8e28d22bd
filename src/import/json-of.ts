import { type Json, parse, withoutComments } from '../json/index.ts'

/** JSON with comments, as people write it; undefined if invalid. */
export function jsonOf(text: string): Json | undefined {
  try {
    return parse(withoutComments(text)?.text ?? text)
  } catch {
    return undefined
  }
}
