import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { readConfigurations } from '../../checks/index.ts'
import { type Configuration, DEFAULT_LIMITS, type Env, type Server, type Tool } from '../../config/index.ts'
import { printableLines } from '../../findings/frame.ts'
import { toFinding } from '../../findings/index.ts'
import { type HttpAnswer, HttpClient } from '../../net/index.ts'
import type { Secrets } from '../../template/index.ts'
import { type CallContext, compileTools } from '../../tools/index.ts'
import { type Mask, maskOf } from '../../tools/mask.ts'
import { renderConfig, templateCompiler } from '../../tools/templates.ts'
import { toolArguments } from '../call/call-arguments.ts'
import { addHeader, formatOption, noSuch } from '../options.ts'
import { printFindings } from '../output.ts'
import { localEnvironment } from '../settings.ts'
import { isInvented } from './invented.ts'
import { hiddenOf, secretsOf, withoutSecrets } from './masks.ts'
import { requestJson, requestText, resultJson, resultText, sizesText } from './rendered.ts'

interface RenderFlags {
  format: 'text' | 'json'
  header: Record<string, string>
  response?: string
  showSecrets?: boolean
}

export function renderCommand(exit: (code: number) => void): Command {
  return new Command('render')
    .description('Show the request that a tool call would send, without sending it.')
    .argument('<file>', 'configuration file; - for standard input')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'key=value by the tool’s schema, key:=JSON, key=@file; or one JSON object')
    .option('--response <file>', 'show the result of the client if the upstream responded with this body')
    .option('--header <name:value>', 'header of the caller; may be repeated', addHeader, {})
    .option('--show-secrets', 'do not mask values that look like secrets')
    .addOption(formatOption())
    .action(async (file: string, tool: string, args: string[], flags: RenderFlags) =>
      exit(await render(file, tool, args, flags)),
    )
}

async function render(
  file: string,
  name: string,
  given: readonly string[],
  flags: RenderFlags,
): Promise<number> {
  const env = localEnvironment()
  const { configurations, findings, sources } = await readConfigurations([file], env)
  if (configurations.length > 1) throw new Error('render takes one file, not a folder')
  const [read] = configurations
  if (!read?.configuration) {
    printFindings(findings, sources)
    return 1
  }
  const { configuration } = read
  const tool = configuration.tools.find((one) => one.name === name)
  if (!tool) {
    const names = configuration.tools.map((one) => one.name)
    if (names.length === 0 && configuration.mcpServers.length > 0)
      throw new Error(
        `${name} is not an HTTP tool: render shows requests of HTTP tools, and ${file} only has MCP servers. \`plantgw call\` calls their tools`,
      )
    throw new Error(noSuch(`no tool ${name}`, name, names, 'the configuration has no tools'))
  }
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
  const hidden = compileOne(configuration, tool, env, hiddenOf(config)).compiled
  const mask: Mask = flags.showSecrets ? (text) => text : maskOf(secretsOf(read.text, config, env))
  const json = flags.format === 'json'
  if (answer) {
    const { result: real } = await compiled.respond(args, call, answer)
    const result = flags.showSecrets ? real : (await hidden?.respond(args, call, answer))?.result
    if (!result || result.isError !== real.isError) throw new Error(NEEDS_SECRETS)
    process.stdout.write(json ? resultJson(result, mask) : resultText(result, mask))
    if (tool.response && !json && !result.isError) process.stderr.write(sizesText(answer, real))
    return result.isError ? 1 : 0
  }
  const { request, error } = await compiled.request(args, call)
  if (request) {
    const masked = (await hidden?.request(args, call))?.request
    const shown = flags.showSecrets ? request : withoutSecrets(request, masked)
    process.stdout.write(json ? requestJson(shown, mask) : requestText(shown, mask))
  } else process.stderr.write(`plantgw: ${printableLines(mask(error))}\n`)
  return request ? 0 : 1
}

const NEEDS_SECRETS = 'the result depends on secrets: show it with --show-secrets'

/** The tool as served by the first server that offers it; an unfinished file may have no server yet. */
function compileOne(configuration: Configuration, tool: Tool, env: Env, secrets?: Secrets) {
  const { servers } = configuration
  const found = servers.findIndex(({ allowedTools }) => allowedTools?.includes(tool.name) ?? true)
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

/** An upstream answer with status 200 and this body, whose type is detected. */
function readAnswerFile(path: string): HttpAnswer {
  let body: Buffer
  try {
    body = readFileSync(path)
  } catch (error) {
    throw new Error(`cannot read ${path}: ${(error as Error).message}`)
  }
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
