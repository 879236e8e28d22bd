import { atOnce, groupBy, type Steps } from '../text/index.ts'
import { type Intent, intentOf, readQuery, type Term, type Vocabulary, wordsOfQuery } from './query.ts'
import { stemOf, stemsOf, wordsOf } from './stemming.ts'
import { synonyms } from './synonyms.ts'
import {
  FIELD_NAMES,
  FIELDS,
  type FieldName,
  type SearchableTool,
  type Texts,
  textsByField,
} from './tool-texts.ts'

interface SearchOptions {
  /** Results at most. */
  limit: number
  /** Whether a tool may be found, by its place in the list that was indexed. Default: all. */
  accepts?: ((at: number) => boolean) | undefined
}

interface Hit {
  /** Its place in the list that was indexed. */
  at: number
  /** Higher is better; comparable within one query only. */
  score: number
}

/** Why a tool was found: a word of the query, the words of the tool that it matched, and their fields. */
export interface Match {
  word: string
  matched: string
  fields: FieldName[]
}

/** A search index of tools. It depends on nothing but the tools. */
export interface ToolIndex {
  readonly tools: readonly SearchableTool[]
  /** Bytes of the lists that it consists of, without the tools. */
  readonly bytes: number
  /** Best first; ties by name. Several queries are merged by rank. */
  search(query: string | readonly string[], options: SearchOptions): Hit[]
  explain(query: string, at: number): Match[]
}

/** How fast further occurrences of a word stop counting (BM25's k1). */
const K1 = 4.5
/** Initial capacity in words. */
const INITIAL_WORDS = 1_024
/** Maximum penalty for the part of the query that a tool does not match. */
const COVERAGE = 0.35
/** The weight of a phrase when a tool has only a part of it. */
const PARTIAL_PHRASE = 0.15
/** Lowers the weight of rare words compared with BM25: most of those in a sentence are there by chance. */
const RARITY = 0.3
const DEPRECATED = 0.7
const DEPRECATION = /(?:^\W*|[.!?]\s)deprecated\b/i
/** Score factor of a writing tool for a reading query (`read`), and of a reading tool for a writing query. */
const OTHER_INTENT = { read: 0.6, write: 0.7 }
/** Penalty for each path segment: most queries are not about deeply nested resources. */
const DEPTH = 0.12
/** Results of each query that are merged with the others. */
const MERGED_RESULTS = 20

const FIELD_LIST = FIELD_NAMES.map((name) => FIELDS[name])

/** For each word the tools that have it, and how much it counts for each. */
interface Postings {
  vocabulary: ReadonlyMap<string, number>
  /** `starts[term]` to `starts[term + 1]` are its places in the lists. */
  starts: Uint32Array
  docs: Uint32Array
  impacts: Float32Array
}

export function createIndex(tools: readonly SearchableTool[]): ToolIndex {
  return atOnce(indexSteps(tools))
}

