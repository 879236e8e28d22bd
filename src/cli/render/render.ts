import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { unmatchedMasks } from '../../checks/fields/response.ts'
import { readConfiguration, readConfigurations } from '../../checks/index.ts'
import {
  type Configuration,
  DEFAULT_LIMITS,
  type Env,
  offers,
  type Path,
  type ReadConfiguration,
  type Server,
  type Tool,
} from '../../config/index.ts'
import { environmentWith, variablesUsed } from '../../config/secret-files.ts'
import { toFinding } from '../../findings/index.ts'
import { jsonIn } from '../../json/shaping/index.ts'
import { type HttpAnswer, HttpClient } from '../../net/index.ts'
import type { Secrets } from '../../template/index.ts'
import { printableLines } from '../../text/index.ts'
import { type CallContext, type CompiledTool, compileTools, type RequestPlan } from '../../tools/index.ts'
import { type Mask, maskOf, SHOWN } from '../../tools/mask.ts'
import { requestText } from '../../tools/request-text.ts'
import { configuredSecrets, isSecretVariable, textsToMask } from '../../tools/secrets.ts'
import { renderConfig, templateCompiler } from '../../tools/templates.ts'
import { toolArguments } from '../call/call-arguments.ts'
import { addHeader, formatOption, noSuch } from '../options.ts'
import { failureOf, printFindings } from '../output.ts'
import { readNamed } from '../read-in-time.ts'
import { environmentFor, environmentOption, loadSettings, usualPaths } from '../settings.ts'
import {
  hiddenOf,
  isInvented,
  requestJson,
  resultJson,
  resultText,
  sizesText,
  withoutSecrets,
} from './rendered.ts'

interface RenderFlags {
  settings?: string
  format: 'text' | 'json'
  header: Record<string, string>
  response?: string
  showSecrets?: boolean
}

export function renderCommand(exit: (code: number) => void): Command {
  return new Command('render')
    .description('Show the request that a tool call would send, without sending it.')
    .argument('<file|prefix>', 'configuration file, - for standard input, or a prefix such as /garden')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'key=value by the tool’s schema, key:=JSON, key=@file; or one JSON object')
    .addOption(environmentOption())
    .option('--response <file>', 'show the result of the client if the upstream responded with this body')
    .option('--header <name:value>', 'header of the caller; may be repeated', addHeader, {})
    .option('--show-secrets', 'do not mask values that look like secrets')
    .addOption(formatOption())
    .action(async (file: string, tool: string, args: string[], flags: RenderFlags) =>
      exit(await render(file, tool, args, flags)),
    )
}

async function render(
  from: string,
  name: string,
  given: readonly string[],
  flags: RenderFlags,
): Promise<number> {
  const env = environmentFor(flags.settings)?.env
  if (!env) return 1
  const file = from.startsWith('/') && !existsSync(from) ? await fileOf(from, env, flags) : from
  const { configurations, findings, sources } = await readConfigurations([file], env)
  if (configurations.length > 1) throw new Error('render takes one file, not a folder')
  const [read] = configurations
  if (!read?.configuration) {
    printFindings(findings, sources)
    return failureOf([file])
  }
  const { configuration } = read
  const tool = toolOf(configuration, name, file)
  const args = toolArguments(tool, given)
  const answer = flags.response === undefined ? undefined : readAnswerFile(flags.response)

  const { compiled, problems, server, index } = compileOne(configuration, tool, env)
  if (!compiled || isInvented(read, configuration, tool, index)) {
    const errors = findings.filter(({ severity }) => severity === 'error')
    printFindings([...errors, ...problems.map((problem) => toFinding(problem, read))], sources)
    return 1
  }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const call: CallContext = { headers: flags.header, path: '/', body, signal: new AbortController().signal }
  const config = renderConfig(server, [], templateCompiler(env, []), [])
  const hidden = compileHidden(read, tool, index, env, hiddenOf(config))
  const secrets = configuredSecrets([read.text], 'config', config, env).map(({ value }) => value)
  const mask: Mask = flags.showSecrets ? (text) => text : maskOf(textsToMask(secrets))
  const rendered: Rendered = { tool, compiled, hidden, args, call, mask, flags }
  return answer ? showResult(rendered, answer, read) : showRequest(rendered, read)
}

/** The file of the configuration with a prefix, among those of the settings or in `configs/`. */
async function fileOf(prefix: string, env: Env, { settings: named }: RenderFlags): Promise<string> {
  const { settings } = loadSettings(named)
  const { configurations } = await readConfigurations(settings ? usualPaths(settings) : [], env)
  const prefixes = configurations.flatMap(({ configuration, file }) =>
    (configuration?.routers ?? []).map((router) => ({ prefix: router.prefix || '/', file })),
  )
  const found = prefixes.find((one) => one.prefix === prefix.replace(/(?<=.)\/(?:mcp\/?)?$/, ''))
  if (found) return found.file
  const known = [...new Set(prefixes.map((one) => one.prefix))]
  throw new Error(noSuch(`there is no file ${prefix}, and no prefix ${prefix}`, prefix, known))
}

