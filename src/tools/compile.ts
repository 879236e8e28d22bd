import { maskReport } from '../checks/fields/response.ts'
import {
  type Configuration,
  hasTemplate,
  METHODS,
  pathArgsOf,
  type Server,
  type Tool,
} from '../config/model.ts'
import { headersOf, isBelowBase } from '../config/short-form.ts'
import { compileShaping } from '../json/shaping/index.ts'
import { atOnce, quote, type Steps } from '../text/index.ts'
import { compileBody } from './body.ts'
import { below, compileEndpoint, renderBase } from './endpoint.ts'
import { compileHeaders } from './headers.ts'
import { compileAsync } from './operation.ts'
import { answerTemplate, type Shape } from './result.ts'
import { isObjectSchema, outputSchema, toolDefinition } from './schema.ts'
import { REQUEST_ROOTS, RESPONSE_ROOTS, renderConfig, templateCompiler } from './templates.ts'
import { HttpTool, limitsOf, type Parts, type ToolContext } from './tool.ts'
import type { CompileContext, CompiledTool, Problem, ToolDefinition, Tools } from './types.ts'
import { schemaCompiler } from './validators.ts'

/**
 * Checks the tools of one server: templates, argument schemas, static headers; each tool is compiled on first use.
 * Faulty tools are omitted from `tools` and reported in `problems`, as are faults of the server's `config`.
 */
export function compileTools(
  configuration: Configuration,
  server: Server,
  context: CompileContext,
): CompiledTools {
  return atOnce(compileToolsSteps(configuration, server, context))
}

interface CompiledTools {
  tools: Tools
  problems: Problem[]
}

/** The same, yielding after each tool. */
export function* compileToolsSteps(
  configuration: Configuration,
  server: Server,
  context: CompileContext,
): Steps<CompiledTools> {
  const problems: Problem[] = []
  const serverPath = ['servers', configuration.servers.indexOf(server)]
  const compile = templateCompiler(context.env, problems, context.memo)
  const config = renderConfig(server, serverPath, compile, problems)
  const base = renderBase(server, serverPath, compile, config, problems)
  const compileSchema = schemaCompiler()
  const credentials = context.credentialsOf?.(server, configuration)
  const shared = { ...context, server, serverPath, config, base, credentials, compileSchema, problems }
  const sound = new Map<string, ToolDefinition>()
  const slow: string[] = []
  for (const [tool, index] of offered(configuration, server)) {
    const checked = compileTool(tool, ['tools', index], shared)
    if (checked) sound.set(tool.name, checked.definition)
    if (checked && tool.async) slow.push(tool.name)
    yield
  }
  const list = [...sound.values()]
  const own = { names: [...sound.keys()], slow, list: () => list }
  // Calls do not keep the memo of the reload alive.
  const { memo: _, ...lasting } = shared
  return { tools: toolsOf(configuration, server, own, lasting), problems }
}

/**
 * The callable tools. Tools are compiled on first use, as most are never called.
 * @param context of their compilation
 */
function toolsOf(
  configuration: Configuration,
  server: Server,
  own: Pick<Tools, 'names' | 'slow' | 'list'>,
  context: Omit<ToolContext, 'problems'>,
): Tools {
  // Created on first use, as most servers are never called.
  let compiled: Map<string, CompiledTool> | undefined
  const byName = () => new Map(offered(configuration, server).map((entry) => [entry[0].name, entry] as const))
  return {
    ...own,
    get(name) {
      const known = compiled?.get(name)
      const found = known || !own.names.includes(name) ? undefined : byName().get(name)
      if (!found) return known
      const [tool, index] = found
      const again = compileTool(tool, ['tools', index], { ...context, problems: [] })
      if (!again) return undefined
      const made = new HttpTool(tool, again.definition, again.parts, context)
      compiled ??= new Map()
      compiled.set(name, made)
      return made
    },
  }
}

/** The tools of a server in order, each with its index in the configuration. */
function offered(
  { tools }: Configuration,
  { allowedTools }: Server,
): [Configuration['tools'][number], number][] {
  const all = tools.map((tool, index): [typeof tool, number] => [tool, index])
  if (!allowedTools) return all
  const byName = new Map(all.map((entry) => [entry[0].name, entry]))
  return [...new Set(allowedTools)].flatMap((name) => {
    const entry = byName.get(name)
    return entry ? [entry] : []
  })
}

