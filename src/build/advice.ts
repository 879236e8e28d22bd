import { lintPractice, secretsIn } from '../checks/practice/index.ts'
import { qualifiedName, type ReadConfiguration } from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import { counted, numberText, tokensIn } from '../text/index.ts'
import type { Prepared } from './types.ts'

export type PracticeOptions = Parameters<typeof lintPractice>[1] & CostOptions

/** Warnings about bad practice in a configuration. */
export function adviceOn(
  read: ReadConfiguration,
  prepared: ReadonlyMap<string, Prepared>,
  options: PracticeOptions,
): Finding[] {
  const secrets = isForeign(read) ? [] : secretsIn(read)
  return [...secrets, ...lintPractice(read, options), ...costsOf(read, prepared, options)]
}

/** Findings in a file of another kind are no mistakes. */
export function isForeign({ findings }: Pick<ReadConfiguration, 'findings'>): boolean {
  return findings.some(({ code }) => code === 'wrong-file')
}

interface CostOptions {
  /** Tokens of a prefix's `tools/list`. Default 10,000; 0 tells the cost of every prefix. */
  toolListTokens?: number
}

/**
 * Token cost of `tools/list` of each prefix, if above the limit. The cost of proxied servers is known only when
 * they run.
 */
function costsOf(
  read: ReadConfiguration,
  prepared: ReadonlyMap<string, Prepared>,
  { toolListTokens = 10_000 }: CostOptions,
): Finding[] {
  const { configuration, file } = read
  const own = configuration && prepared.get(qualifiedName(configuration))
  if (!own || own.file !== file) return []
  return configuration.routers.flatMap(({ prefix, discovery: { type, above } }, i) => {
    const route = own.routes.find((one) => one.prefix === (prefix === '/' ? '' : prefix))
    const characters = route && !route.proxy ? route.lists.tools.length : 0
    const tokens = tokensIn(characters)
    // With a tool search, clients do not get the list.
    const isSearched = type === 'search' || (type === 'auto' && tokens > above)
    if (!route || isSearched || tokens <= toolListTokens) return []
    const range = read.locate(['routers', i, 'prefix'])
    const many = counted(route.tools.length, 'tool')
    const message = `the ${many} of \`${prefix}\` cost a model about ${numberText(tokens)} tokens (${numberText(characters)} characters) by their list`
    const hint = `Write \`discovery: {type: auto}\`, split them over several prefixes, or shorten their descriptions; ${numberText(toolListTokens)} is the limit`
    return [finding('tool-list-size', file, message, { ...(range && { range }), hint })]
  })
}
