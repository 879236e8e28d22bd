import { readConfigurations } from '../checks/index.ts'
import { type Env, type McpServer, offers, type Server, type Tool } from '../config/index.ts'
import { type UsedVariable, variablesUsed } from '../config/secret-files.ts'
import { headersOf } from '../config/short-form.ts'
import { isSecretHeader, printable, quote } from '../text/index.ts'
import { secretsOfTool } from '../tools/secrets.ts'
import { renderConfig, templateCompiler } from '../tools/templates.ts'
import { compileDefinition } from '../upstream/definition.ts'
import { printFindings } from './output.ts'
import { environmentFor } from './settings.ts'

/** Prints which secrets are masked in answers of each server of a configuration, and why; never the values. */
export async function explainMasks(path: string, settings: string | undefined): Promise<number> {
  const env = environmentFor(settings)?.env
  if (!env) return 1
  const { configurations, findings, sources } = await readConfigurations([path], env)
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (errors.length) printFindings(errors, sources)
  else if (!configurations.length) printFindings(findings, sources)
  for (const { configuration, text } of configurations) {
    if (!configuration) continue
    const used = variablesUsed(text, env)
    for (const server of configuration.servers) print(server, ofTools(server, configuration.tools, env, used))
    for (const [i, server] of configuration.mcpServers.entries()) {
      const { definition } = compileDefinition(server, ['mcpServers', i], env, undefined, undefined, used)
      print(server, definition.secretsFrom)
    }
  }
  return errors.length ? 1 : 0
}

function ofTools(server: Server, all: readonly Tool[], env: Env, used: readonly UsedVariable[]): string[] {
  const config = renderConfig(server, [], templateCompiler(env, []), [])
  const tools = all.filter(({ name }) => offers(server, name))
  return tools.flatMap((tool) => [
    ...secretsOfTool(tool, server, config, env, used).map(({ from }) => from),
    ...headersOf(tool, [], server)
      .filter(({ name }) => isSecretHeader(name))
      .map(({ name }) => `the header ${quote(name)}`),
  ])
}

function print({ name, redact, credentials }: Server | McpServer, from: readonly string[]): void {
  const all = new Set([...from, ...(credentials ? ['the tokens of `credentials`'] : [])])
  const reasons = redact === 'off' || all.size === 0 ? ['nothing'] : [...all]
  process.stdout.write(`${printable(`${name}: masked in answers: ${reasons.join('; ')}`)}\n`)
}
