import { Command, Option } from 'commander'
import { readConfigurations } from '../../checks/index.ts'
import { type Configuration, DEFAULT_LIMITS, type Env, type Server, type Tool } from '../../config/index.ts'
import { printableLines } from '../../findings/frame.ts'
import { toFinding } from '../../findings/index.ts'
import { HttpClient } from '../../net/index.ts'
import { nearest } from '../../text/index.ts'
import { type CallContext, compileTools, type UpstreamRequest } from '../../tools/index.ts'
import { addHeader } from '../header.ts'
import { printFindings } from '../output.ts'
import { masker, noMasks, SHOWN, secretConfig, secretsOf } from './masks.ts'
import { readAnswerFile, readArguments } from './render-arguments.ts'
import { requestJson, requestText, resultJson, resultText } from './rendered.ts'
import { readsSecret, withoutSecrets } from './secret-places.ts'

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
    .argument('[arguments...]', 'key=value by the tool’s schema, key:=JSON, key=@file')
    .option('--response <file>', 'show the result of the client if the upstream responded with this body')
    .option('--header <name:value>', 'header of the caller; may be repeated', addHeader, {})
    .option('--show-secrets', 'do not mask values that look like secrets')
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'))
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
  const { env } = process
  const { configurations, findings, sources } = await readConfigurations([file], env)
  if (configurations.length > 1) throw new Error('render takes one file, not a folder')
  const [read] = configurations
  if (!read?.configuration) {
    printFindings(findings, sources)
    return 1
  }
  const { configuration } = read
  const tool = configuration.tools.find((one) => one.name === name)
  if (!tool) throw new Error(unknownTool(name, configuration))
  const args = readArguments(tool, given)
  const answer = flags.response === undefined ? undefined : readAnswerFile(flags.response)

  const { compiled, problems, server } = compileOne(configuration, tool, env)
  if (!compiled) {
    const errors = findings.filter(({ severity }) => severity === 'error')
    printFindings([...errors, ...problems.map((problem) => toFinding(problem, read))], sources)
    return 1
  }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const call: CallContext = { headers: flags.header, path: '/', body, signal: new AbortController().signal }
  const hidden = flags.showSecrets ? undefined : hide(configuration, tool, env)
  const mask = hidden ? masker(secretsOf(read.text, server, env), hidden.isSecret) : noMasks
  const json = flags.format === 'json'
  if (answer) {
    const { result: real } = await compiled.respond(args, call, answer)
    const result = hidden ? (await hidden.compiled?.respond(args, call, answer))?.result : real
    if (!result || result.isError !== real.isError) throw new Error(NEEDS_SECRETS)
    process.stdout.write(json ? resultJson(result, mask) : resultText(result, mask))
    return result.isError ? 1 : 0
  }
  const { request, error } = await compiled.request(args, call)
  if (request) {
    const masked = await hidden?.compiled?.request(args, call)
    const shown = hidden ? withHidden(request, masked?.request) : request
    process.stdout.write(json ? requestJson(shown, mask) : requestText(shown, mask))
  } else process.stderr.write(`plantgw: ${printableLines(mask.text(error))}\n`)
  return request ? 0 : 1
}

const NEEDS_SECRETS = 'the result depends on secrets: show it with --show-secrets'

/** The tool with `***` for what its templates make of secrets; and which of its headers hold some. */
function hide(configuration: Configuration, tool: Tool, env: Env) {
  const config = secretConfig(compileOne(configuration, tool, env).server, env)
  const masked: Tool = { ...tool, endpoint: withoutSecrets(tool.endpoint, config) }
  for (const key of ['requestBody', 'responseBody', 'errorBody'] as const)
    if (tool[key] !== undefined) masked[key] = withoutSecrets(tool[key], config)
  const headers = Object.entries(tool.headers).filter(([, source]) => readsSecret(source, config))
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const tools = configuration.tools.map((one) => (one === tool ? masked : one))
  const { compiled } = compileOne({ ...configuration, tools }, masked, env)
  return { compiled, isSecret: (header: string) => names.has(header.toLowerCase()) }
}

/** The headers are those that are sent; URL and body are shown without secrets, or not at all. */
function withHidden(sent: UpstreamRequest, masked: UpstreamRequest | undefined): UpstreamRequest {
  const { origin, path, body } = masked ?? { origin: sent.origin, path: `/${SHOWN}`, body: SHOWN }
  // A form is made of arguments only, and its boundary is in the headers.
  const shown = typeof sent.body === 'string' ? (body ?? '') : sent.body
  return { ...sent, origin, path, ...(shown !== undefined && { body: shown }) }
}

/** The tool as the first server that offers it would serve it; a file under work may have no server yet. */
function compileOne(configuration: Configuration, tool: Tool, env: Env) {
  const { servers } = configuration
  const found = servers.findIndex(({ allowedTools }) => allowedTools?.includes(tool.name) ?? true)
  const index = Math.max(0, found)
  const server: Server = {
    ...(servers[index] ?? { name: configuration.name, config: {} }),
    allowedTools: [tool.name],
  }
  const only = { ...configuration, servers: servers.length ? servers.with(index, server) : [server] }
  const context = { env, limits: DEFAULT_LIMITS, http: new HttpClient() }
  const { tools, problems } = compileTools(only, server, context)
  const compiled = problems.some(({ severity }) => severity === 'error') ? undefined : tools.get(tool.name)
  return { compiled, problems, server }
}

function unknownTool(name: string, { tools }: Configuration): string {
  const names = tools.map((tool) => tool.name)
  const close = nearest(name, names)
  const cure = close
    ? `did you mean ${close}?`
    : names.length
      ? `there are ${names.join(', ')}`
      : 'the configuration has no tools'
  return `no tool ${name}: ${cure}`
}
