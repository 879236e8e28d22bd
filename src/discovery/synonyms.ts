import { stemOf, wordsOf } from './stemming.ts'
import TABLE from './synonyms.json' with { type: 'json' }

/** A group member: the stems of its words. */
type Phrase = readonly string[]

/** Other words for phrases. */
export interface Synonyms {
  /** Words of the longest phrase that begins with the stem; 0: none does. */
  longestFrom(stem: string): number
  /** The phrases that mean about the same, by the stems of a phrase, joined by spaces. */
  of(phrase: string): readonly Phrase[]
}

/** Words inside a phrase that do not change its meaning: `throw the old one away`. */
const FILLERS: ReadonlySet<string> = new Set(
  'a an the my our your her his its their this that these those me us him them it'.split(' '),
)

let table: Synonyms | undefined

/**
 * The synonyms in `synonyms.json`. Each line is one meaning: either words that stand for each other, or `words of
 * APIs = words of people`, where those of people also stand for those of APIs, but not the other way. A word may be
 * in several lines. Articles in a phrase are ignored.
 */
export function synonyms(): Synonyms {
  table ??= read([...TABLE.groups, ...TABLE.generic, ...TABLE.domains].map(lineOf))
  return table
}

/** Without fillers, unless there is nothing else. */
export function withoutFillers(words: readonly string[]): readonly string[] {
  const rest = words.filter((word) => !FILLERS.has(word))
  return rest.length > 0 ? rest : words
}

/** A meaning, and the words for it. */
type Line = readonly [meant: readonly string[], said: readonly string[]]

function lineOf(text: string): Line {
  const [meant, said = meant] = text.split(' = ').map((part) => part.split(','))
  return [meant!, said!]
}

function read(lines: readonly Line[]): Synonyms {
  const map = new Map<string, Map<string, Phrase>>()
  for (const [meant, said] of lines) {
    const phrases = phrasesOf(meant)
    for (const [key] of said === meant ? phrases : phrasesOf(said)) {
      const others = map.get(key) ?? new Map<string, Phrase>()
      for (const [other, phrase] of phrases) if (other !== key) others.set(other, phrase)
      map.set(key, others)
    }
  }
  const phrases = new Map([...map].map(([key, others]) => [key, [...others.values()]]))
  const longest = new Map<string, number>()
  for (const key of phrases.keys()) {
    const stems = key.split(' ')
    longest.set(stems[0]!, Math.max(stems.length, longest.get(stems[0]!) ?? 0))
  }
  return { longestFrom: (stem) => longest.get(stem) ?? 0, of: (phrase) => phrases.get(phrase) ?? [] }
}

function phrasesOf(texts: readonly string[]): [key: string, phrase: Phrase][] {
  return texts.flatMap((text) => {
    const phrase = withoutFillers(wordsOf(text)).map(stemOf)
    return phrase.length > 0 ? [[phrase.join(' '), phrase] as [string, Phrase]] : []
  })
}