/** The same, with pauses. */
export function* indexSteps(tools: readonly SearchableTool[]): Steps<ToolIndex> {
  const postings = yield* postingsOf(tools)
  const { vocabulary, starts, docs, impacts } = postings
  const known = vocabularyOf(vocabulary, starts, tools.length)
  const meanings = synonyms()
  const factors = Float32Array.from(tools, factorOf)
  const intents = tools.map(intentOfTool)
  const order = rankOfNames(tools)
  const scorer = createScorer(postings, tools.length)

  function searchOne(query: string, { limit, accepts }: SearchOptions): Ranking {
    const words = wordsOfQuery(query)
    const terms = readQuery(words, known, meanings)
    const scores = scorer(terms)
    const intent = intentOf(words)
    const best: Hit[] = []
    for (let at = 0; at < scores.length; at++) {
      const other = intent && intents[at] && intent !== intents[at]
      const score = scores[at]! * factors[at]! * (other ? OTHER_INTENT[intent] : 1)
      if (score <= 0) continue
      const last = best.at(-1)
      if (best.length >= limit && last && !isBetter(score, order[at]!, last, order)) continue
      if (accepts && !accepts(at)) continue
      let place = best.length
      while (place > 0 && isBetter(score, order[at]!, best[place - 1]!, order)) place--
      best.splice(place, 0, { at, score })
      if (best.length > limit) best.pop()
    }
    const most = terms.reduce((sum, { share }) => sum + share, 0)
    return { hits: best, trust: best.length > 0 ? best[0]!.score / most : 0 }
  }

  return {
    tools,
    bytes: starts.byteLength + docs.byteLength + impacts.byteLength + factors.byteLength + order.byteLength,
    search(query, search) {
      if (typeof query === 'string') return searchOne(query, search).hits
      const limit = Math.max(search.limit, MERGED_RESULTS)
      const rankings = query.map((text) => searchOne(text, { ...search, limit }))
      return merged(rankings, order).slice(0, search.limit)
    },
    explain: (query, at) => explained(readQuery(wordsOfQuery(query), known, meanings), tools[at]!),
  }
}

function isBetter(score: number, rank: number, than: Hit, order: Uint32Array): boolean {
  return score > than.score || (score === than.score && rank < order[than.at]!)
}

/** Each tool's place by name. */
function rankOfNames(tools: readonly SearchableTool[]): Uint32Array {
  const sorted = tools.map(({ name }, at) => ({ name, at }))
  sorted.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.at - b.at))
  const order = new Uint32Array(tools.length)
  for (const [rank, { at }] of sorted.entries()) order[at] = rank
  return order
}

/** Results of a query, and the gap between the best one and a perfect score. */
interface Ranking {
  hits: Hit[]
  trust: number
}

/** Each query has a vote, divided by the rank: the first place of one that matches well counts most. */
function merged(rankings: readonly Ranking[], order: Uint32Array): Hit[] {
  const votes = new Map<number, number>()
  for (const { hits, trust } of rankings)
    for (const [rank, { at }] of hits.entries()) votes.set(at, (votes.get(at) ?? 0) + trust / (1 + rank))
  const hits = [...votes].map(([at, score]) => ({ at, score }))
  return hits.sort((a, b) => b.score - a.score || order[a.at]! - order[b.at]!)
}

/** Query-independent factor of a tool's score. */
function factorOf({ description = '', path = '' }: SearchableTool): number {
  const depth = path.slice(0, 1_000).split('/').filter(Boolean).length
  return (DEPRECATION.test(description.slice(0, 1_000)) ? DEPRECATED : 1) / Math.max(1, depth) ** DEPTH
}

function intentOfTool({ method }: SearchableTool): Intent {
  if (method === undefined) return undefined
  return /^(?:get|head)$/i.test(method) ? 'read' : 'write'
}

/**
 * The words of all tools, as the numbers of their stems. Typed arrays, because growing a long list of numbers blocks
 * the event loop.
 */
interface ToolTerms {
  /** One tool after the other, and of each tool one field after the other. */
  terms: Uint32Array
  /** Where in `terms` each field of each tool ends. */
  ends: Uint32Array
}

function* postingsOf(tools: readonly SearchableTool[]): Steps<Postings> {
  const vocabulary = new Map<string, number>()
  let terms = new Uint32Array(INITIAL_WORDS)
  let count = 0
  const ends = new Uint32Array(tools.length * FIELD_NAMES.length)
  // Tools of one API say the same of their arguments.
  const known = new Map<string, readonly number[]>()
  const addTerms = (text: string) => {
    const before = known.get(text)
    const said = before ?? stemsOf(text).map((stem) => numberOf(stem, vocabulary))
    if (!before) known.set(text, said)
    if (count + said.length > terms.length) {
      const larger = new Uint32Array(2 * (count + said.length))
      larger.set(terms)
      terms = larger
    }
    terms.set(said, count)
    count += said.length
  }
  let field = 0
  for (const tool of tools) {
    // Words of all tools together; tools beyond are found by their name alone.
    const texts = textsByField(count < 4_000_000 ? tool : { name: tool.name })
    for (const name of FIELD_NAMES) {
      for (const text of texts[name]) if (text !== '') addTerms(text)
      ends[field++] = count
    }
    yield
  }
  return yield* invert({ terms: terms.subarray(0, count), ends }, vocabulary, tools.length)
}

