import { groupBy, isOneEdit } from '../text/index.ts'
import { STOP_WORDS, stemOf, wordsOf } from './stemming.ts'
import { type Synonyms, withoutFillers } from './synonyms.ts'

/** Statistics of an index about its words. */
export interface Vocabulary {
  termOf(stem: string): number | undefined
  ofLength(length: number): readonly string[]
  sizeOf(term: number): number
  /** Weight of a word that `size` tools have. */
  rarity(size: number): number
  /** Alternatives of the phrases that were looked up: queries about one API use few words. */
  readonly meanings: Map<string, readonly Alternative[]>
}

/** Words that together may replace a part of a query. */
interface Alternative {
  terms: readonly { term: number; rarity: number }[]
  stems: readonly string[]
  weight: number
}

/** A part of a query: a word, or a phrase with a meaning of its own. */
export interface Term {
  word: string
  /** How much of the query it is. */
  share: number
  alternatives: readonly Alternative[]
}

/** Weight of a word that is not the query's own. */
const SYNONYM = 0.85
const MISSPELT = 0.8
/** Minimum letters of a word for which misspellings are searched, with one letter changed. */
const MIN_CORRECTED_LENGTH = 4

/** Particles that may be separated from their verb: `throw the old one away`. */
const PARTICLES: ReadonlySet<string> = new Set('away back down in off on out over up'.split(' '))

const NONE: readonly never[] = []

/** The words of a query: work is bounded however long the text is. */
export function wordsOfQuery(query: string): readonly string[] {
  return wordsOf(query.slice(0, 1_000), 24)
}

/** The terms of a query, each word with its alternatives. @param given from `wordsOfQuery` */
export function readQuery(given: readonly string[], vocabulary: Vocabulary, synonyms: Synonyms): Term[] {
  const words = withoutFillers(given)
  const stems = words.map(stemOf)
  const terms: Term[] = []
  const phrases = phrasesOf(words, stems, synonyms)
  for (const places of phrases) {
    const own = places.map((i) => stems[i]!)
    const word = places.map((i) => words[i]).join(' ')
    const term = termOf(word, own, meaningsOf(own.join(' '), synonyms, vocabulary), vocabulary)
    if (term) terms.push(term)
  }
  const covered = new Set(phrases.flat())
  const only = terms.length === 0 && words.every((word) => STOP_WORDS.has(word))
  let corrected = 0
  const joined = joinedWords(words, vocabulary)
  for (const [i, word] of words.entries()) {
    const stem = stems[i]!
    const own = only || !STOP_WORDS.has(word) ? [stem] : []
    // A stop word counts only if it stands for another word.
    if (!only && (covered.has(i) || (own.length === 0 && synonyms.of(stem).length === 0))) continue
    const meanings = meaningsOf(stem, synonyms, vocabulary)
    const others = joined[i]!.length > 0 ? [...joined[i]!, ...meanings] : meanings
    const term = termOf(word, own, others, vocabulary)
    if (term) terms.push(term)
    else if (stem.length >= MIN_CORRECTED_LENGTH && corrected++ < 4) {
      const near = nearStems(stem, vocabulary).map((one) => alternative([one], MISSPELT, vocabulary)!)
      if (near.length > 0) terms.push({ word, share: shareOf(near), alternatives: near })
    }
  }
  return terms
}

/** Phrases with their own meanings, the longest first; a verb and its particle may be separated. */
function phrasesOf(
  words: readonly string[],
  stems: readonly string[],
  { of, longestFrom }: Synonyms,
): (readonly number[])[] {
  const lengths = stems.map((stem, at) => Math.min(longestFrom(stem), words.length - at))
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0)
  if (longest < 2) return []
  const found: (readonly number[])[] = []
  const taken = words.map(() => false)
  const take = (places: readonly number[]) => {
    if (places.some((i) => taken[i]) || of(places.map((i) => stems[i]).join(' ')).length === 0) return
    for (const i of places) taken[i] = true
    found.push(places)
  }
  for (let length = longest; length > 1; length--)
    for (let at = 0; at + length <= words.length; at++)
      if (length <= lengths[at]!) take(placesFrom(at, length))
  for (const [i, word] of words.entries())
    if (PARTICLES.has(word))
      for (let at = i - 2; at >= Math.max(0, i - 5); at--) if (lengths[at]! > 1) take([at, i])
  return found
}

function placesFrom(at: number, length: number): number[] {
  const places: number[] = []
  for (let i = at; i < at + length; i++) places.push(i)
  return places
}

/** Compounds of each word with its neighbours, if tools have them: `configmap` for `config map`. */
function joinedWords(words: readonly string[], vocabulary: Vocabulary): (readonly Alternative[])[] {
  const joined: (readonly Alternative[])[] = words.map(() => NONE)
  for (let i = 1; i < words.length; i++) {
    const pair = alternative([stemOf(words[i - 1]! + words[i]!)], SYNONYM, vocabulary)
    if (pair) for (const at of [i - 1, i]) joined[at] = [...joined[at]!, pair]
  }
  return joined
}

