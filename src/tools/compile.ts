import type { Configuration, Server } from '../config/model.ts'
import { CallError } from './failure.ts'
import type { Root } from './root.ts'
import { type CompileTemplate, render, templateCompiler } from './templates.ts'
import { compileTool, type ToolContext } from './tool.ts'
import type { CompileContext, CompiledTool, Problem, Tools } from './types.ts'
import { schemaCompiler } from './validators.ts'

/**
 * Compiles the tools of one server: templates, schemas of arguments, static headers. Tools with an error are
 * left out of `tools` and named in `problems`, as are faults of the server's `config`.
 */
export function compileTools(
  configuration: Configuration,
  server: Server,
  context: CompileContext,
): { tools: Tools; problems: Problem[] } {
  const problems: Problem[] = []
  const serverPath = ['servers', configuration.servers.indexOf(server)]
  const config = renderConfig(
    server,
    serverPath,
    templateCompiler(context.env, problems, context.memo),
    problems,
  )
  const shared: ToolContext = { ...context, server, config, compileSchema: schemaCompiler(), problems }
  const compiled = new Map<string, CompiledTool>()
  for (const [tool, index] of offered(configuration, server)) {
    const made = compileTool(tool, ['tools', index], shared)
    if (made) compiled.set(tool.name, made)
  }
  const list = [...compiled.values()].map(({ definition }) => definition)
  return { tools: { list, get: (name) => compiled.get(name) }, problems }
}

/** The tools of a server in their order, each with its index in the configuration. */
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

/** `.Config`: each value rendered once, with nothing but `env` to read. */
export function renderConfig(
  server: Server,
  path: (string | number)[],
  compile: CompileTemplate,
  problems: Problem[],
): Root['Config'] {
  const config: Record<string, string> = {}
  for (const [key, source] of Object.entries(server.config)) {
    const at = [...path, 'config', key]
    const value = source.includes('{{') ? renderValue(source, at, compile, problems) : source
    Object.defineProperty(config, key, { value, enumerable: true })
  }
  return config
}

function renderValue(
  source: string,
  path: (string | number)[],
  compile: CompileTemplate,
  problems: Problem[],
): string {
  const template = compile(source, path, 'text', {})
  if (!template) return ''
  try {
    return render(template, {}, 'value') ?? ''
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    problems.push({ path, code: 'template-context', severity: 'error', message: error.detail ?? error.text })
    return ''
  }
}