/** Compiles one tool; faults are added to `problems`. Undefined if it cannot be called. */
function compileTool(
  tool: Tool,
  path: Problem['path'],
  context: ToolContext,
): { definition: ToolDefinition; parts: Parts } | undefined {
  const { env, problems, memo, secrets, config, base, server, serverPath, compileSchema } = context
  const before = problems.length
  const compile = templateCompiler(env, problems, memo, secrets)
  const shaping = compileShaping(tool.response, limitsOf(tool, context).resultChars)
  if (Array.isArray(shaping)) {
    const faults = shaping.map((fault) => maskReport(fault, [...path, 'response']))
    problems.push(...faults.map((fault) => ({ ...fault, severity: 'error' as const })))
    return undefined
  }
  const definition = toolDefinition(tool, shaping)
  const ownOutput = tool.outputSchema && outputSchema(shaping.wholeSchema(tool.outputSchema))
  const at = [...path, 'endpoint']
  const written = compile(tool.endpoint.trimEnd(), at, 'url', REQUEST_ROOTS, pathArgsOf(tool.args))
  const isPath = isBelowBase(tool.endpoint)
  const fault = isPath ? pathFault(tool, server) : undefined
  if (fault) problems.push({ path: at, code: 'invalid-value', severity: 'error', ...fault })
  // A faulty `baseUrl` is reported once, at the server.
  if (isPath && base === undefined) return undefined
  const url = written && isPath ? below(base!, written) : written
  const target = url && compileEndpoint(url, tool.args, config)
  if (target?.fault)
    problems.push({
      path: at,
      code: 'invalid-value',
      severity: 'error',
      message: `The endpoint ${target.fault}`,
      ofTemplate: target.ofTemplate ?? false,
      hint: endpointHint(tool, server),
    })
  const declared = headersOf(tool, path, server, serverPath)
  const headers = compileHeaders(tool, path, declared, config, compile, problems)
  const body = compileBody(tool, path, headers, compile, problems)
  const answers = (['responseBody', 'errorBody'] as const).map((key) => {
    const source = tool[key]
    return source === undefined ? undefined : compile(source, [...path, key], 'auto', RESPONSE_ROOTS)
  })
  const [responseBody, errorBody] = answers
  const slow = compileAsync(tool, path, compile, { config, base }, [...answers, ...headers.templates])
  const shape: Shape = {
    responseBody:
      responseBody && hasTemplate(tool) ? answerTemplate(responseBody, 'responseBody') : undefined,
    errorBody: errorBody && answerTemplate(errorBody, 'errorBody'),
    shaping,
    output: ownOutput && {
      validate: compileSchema(ownOutput, 'output-schema'),
      validateShown: compileSchema(definition.outputSchema!, 'output-schema'),
      wrapped: !isObjectSchema(tool.outputSchema!),
    },
  }
  if (!target || problems.slice(before).some(({ severity }) => severity === 'error')) return undefined
  const { endpoint, authored } = target
  return { definition, parts: { url, endpoint, authored, headers, body, shape, answers, slow } }
}

function endpointHint({ endpoint }: Tool, { baseUrl }: Server): string {
  const [, method, rest = ''] = /^\s*([A-Z]{3,7})\s+(\S.*)$/.exec(endpoint) ?? []
  if (method !== undefined && METHODS.includes(method))
    return `Write the method by itself: \`method: ${method}\`, \`endpoint: ${rest}\``
  if (baseUrl !== undefined && /^[\w-][\w./-]*(?=$|\{|\?)/.test(endpoint))
    return `Begin it with a slash, such as \`/${endpoint.trim()}\`, for a path below the \`baseUrl\``
  return 'Write a URL such as https://api.example.com/users/{{.Args.id}}'
}

function pathFault(
  { endpoint }: Tool,
  { name, baseUrl }: Server,
): { message: string; hint: string } | undefined {
  if (/^\s*\/\//.test(endpoint))
    return { message: 'The endpoint begins with two slashes', hint: 'Begin it with one, or with `https://`' }
  if (baseUrl !== undefined) return undefined
  return {
    message: `The endpoint is a path, but the server ${quote(name)} has no \`baseUrl\``,
    hint: 'Add `baseUrl: https://…` to the server, or write the whole URL',
  }
}
