import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createIndex, type ToolIndex } from '../../src/discovery/index.ts'
import { APIS, type ApiTool, importedTools } from './apis.ts'
import { tokensOfTasks } from './tokens.ts'

const KINDS = ["users' own words", 'verb and noun', "an agent's words"]
/** Results of which one must serve the task. */
const AMONG = 5

export interface Task {
  api: string
  /** Names of the tools that serve it. */
  served: ReadonlySet<string>
  /** One of each kind. */
  queries: string[]
}

/** Whether one of the first results serves the task, in the tools of its API and in those of all. */
interface Searches {
  alone: ReadonlyMap<string, Searchable>
  together: Searchable
}
type Searchable = { tools: readonly ApiTool[]; index: ToolIndex }

function tasksOf(file: string): Task[] {
  const lines = readFileSync(join(import.meta.dirname, file), 'utf8').split('\n')
  return lines.flatMap((line) => {
    if (line === '' || line.startsWith('#')) return []
    const [api, served, ...queries] = line.split(' | ') as [string, string, ...string[]]
    return [{ api, served: new Set(served.split(' ')), queries }]
  })
}

function hits(
  { index, tools }: Searchable,
  { api, served }: Task,
  query: string | readonly string[],
): boolean {
  const found = index.search(query, { limit: AMONG }).map(({ at }) => tools[at]!)
  return found.some((tool) => tool.api === api && served.has(tool.name))
}

function row(
  name: string,
  tasks: readonly Task[],
  searches: Searches,
  query: (task: Task) => string | string[],
) {
  const share = (tools: (task: Task) => Searchable) => {
    const found = tasks.filter((task) => hits(tools(task), task, query(task))).length
    return (found / tasks.length).toFixed(2)
  }
  return `| ${name} | ${tasks.length} | ${share(({ api }) => searches.alone.get(api)!)} | ${share(() => searches.together)} |`
}

function table(title: string, tasks: readonly Task[], searches: Searches): string {
  return [
    `| ${title} | queries | alone | together |`,
    '|---|---|---|---|',
    ...KINDS.map((kind, at) => row(kind, tasks, searches, ({ queries }) => queries[at]!)),
    row('all three at once', tasks, searches, ({ queries }) => queries),
  ].join('\n')
}

/** Milliseconds of a query, and bytes of an index, at the most. */
const MOST_TIME = 1
const MOST_MEMORY = 20e6

function costs(tools: readonly ApiTool[], queries: readonly string[]): string {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  const before = process.memoryUsage()
  const started = performance.now()
  const index = createIndex(tools)
  const built = performance.now() - started
  gc()
  const after = process.memoryUsage()
  const bytes = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  // The fastest of some rounds: the others say how busy the machine is.
  const fastest = queries.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < 8; round++)
    for (const [i, query] of queries.entries()) {
      const from = performance.now()
      index.search(query, { limit: 6 })
      fastest[i] = Math.min(fastest[i]!, performance.now() - from)
    }
  const times = fastest.sort((a, b) => a - b)
  const at = (share: number) => `${times[Math.floor(times.length * share)]!.toFixed(2)} ms`
  if (times[Math.floor(times.length / 2)]! >= MOST_TIME) throw new Error(`a query takes ${at(0.5)}`)
  const memory = `${(bytes / 1e6).toFixed(1)} MB`
  if (bytes >= MOST_MEMORY) throw new Error(`the index takes ${memory}`)
  return `${tools.length} tools: built in ${Math.round(built)} ms, ${memory}; a query takes ${at(0.5)} (median), ${at(0.99)} (99th percentile)`
}

/** How often one of the first five results serves the task. Downloads about 75 MB, which npm keeps in its cache. */
export async function discoveryBench(): Promise<string> {
  const tools = importedTools()
  const searched = (some: readonly ApiTool[]) => ({ tools: some, index: createIndex(some) })
  const alone = APIS.map((api) => [api, searched(tools.filter((tool) => tool.api === api))] as const)
  const searches = { alone: new Map(alone), together: searched(tools) }
  const written = tasksOf('written.txt')
  const halves = [0, 1].map((half) => written.filter((_, at) => at % 2 === half)) as [Task[], Task[]]
  return [
    table('half that was tuned on', halves[0], searches),
    table('other half', halves[1], searches),
    table('drawn operations', tasksOf('drawn.txt'), searches),
    costs(
      tools,
      written.flatMap(({ queries }) => queries),
    ),
    await tokensOfTasks(tools, [...written, ...tasksOf('drawn.txt')]),
  ].join('\n\n')
}
