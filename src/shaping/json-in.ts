import { type Json, JsonLimitError, parseVerbatim } from '../json/index.ts'

/** Undefined: the text is not a JSON array or object. */
export function jsonIn(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return parseVerbatim(text)
  } catch {
    return undefined
  }
}

/** Why a text that looks like JSON cannot be parsed; undefined: it can, or is something else. */
export function jsonLimitOf(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    parseVerbatim(text)
  } catch (error) {
    if (error instanceof JsonLimitError) return error.message
  }
  return undefined
}