function numberOf(stem: string, vocabulary: Map<string, number>): number {
  const known = vocabulary.get(stem)
  if (known !== undefined) return known
  vocabulary.set(stem, vocabulary.size)
  return vocabulary.size - 1
}

function* invert(
  { terms, ends }: ToolTerms,
  vocabulary: ReadonlyMap<string, number>,
  size: number,
): Steps<Postings> {
  const averages = averagesOf(ends)
  /** How much each term counts in all fields, of one tool at a time. */
  const weights = new Float64Array(vocabulary.size)
  /** Distinct terms of each tool, one tool after the other; `weightsOfTools` has their weights. */
  const termsOfTools = new Uint32Array(terms.length)
  const weightsOfTools = new Float64Array(terms.length)
  let count = 0
  /** Where in `termsOfTools` the terms of each tool end. */
  const toolEnds = new Uint32Array(size)
  const starts = new Uint32Array(vocabulary.size + 1)

  function weigh(at: number): void {
    const first = count
    for (let f = 0; f < FIELD_LIST.length; f++) {
      const field = at * FIELD_LIST.length + f
      const start = startOf(field, ends)
      const end = ends[field]!
      const { weight, b } = FIELD_LIST[f]!
      const once = weight / (1 - b + b * ((end - start) / averages[f]!))
      for (let place = start; place < end; place++) {
        const term = terms[place]!
        if (weights[term] === 0) termsOfTools[count++] = term
        weights[term]! += once
      }
    }
    for (let i = first; i < count; i++) {
      const term = termsOfTools[i]!
      weightsOfTools[i] = weights[term]!
      weights[term] = 0
      starts[term + 1]!++
    }
    toolEnds[at] = count
  }

  for (let at = 0; at < size; at++) {
    weigh(at)
    yield
  }
  for (let term = 0; term < vocabulary.size; term++) starts[term + 1]! += starts[term]!
  const docs = new Uint32Array(count)
  const impacts = new Float32Array(count)
  const next = starts.slice()
  for (let at = 0; at < size; at++) {
    for (let i = startOf(at, toolEnds); i < toolEnds[at]!; i++) {
      const place = next[termsOfTools[i]!]!++
      docs[place] = at
      impacts[place] = weightsOfTools[i]! / (K1 + weightsOfTools[i]!)
    }
    yield
  }
  return { vocabulary, starts, docs, impacts }
}

/** Where a part begins, in a list of the ends of parts. */
function startOf(part: number, ends: Uint32Array): number {
  return part === 0 ? 0 : ends[part - 1]!
}

/** Words of each field, on average of the tools that have any. @param ends of each field of each tool */
function averagesOf(ends: Uint32Array): number[] {
  const sums = FIELD_LIST.map(() => 0)
  const counts = FIELD_LIST.map(() => 0)
  for (let field = 0; field < ends.length; field++) {
    const length = ends[field]! - startOf(field, ends)
    sums[field % FIELD_LIST.length]! += length
    if (length > 0) counts[field % FIELD_LIST.length]!++
  }
  return sums.map((sum, f) => sum / (counts[f] || 1))
}