/** @throws Error if there is none */
function toolOf({ tools, mcpServers }: Configuration, name: string, file: string): Tool {
  const tool = tools.find((one) => one.name === name)
  if (tool) return tool
  if (tools.length === 0 && mcpServers.length > 0)
    throw new Error(
      `${name} is not an HTTP tool: render shows requests of HTTP tools, and ${file} only has MCP servers. \`plantgw call\` calls their tools`,
    )
  const names = tools.map((one) => one.name)
  throw new Error(noSuch(`unknown tool ${name}`, name, names, 'the configuration has no tools'))
}

interface Rendered {
  tool: Tool
  compiled: CompiledTool
  /** Compiled without secrets. */
  hidden: CompiledTool | undefined
  args: ReturnType<typeof toolArguments>
  call: CallContext
  mask: Mask
  flags: RenderFlags
}

async function showRequest(
  { tool, compiled, hidden, args, call, mask, flags }: Rendered,
  read: ReadConfiguration,
): Promise<number> {
  const plan = await compiled.request(args, call)
  if (!plan.request) {
    if (plan.ofArguments) throw new Error(plan.error)
    process.stderr.write(`plantgw: ${printableLines(mask(placed(plan, tool, read)))}\n`)
    return 1
  }
  const masked = (await hidden?.request(args, call))?.request
  const shown = flags.showSecrets ? plan.request : withoutSecrets(plan.request, masked)
  process.stdout.write(flags.format === 'json' ? requestJson(shown, mask) : requestText(shown, mask))
  return 0
}

/** An error at its place in the file. */
function placed(
  { error, place }: Exclude<RequestPlan, { error?: undefined }>,
  tool: Tool,
  read: ReadConfiguration,
): string {
  if (!place) return error
  const { what, start, end } = place
  const path = [...pathOf(tool, read), ...(what.startsWith('header ') ? ['headers', what.slice(7)] : [what])]
  const { line, column } = read.locate(path, start, end)?.start ?? {}
  return `${[read.file === '-' ? '<stdin>' : read.file, line, column].filter(Boolean).join(':')}: ${error.replace(/, line \d+, column \d+\.$/, '.')}`
}

function pathOf(tool: Tool, { configuration }: ReadConfiguration): Path {
  return ['tools', configuration!.tools.indexOf(tool)]
}

async function showResult(
  { tool, compiled, hidden, args, call, mask, flags }: Rendered,
  answer: HttpAnswer,
  read: ReadConfiguration,
): Promise<number> {
  const { result: real } = await compiled.respond(args, call, answer)
  const result = flags.showSecrets ? real : (await hidden?.respond(args, call, answer))?.result
  if (!result || result.isError !== real.isError)
    throw new Error('the result depends on secrets: show it with --show-secrets')
  const json = flags.format === 'json'
  process.stdout.write(json ? resultJson(result, mask) : resultText(result, mask))
  if (result.isError) return 1
  if (!tool.response) return 0
  const value = tool.responseBody ? undefined : jsonIn(answer.body.toString('utf8'))
  const missed =
    value === undefined ? [] : unmatchedMasks(tool.response, value, [...pathOf(tool, read), 'response'])
  if (missed.length)
    printFindings(
      missed.map((one) => toFinding(one, read)),
      new Map([[read.file, read.text]]),
    )
  if (!json) process.stderr.write(sizesText(answer, real))
  return 0
}

/** The tool as served by the first server that offers it; an unfinished file may have no server yet. */
function compileOne(configuration: Configuration, tool: Tool, env: Env, secrets?: Secrets) {
  const { servers } = configuration
  const found = servers.findIndex((server) => offers(server, tool.name))
  const index = Math.max(0, found)
  const server: Server = {
    ...(servers[index] ?? { name: configuration.name, config: {}, redact: 'own' as const }),
    allowedTools: [tool.name],
  }
  const only = { ...configuration, servers: servers.length ? servers.with(index, server) : [server] }
  const context = { env, limits: DEFAULT_LIMITS, http: new HttpClient(), ...(secrets && { secrets }) }
  const { tools, problems } = compileTools(only, server, context)
  const compiled = problems.some(({ severity }) => severity === 'error') ? undefined : tools.get(tool.name)
  return { compiled, problems, server, index }
}

/** The tool with secrets hidden where templates and `${…}` put them, whatever their length; undefined if it needs them. */
function compileHidden(
  { file, text }: ReadConfiguration,
  { name }: Tool,
  index: number,
  env: Env,
  secrets: Secrets,
) {
  const variables = variablesUsed(text, env).filter(isSecretVariable)
  const read = readConfiguration({ file, text }, environmentWith(env, variables, SHOWN))
  const { configuration } = read
  const tool = configuration?.tools.find((one) => one.name === name)
  if (!configuration || !tool || isInvented(read, configuration, tool, index)) return undefined
  return compileOne(configuration, tool, env, secrets).compiled
}

/** An upstream answer with status 200 and this body, whose type is detected. */
function readAnswerFile(path: string): HttpAnswer {
  const body = readNamed(path, 'the response')
  return { status: 200, reason: 'OK', headers: { 'content-type': typeOfBody(body) }, body }
}

function typeOfBody(body: Buffer): string {
  try {
    JSON.parse(body.toString('utf8'))
    return 'application/json'
  } catch {
    return 'text/plain; charset=utf-8'
  }
}
