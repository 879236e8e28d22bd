import { type Json, parseVerbatim } from '../json/index.ts'

/** Undefined: the text is not an array or object of JSON. */
export function jsonIn(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return parseVerbatim(text)
  } catch {
    return undefined
  }
}
