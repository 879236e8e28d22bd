import { createCatalogue, type Discovery, tokensOf } from '../../src/discovery/index.ts'
import { isObject, type JsonObject, stringify } from '../../src/json/index.ts'
import { tokensIn } from '../../src/text/index.ts'
import { APIS, type ApiTool } from './apis.ts'
import type { Task } from './discovery.ts'

/** Estimated tokens of a task that is done by searching, against the list of all tools. */
export async function tokensOfTasks(tools: readonly ApiTool[], tasks: readonly Task[]): Promise<string> {
  const rows = await Promise.all([...APIS.map((api) => [api]), APIS].map((apis) => row(apis, tools, tasks)))
  return [
    '| tools of | tools | all tools listed | list | search | describe | call | together | share |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

async function row(
  apis: readonly string[],
  tools: readonly ApiTool[],
  tasks: readonly Task[],
): Promise<string> {
  const own = tools.filter(({ api }) => apis.includes(api))
  // Names of several APIs may be the same.
  const definitions = own.map(({ definition, api }) => ({
    ...definition,
    name: `${api}__${definition.name}`,
  }))
  const words = new Map(own.map((tool, i) => [definitions[i]!.name, tool.words]))
  const policy: Discovery = {
    mode: 'search',
    above: 0,
    pins: () => false,
    wordsOf: (name) => words.get(name),
    key: '',
  }
  const catalogue = createCatalogue(definitions, policy)
  const whole = tokensOf(definitions)
  const list = tokensOf(catalogue.list(false))
  const costs = { search: [] as number[], describe: [] as number[], call: [] as number[] }
  for (const { api, served, queries } of tasks) {
    const [name] = served
    const tool = catalogue.get(`${api}__${name}`)
    if (!apis.includes(api) || !tool) continue
    const search = { queries: queries.slice(1) }
    costs.search.push(tokensIn(stringify(search).length + (await catalogue.search(search)).text.length))
    const names = { names: [tool.name as string] }
    costs.describe.push(tokensIn(stringify(names).length + catalogue.describe(names).text.length))
    costs.call.push(tokensIn(callOf(tool).length))
  }
  const [search, describe, call] = [costs.search, costs.describe, costs.call].map(median) as [
    number,
    number,
    number,
  ]
  const together = list + search + describe + call
  const label = apis.length > 1 ? 'all four' : apis[0]
  const shown = [own.length, whole, list, search, describe, call, together].map((one) =>
    one.toLocaleString('en-US'),
  )
  return `| ${label} | ${shown.join(' | ')} | ${((100 * together) / whole).toFixed(1)} % |`
}

/** The arguments of `call_tool` for a call with what is required. */
function callOf({ name, inputSchema }: JsonObject): string {
  const required = isObject(inputSchema) && Array.isArray(inputSchema.required) ? inputSchema.required : []
  return stringify({ name, arguments: Object.fromEntries(required.map((one) => [String(one), 'abcdefgh'])) })
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}