function vocabularyOf(
  vocabulary: ReadonlyMap<string, number>,
  starts: Uint32Array,
  tools: number,
): Vocabulary {
  let byLength: Map<number, string[]> | undefined
  const rarities = new Map<number, number>()
  const rarity = (size: number) => {
    const known = rarities.get(size)
    if (known !== undefined) return known
    const made = Math.log(1 + (tools - Math.min(size, tools) + 0.5) / (size + 0.5)) ** RARITY
    rarities.set(size, made)
    return made
  }
  const sizeOf = (term: number) => starts[term + 1]! - starts[term]!
  return {
    termOf: (stem) => vocabulary.get(stem),
    ofLength(length) {
      byLength ??= groupBy(vocabulary.keys(), ({ length }) => length)
      return byLength.get(length) ?? []
    },
    sizeOf,
    rarity,
    meanings: new Map(),
  }
}

/**
 * Scores every tool: of each term of the query the best alternative counts. The list is used again by the next call.
 */
function createScorer(
  { starts, docs, impacts }: Postings,
  size: number,
): (terms: readonly Term[]) => Float64Array {
  const scores = new Float64Array(size)
  const covered = new Float64Array(size)
  const best = new Float64Array(size)
  const sums = new Float64Array(size)
  const found = new Uint8Array(size)

  function addAlternative({ terms, weight }: Term['alternatives'][number]): void {
    for (const { term, rarity } of terms)
      for (let place = starts[term]!; place < starts[term + 1]!; place++) {
        const at = docs[place]!
        sums[at]! += rarity * impacts[place]!
        found[at]!++
      }
    for (const { term } of terms)
      for (let place = starts[term]!; place < starts[term + 1]!; place++) {
        const at = docs[place]!
        if (found[at] === 0) continue
        // A part of a phrase says little.
        const score = weight * sums[at]! * (found[at] === terms.length ? 1 : PARTIAL_PHRASE)
        if (score > best[at]!) best[at] = score
        sums[at] = 0
        found[at] = 0
      }
  }

  return (terms) => {
    scores.fill(0)
    covered.fill(0)
    let whole = 0
    for (const { alternatives, share } of terms) {
      best.fill(0)
      whole += share
      for (const alternative of alternatives) addAlternative(alternative)
      for (let at = 0; at < size; at++)
        if (best[at]! > 0) {
          scores[at]! += best[at]!
          covered[at]! += share
        }
    }
    for (let at = 0; at < size; at++)
      if (scores[at]! > 0) scores[at]! *= 1 - COVERAGE * (1 - covered[at]! / whole)
    return scores
  }
}

function explained(terms: readonly Term[], tool: SearchableTool): Match[] {
  const texts = textsByField(tool)
  const stems = FIELD_NAMES.map((name) => ({ name, all: new Set(texts[name].flatMap(stemsOf)) }))
  const fieldsOf = (stem: string) => stems.filter(({ all }) => all.has(stem)).map(({ name }) => name)
  const worth = ({ terms, stems: own, weight }: Term['alternatives'][number]) =>
    own.reduce((sum, stem, i) => {
      const said = fieldsOf(stem).reduce((total, name) => total + FIELDS[name].weight, 0)
      return said === 0 ? Number.NEGATIVE_INFINITY : sum + (weight * terms[i]!.rarity * said) / (K1 + said)
    }, 0)
  return terms.flatMap(({ word, alternatives }) => {
    const [best] = alternatives
      .map((one) => ({ one, value: worth(one) }))
      .filter(({ value }) => value > 0)
      .sort((a, b) => b.value - a.value)
    if (!best) return []
    const own = best.one.stems
    const fields = FIELD_NAMES.filter((name) => own.some((stem) => fieldsOf(stem).includes(name)))
    return [{ word, matched: own.map((stem) => writtenAs(stem, texts)).join(' '), fields }]
  })
}

/** A tool's word with this stem; the stem itself if it is part of a longer name. */
function writtenAs(stem: string, texts: Texts): string {
  for (const name of FIELD_NAMES)
    for (const text of texts[name]) for (const word of wordsOf(text)) if (stemOf(word) === stem) return word
  return stem
}
