import { nearest, oneEditAway } from '../../text/index.ts'

/** Keywords that stand alone in their action, and those that something follows. */
const ALONE = ['end', 'else', 'break', 'continue']
const LEADING = ['if', 'else', 'range', 'with', 'define', 'template', 'block']
export const KEYWORDS = [...new Set([...ALONE, ...LEADING])]

/**
 * The keyword that the first word of an action most likely means.
 * @param action with its braces
 */
export function nearestKeyword(word: string, action: string): string | undefined {
  if (word.length < 2 || !new RegExp(`^\\{\\{-?\\s*${word}(?![\\w.])`).test(action)) return undefined
  const alone = new RegExp(`^\\{\\{-?\\s*${word}\\s*-?\\}\\}`).test(action)
  const keywords = alone ? ALONE : LEADING
  return oneEditAway(word, keywords) ?? nearest(word, keywords)
}