/** The synonyms of a word or phrase, by its stems, that tools have. */
function meaningsOf(phrase: string, synonyms: Synonyms, vocabulary: Vocabulary): readonly Alternative[] {
  const others = synonyms.of(phrase)
  if (others.length === 0) return NONE
  const known = vocabulary.meanings.get(phrase)
  if (known) return known
  const made = others.flatMap((stems) => alternative(stems, SYNONYM, vocabulary) ?? NONE)
  if (vocabulary.meanings.size >= 1_000) vocabulary.meanings.clear()
  vocabulary.meanings.set(phrase, made)
  return made
}

function termOf(
  word: string,
  own: readonly string[],
  others: readonly Alternative[],
  vocabulary: Vocabulary,
): Term | undefined {
  const itself = own.length > 0 ? alternative(own, 1, vocabulary) : undefined
  if (others.length === 0) return itself && { word, share: shareOf([itself]), alternatives: [itself] }
  // An alternative that stands for many words is as unspecific as a frequent word.
  const size = others.reduce(
    (sum, { terms }) => sum + Math.min(...terms.map(({ term }) => vocabulary.sizeOf(term))),
    0,
  )
  const most = vocabulary.rarity(size)
  const bounded = others.map((one) => ({
    ...one,
    terms: one.terms.map(({ term, rarity }) => ({ term, rarity: Math.min(rarity, most) })),
  }))
  const alternatives = itself ? [itself, ...bounded] : bounded
  return { word, share: shareOf(alternatives), alternatives }
}

/** Undefined when no tool has one of the words. */
function alternative(
  stems: readonly string[],
  weight: number,
  { termOf, rarity, sizeOf }: Vocabulary,
): Alternative | undefined {
  if (stems.some((stem) => termOf(stem) === undefined)) return undefined
  const terms = stems.map((stem) => {
    const term = termOf(stem)!
    return { term, rarity: rarity(sizeOf(term)) }
  })
  return { terms, stems, weight }
}

function shareOf(alternatives: readonly Alternative[]): number {
  return alternatives[0]!.terms.reduce((most, { rarity }) => Math.max(most, rarity), 0)
}

function nearStems(stem: string, { ofLength }: Vocabulary): string[] {
  const near: string[] = []
  for (const length of [stem.length, stem.length + 1, stem.length - 1])
    for (const other of ofLength(length)) {
      if (near.length >= 4) return near
      // Comparing only words that share one of the first two letters keeps this fast.
      if ((other[0] === stem[0] || other[1] === stem[1]) && isOneEdit(stem, other)) near.push(other)
    }
  return near
}

/** Whether a query wants to know or to change something; undefined: unclear. */
export type Intent = 'read' | 'write' | undefined

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/))

/** Opening phrases of requests, by first word. */
const OPENINGS = groupBy(
  `please,hi,hello,hey,ok,so,can you,could you,would you,will you,how do i,how do we,how can i,how can we,how to,is there a way to,
i want to,we want to,i need to,we need to,i have to,we have to,i would like to,we would like to,id like to,i am trying to,help me`
    .split(/,\s*/)
    .map((opening) => opening.split(' ')),
  ([first]) => first!,
)

/** First words of a question. */
const QUESTION_WORDS = setOf(
  `what whats which who whos whom whose where when why how is are was were did does has am may any show list get find look see read
  fetch view search browse display retrieve download count check describe lookup query preview compare export`,
)
/** First words of two-word questions, unlike `do not delete it`. */
const ASKING_WITH = setOf('do have tell')
const ASKED = setOf('i we you they people me us')

/** First words of requests for a change, except nouns of APIs. */
const CHANGE_VERBS = setOf(
  `create add make set update edit change modify delete remove drop destroy cancel stop kill start close open reopen send put write
  upload move rename merge approve accept reject deny decline invite kick archive unarchive restore enable disable lock unlock assign
  unassign schedule publish submit run trigger restart rerun retry give take pay void attach detach scale evict patch replace register
  connect disconnect block unblock ban revoke reset join leave save store share keep turn throw protect grant limit restrict log hide
  convert finish complete resolve reply answer comment tag label pause resume suspend fork clone copy import install uninstall sign
  verify capture confirm finalize expire subscribe unsubscribe follow unfollow mute snooze react`,
)
/** Words of statements, which imply a wish for change. */
const STATEMENT_WORDS = setOf(
  `i we he she they it you me us him them my our his her their your this that must should shall not no nobody never wants needs is are
  was were will has have do does did please let everybody somebody`,
)

/** @param given words of a query */
export function intentOf(given: readonly string[]): Intent {
  let words = given
  for (let opening: readonly string[] | undefined = []; opening; ) {
    words = words.slice(opening.length)
    opening = OPENINGS.get(words[0] ?? '')?.find((one) => one.every((word, i) => word === words[i]))
  }
  const [first = '', second = ''] = words
  if (QUESTION_WORDS.has(first) || (ASKING_WITH.has(first) && ASKED.has(second))) return 'read'
  return CHANGE_VERBS.has(first) || words.some((word) => STATEMENT_WORDS.has(word)) ? 'write' : undefined
}
