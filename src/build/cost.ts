import type { ReadConfiguration } from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import type { Prepared } from './prepare.ts'

export interface CostOptions {
  /** Tokens of a prefix's `tools/list`. Default 10,000; 0 tells the cost of every prefix. */
  toolListTokens?: number
}

/** English and JSON come to about this many characters for each token of the models of today. */
const CHARACTERS_PER_TOKEN = 4

/**
 * What the `tools/list` of each prefix costs a model, where that is more than the limit. Of proxied servers it is
 * known only when they run.
 */
export function costsOf(
  read: ReadConfiguration,
  prepared: ReadonlyMap<string, Prepared>,
  { toolListTokens = 10_000 }: CostOptions,
): Finding[] {
  const { configuration, file } = read
  const own = configuration && prepared.get(configuration.name)
  if (!own || own.file !== file) return []
  return configuration.routers.flatMap(({ prefix }, i) => {
    const route = own.routes.find((one) => one.prefix === (prefix === '/' ? '' : prefix))
    const characters = route && !route.proxy ? route.lists.tools.length : 0
    const tokens = Math.ceil(characters / CHARACTERS_PER_TOKEN)
    if (!route || tokens <= toolListTokens) return []
    const range = read.locate(['routers', i, 'prefix'])
    const many = `${route.tools.length} ${route.tools.length === 1 ? 'tool' : 'tools'}`
    const message = `the ${many} of \`${prefix}\` cost a model about ${grouped(tokens)} tokens (${grouped(characters)} characters) by their list`
    const hint = `Split them over several prefixes, or shorten their descriptions; ${grouped(toolListTokens)} is the limit`
    return [finding('tool-list-size', file, message, { ...(range && { range }), hint })]
  })
}

function grouped(number: number): string {
  return number.toLocaleString('en-US')
}
