import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { check } from '../build/check-configurations.ts'
import { type Configuration, offers, type ReadConfiguration, type Settings } from '../config/index.ts'
import { DEFAULT_TENANT } from '../config/model.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import {
  createIndex,
  declared,
  firstSentence,
  type Match,
  type SearchableTool,
  searchable,
} from '../discovery/index.ts'
import { palette } from '../findings/index.ts'
import type { Json } from '../json/index.ts'
import { numberText, plural, printableLines } from '../text/index.ts'
import { createToolFilter } from '../upstream/view/tool-filter.ts'
import { accessOptions, listTools, type TargetFlags, withTarget } from './call/target.ts'
import { type DeclaredTarget, declaredBy } from './declared.ts'
import { environmentOf } from './env-files.ts'
import { untilInterrupted, wholeNumber } from './options.ts'
import { printErrors, printJson, wantsColor } from './output.ts'
import { loadSettings, settingsOption, withVault } from './settings.ts'

interface SearchFlags extends TargetFlags {
  limit: number
  group?: string
}

export function searchCommand(exit: (code: number) => void): Command {
  const command = new Command('search')
    .description('Search tools by what they do, and show which words matched.')
    .argument('<target>', 'configuration file or folder, prefix of the gateway, or URL of an MCP server')
    .argument('<queries...>', 'what to look for; the results of several are merged by rank')
    .addOption(settingsOption("settings file, for the gateway's address"))
    .option('--limit <n>', 'maximum number of results', wholeNumber(1, 100), 6)
    .option('--group <name>', 'only tools of this group')
  return accessOptions(command)
    .addHelpText('after', '\nProxied servers of files are started, or connected to, to list their tools.')
    .action(async (target: string, queries: string[], flags: SearchFlags) =>
      exit(await search(target, queries, flags)),
    )
}

/** Exit codes: 0 found, 1 nothing found or files with errors. */
async function search(target: string, queries: readonly string[], flags: SearchFlags): Promise<number> {
  const { settings, code } = loadSettings(flags.settings)
  if (!settings) return code
  const tools = await toolsOf(target, flags, settings)
  if (!tools) return 1
  const { group } = flags
  const accepts = group === undefined ? undefined : (at: number) => tools[at]?.group === group
  const index = createIndex(tools)
  const hits = index.search(queries, { limit: flags.limit, accepts })
  const results = hits.map(({ at }, i) => {
    const { name, group, description = '' } = tools[at]!
    const matches = queries.flatMap((query) => index.explain(query, at))
    const [summary] = firstSentence(description)
    return { rank: i + 1, name, group: group ?? null, summary, matches: distinct(matches) }
  })
  if (flags.format === 'json') printJson({ tools: tools.length, results })
  else process.stdout.write(textOf(results, tools.length))
  return results.length > 0 ? 0 : 1
}

interface Result {
  rank: number
  name: string
  group: string | null
  summary: string
  matches: Match[]
}

function textOf(results: readonly Result[], tools: number): string {
  const { bold, dim } = palette(wantsColor(process.stdout))
  const lines = results.flatMap(({ rank, name, group, summary, matches }) => [
    `${String(rank).padStart(3)}  ${bold(printableLines(name))}${group ? `  ${printableLines(group)}` : ''}`,
    ...(summary ? [`     ${printableLines(summary.replace(/\s+/g, ' '))}`] : []),
    ...matches.map((match) => dim(`       ${printableLines(matchText(match))}`)),
  ])
  const all = `${numberText(tools)} ${plural(tools, 'tool')}`
  return `${[...lines, `${results.length} of ${all}`].join('\n')}\n`
}

function matchText({ word, matched, fields }: Match): string {
  return `${word === matched ? word : `${word} → ${matched}`} (${fields.join(', ')})`
}

/** Several queries may share a word. */
function distinct(matches: readonly Match[]): Match[] {
  return [...new Map(matches.map((match) => [match.word, match])).values()]
}

/** The tools of files or of a server; undefined if the files have errors, which are printed. */
async function toolsOf(
  target: string,
  flags: SearchFlags,
  settings: Settings,
): Promise<SearchableTool[] | undefined> {
  const isFile = existsSync(target)
  if (!isFile && !/^(?:https?:\/|)\//i.test(target))
    throw new Error(
      `${target} is neither a file, a URL such as https://example.com/mcp nor a prefix such as /garden`,
    )
  if (!isFile) {
    const listed = await withTarget(
      target,
      flags,
      { onNotification() {}, answer: undefined, wholeList: true },
      listTools,
    )
    return listed.map((tool) => declared(tool))
  }
  const env = environmentOf(settings)
  const { configurations, findings, sources } = await check([target], { env, settings })
  if (printErrors(findings, sources)) return undefined
  return untilInterrupted((signal) =>
    withVault(flags.settings, async (vault) => {
      const all = configurations.map((read) => {
        const own = envOfTenant(env, read.configuration?.tenant ?? DEFAULT_TENANT, settings.tenants)
        return ofConfiguration(read, { env: own, vault }, flags.header, signal)
      })
      return (await Promise.all(all)).flat()
    }),
  )
}

async function ofConfiguration(
  { configuration, text }: ReadConfiguration,
  access: Pick<DeclaredTarget, 'env' | 'vault'>,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<SearchableTool[]> {
  if (!configuration) return []
  const own = configuration.tools.map((tool) => searchable(tool, serverOf(configuration, tool.name)))
  const asked = configuration.mcpServers.map((server, index) =>
    ofServer({ server, index, text, owner: configuration, ...access }, headers, signal),
  )
  return [...own, ...(await Promise.all(asked)).flat()]
}

/** The first server that offers a tool. */
function serverOf({ servers, name }: Configuration, tool: string): string {
  return servers.find((server) => offers(server, tool))?.name ?? name
}

/** The tools of a proxied server as clients see them; empty if the server does not answer, which is reported. */
async function ofServer(
  target: DeclaredTarget,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<SearchableTool[]> {
  const { server } = target
  const answer = await declaredBy(target, headers, signal)
  if (typeof answer === 'string') {
    process.stderr.write(`plantgw: ${printableLines(server.name)}: ${printableLines(answer)}\n`)
    return []
  }
  const filter = createToolFilter(server)
  return answer.tools.flatMap((tool) => {
    const { name } = tool
    if (typeof name !== 'string') return []
    const words = Object.hasOwn(server.toolOverrides, name) ? server.toolOverrides[name] : undefined
    const shown: Json[] = filter ? filter.show(tool) : [tool]
    return shown.map((one) => declared(one, { group: server.name, ...words }))
  })
}
