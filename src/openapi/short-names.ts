import { namer, toolName } from './tool-names.ts'

/** An operation whose tool needs a name. */
export interface Unnamed {
  id: string | undefined
  method: string
  path: string
  /** Name of its server, which may be a prefix of the tool's. */
  server: string
}

/** Maximum characters of names in clients, and of the separator between server and tool. */
const MAX_NAME = 64
const BETWEEN = 2
/** Names are not shortened below this length. */
const LEAST = 24

/**
 * Unique names for the tools of operations, in order: the whole name if it fits with the server's, else the longest
 * form without less important words.
 */
export function toolNames(operations: readonly Unnamed[]): { names: string[]; shortened: number } {
  const unique = namer()
  const taken = new Set<string>()
  const take = (name: string) => {
    taken.add(name.toLowerCase())
    return name
  }
  const wanted = operations.map(({ id, method, path }) => toolName(id, method, path))
  const longest = operations.map(({ server }) => Math.max(LEAST, MAX_NAME - BETWEEN - server.length))
  // Whole names first, so that no shortened form takes one.
  const names = wanted.map((name, i) => (name.length <= longest[i]! ? take(unique(name)) : ''))
  let shortened = 0
  for (const [i, operation] of operations.entries()) {
    if (names[i] !== '') continue
    shortened++
    const fits = (name: string) => name.length <= longest[i]!
    const isFree = (name: string) => fits(name) && !taken.has(name.toLowerCase())
    // Names that differ only by their servers get a number.
    const numbered = (name: string) => fits(`${name}_2`)
    const found = first(forms(wanted[i]!, operation), isFree) ?? first(forms(wanted[i]!, operation), numbered)
    names[i] = take(unique(found ?? wanted[i]!, longest[i]))
  }
  return { names, shortened }
}

function first<T>(all: Iterable<T>, test: (one: T) => boolean): T | undefined {
  for (const one of all) if (test(one)) return one
  return undefined
}

/** A word of a name, with the preceding separator. */
interface Word {
  text: string
  mark: string
}

const FILLERS = new Set('a an and api at by for from in its of on or the to with'.split(' '))
/** Words whose removal would change or widen the meaning. */
const TELLING = new Set(
  'all any batch bulk collection each every except force many multiple non not only permanently without'.split(
    ' ',
  ),
)
/** Common abbreviations. */
const SHORT = new Map(
  (
    'organization:org organizations:orgs repository:repo repositories:repos environment:env environments:envs ' +
    'configuration:config configurations:configs authentication:auth application:app applications:apps ' +
    'information:info administrator:admin administrators:admins administration:admin certificate:cert ' +
    'certificates:certs permission:perm permissions:perms document:doc documents:docs reference:ref references:refs ' +
    'identifier:id parameter:param parameters:params management:mgmt specification:spec development:dev ' +
    'directory:dir statistics:stats synchronization:sync description:desc attribute:attr attributes:attrs ' +
    'properties:props'
  )
    .split(' ')
    .map((pair) => pair.split(':') as [string, string]),
)

/** Ever shorter forms of a name, which keep the first and last word. */
function* forms(name: string, { path, server }: Unnamed): Generator<string> {
  const all = wordsOf(name)
  if (all.length < 2 || all.length > 40) return
  const ofServer = new Set(wordsOf(server).map(({ text }) => singular(text)))
  const inside = (keep: (word: Word) => boolean) => (words: Word[]) =>
    without(words, (i) => i > 0 && i < words.length - 1 && !keep(words[i]!) && !isTelling(words[i]!))
  const steps: ((words: Word[]) => Word[])[] = [
    (words) => withoutParameters(words, path),
    (words) => withoutStart(words, ofServer),
    inside(({ text }) => !FILLERS.has(text.toLowerCase())),
    (words) => words.map(({ text, mark }) => ({ mark, text: abbreviated(text) })),
    inside(({ text }) => !ofServer.has(singular(text))),
    withoutRepeats,
  ]
  const made = [all]
  for (const step of steps) {
    const words = step(made.at(-1)!)
    if (words.length < 2) break
    made.push(words)
    yield textOf(words)
  }
  // Then sequences of words, as few as possible.
  const last = made.at(-1)!
  for (const mayGo of [(word: Word) => !isTelling(word), () => true])
    for (let count = 1; count <= last.length - 2; count++)
      for (let from = 1; from + count < last.length; from++)
        if (last.slice(from, from + count).every(mayGo))
          yield textOf(without(last, (i) => i >= from && i < from + count))
}

function isTelling({ text }: Word): boolean {
  return TELLING.has(text.toLowerCase())
}

function wordsOf(name: string): Word[] {
  const words: Word[] = []
  let mark = ''
  for (const [part] of name.matchAll(/[_-]+|[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+/g)) {
    const isMark = part.startsWith('_') || part.startsWith('-')
    if (!isMark) words.push({ mark, text: part })
    mark = isMark ? part : ''
  }
  return words
}

function textOf(words: readonly Word[]): string {
  return words.map(({ mark, text }, i) => (i === 0 ? text : mark + text)).join('')
}

function singular(text: string): string {
  return text.toLowerCase().replace(/(?<=[a-z]{2})s$/, '')
}

/** Removes words; the separator before a removed word moves to the next one. */
function without(words: readonly Word[], goes: (index: number) => boolean): Word[] {
  const left: Word[] = []
  let mark = ''
  for (const [i, word] of words.entries()) {
    if (goes(i)) mark ||= word.mark
    else {
      left.push({ ...word, mark: word.mark || mark })
      mark = ''
    }
  }
  return left
}

/** Removes `by_` and parameter names, except the last in the path. */
function withoutParameters(words: readonly Word[], path: string): Word[] {
  const names = [...path.matchAll(/\{([^{}]*)\}(?!$)/g)].map(([, name = '']) => wordsOf(name))
  const goes = new Set<number>()
  let from = 1
  for (const name of names) {
    const isHere = (at: number) =>
      words[at]!.text.toLowerCase() === 'by' &&
      name.every(({ text }, i) => words[at + 1 + i]?.text.toLowerCase() === text.toLowerCase())
    const at = words.findIndex((_, i) => i >= from && name.length > 0 && isHere(i))
    if (at < 0) continue
    from = at + 1 + name.length
    // The last word stays.
    if (from < words.length) for (let i = at; i < from; i++) goes.add(i)
  }
  return without(words, (i) => goes.has(i))
}

/** Removes leading words that repeat the server's name: `actions_list-runners` of `github-actions`. */
function withoutStart(words: readonly Word[], ofServer: ReadonlySet<string>): Word[] {
  let count = 0
  while (count < words.length - 2 && ofServer.has(singular(words[count]!.text))) count++
  const isLower = /^[a-z]/.test(words[0]!.text)
  return without(words, (i) => i < count).map((word, i) =>
    i === 0 && isLower && count > 0
      ? { ...word, text: word.text[0]!.toLowerCase() + word.text.slice(1) }
      : word,
  )
}

function withoutRepeats(words: readonly Word[]): Word[] {
  const seen = new Set<string>()
  return without(words, (i) => {
    const word = words[i]!.text.toLowerCase()
    const again = seen.has(word)
    seen.add(word)
    return again && i < words.length - 1
  })
}

function abbreviated(text: string): string {
  const short = SHORT.get(text.toLowerCase())
  if (short === undefined) return text
  return /^[A-Z]/.test(text) ? short[0]!.toUpperCase() + short.slice(1) : short
}
