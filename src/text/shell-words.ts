/** White space, a comment of no use here, and quoted or plain pieces of words, as POSIX shells read them. */
const PIECE = /(\s+)|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)/gy
/** What a shell does something with, outside of quotes: pipes, redirections, lists, substitutions and patterns. */
const SHELL_ONLY = /[|&;<>()`]|\$[({]/

/**
 * The words of a command line, split as a POSIX shell splits them; variables stay as they are.
 * @returns undefined where a quote is not closed, or where only a shell can say what is meant
 */
export function shellWords(line: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let end = 0
  for (const match of line.matchAll(PIECE)) {
    const [whole, blank, single, double, escaped, plain] = match
    end = match.index + whole.length
    if (blank !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      if (plain !== undefined && SHELL_ONLY.test(plain)) return undefined
      // A line break behind a backslash joins two lines.
      const own =
        escaped === '\n' ? '' : (escaped ?? single ?? plain ?? double?.replace(/\\([\\"$`])|\\\n/g, '$1'))
      if (escaped !== '\n' || word !== undefined) word = (word ?? '') + own
    }
  }
  if (end < line.length) return undefined
  if (word !== undefined) words.push(word)
  return words
}
