import { type Json, parse, withoutComments } from '../json/index.ts'

/** JSON as people write it into tools, with comments; undefined: it is none. */
export function jsonOf(text: string): Json | undefined {
  try {
    return parse(withoutComments(text)?.text ?? text)
  } catch {
    return undefined
  }
}
