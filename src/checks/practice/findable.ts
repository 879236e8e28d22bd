import type { Configuration, Tool } from '../../config/index.ts'
import { createIndex, firstSentence, STOP_WORDS, searchable, stemOf, wordsOf } from '../../discovery/index.ts'
import type { Reporter } from '../../findings/index.ts'
import { isObject } from '../../json/index.ts'
import { groupBy, quote } from '../../text/index.ts'
import type { Context } from '../check.ts'

/** Checks for tools that search cannot find or distinguish. */
export function checkFindable(configuration: Configuration, report: Reporter, context: Context) {
  const alike = checkDistinct(configuration, report, context)
  checkFound(configuration, alike, report, context)
}

/** Number of results that should contain the tool. */
const AMONG = 5

function checkFound(
  { tools }: Configuration,
  alike: ReadonlySet<number>,
  report: Reporter,
  { isRepaired }: Context,
) {
  if (tools.length <= AMONG) return
  const index = createIndex(tools.map((tool) => searchable(tool)))
  for (const [i, { name, description = '' }] of tools.entries()) {
    const [sentence] = firstSentence(description)
    if (sentence === '' || alike.has(i) || isRepaired(['tools', i])) continue
    const hits = index.search(sentence, { limit: AMONG })
    if (hits.some(({ at }) => at === i)) continue
    const others = hits.slice(0, 2).map(({ at }) => quote(tools[at]!.name))
    report({
      code: 'hard-to-find',
      path: ['tools', i, 'description'],
      message: `a search for the first sentence of ${quote(name)} finds ${AMONG} other tools first${others.length > 0 ? `, such as ${others.join(' and ')}` : ''}`,
      hint: 'Write into the first sentence what only this tool does, or add `keywords`',
    })
  }
}

/** Reports each set of tools with equal words once. @returns the tools of all sets */
function checkDistinct({ tools }: Configuration, report: Reporter, { isRepaired }: Context): Set<number> {
  const described = [...tools.keys()].filter(
    (i) => tools[i]!.description !== undefined && !isRepaired(['tools', i]),
  )
  // Most names are unique, so few tools need a full comparison.
  const alike = withSame((i) => wordsOfName(tools[i]!), described).flatMap((set) =>
    withSame((i) => otherWords(tools[i]!), set),
  )
  for (const [first, second, ...more] of alike as [number, number, ...number[]][]) {
    // Equal names have a finding of their own.
    if (tools[first]!.name === tools[second]!.name) continue
    const [one, other] = [quote(tools[first]!.name), quote(tools[second]!.name)]
    const rest = more.length > 0 ? ` (and from ${more.length} more)` : ''
    report({
      code: 'indistinct-tools',
      path: ['tools', second, 'name'],
      message: `no query tells ${other} from ${one}${rest}: their names, descriptions and arguments have the same words`,
      hint: 'Say in the description when to use which, or remove one of the two',
      related: { path: ['tools', first, 'name'], message: 'the other one' },
    })
  }
  return new Set(alike.flat())
}

/** Sets of at least two tools with equal words. */
function withSame(words: (tool: number) => string, tools: readonly number[]): number[][] {
  return [...groupBy(tools, words).values()].filter(({ length }) => length > 1)
}

/** Stems of a tool's name as a key, without numbers and versions, which users do not search for. */
function wordsOfName({ name }: Tool): string {
  const stems = wordsOf(name).map(stemOf)
  return JSON.stringify(stems.filter((stem) => !/^v?\d+$/.test(stem)).sort())
}

/** Other searchable words of a tool, as a key. */
function otherWords({ title = '', description = '', keywords = [], args, inputSchema }: Tool): string {
  const properties = isObject(inputSchema?.properties) ? Object.keys(inputSchema.properties) : []
  const taken = [...args.map((arg) => arg.name), ...properties].sort()
  return JSON.stringify([stems(title), stems(description), stems(keywords.join(' ')), taken])
}

/** Stems without stop words. */
function stems(text: string): string[] {
  const words = wordsOf(text).filter((word) => !STOP_WORDS.has(word))
  return words.map(stemOf).sort()
}
