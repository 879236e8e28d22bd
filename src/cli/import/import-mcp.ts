import { join } from 'node:path'
import { Command } from 'commander'
import { importServers } from '../../import/mcp-configurations.ts'
import { counted, shellWord } from '../../text/index.ts'
import { configurationName, urlPrefix } from '../options.ts'
import { ownCommand } from '../own-command.ts'
import { lineOrText } from './fetch-text.ts'
import { finish, type OutputFlags, reasons, refuse, withEnv } from './report.ts'

type Flags = OutputFlags & { name?: string; prefix?: string }

export function mcpCommand(exit: (code: number) => void): Command {
  const command = new Command('mcp')
    .description(
      'Make configurations from the MCP servers of a client or proxy: Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, TBXark mcp-proxy, and command lines of supergateway, mcp-proxy, mcp-remote and docker. Secrets become variables of the environment.',
    )
    .argument('<file|command>', 'file, - for standard input, or a command line in quotes')
    .option('--name <name>', 'name of the configuration, where there is one', configurationName)
    .option('--prefix <path>', 'one endpoint for all servers, in one configuration', urlPrefix)
    .action(async (from: string, flags: Flags) => exit(await importMcp(from, flags)))
  return withEnv(command)
}

async function importMcp(from: string, { name, prefix, ...flags }: Flags): Promise<number> {
  const source = await lineOrText(from)
  const { file } = source
  const made = importServers(source, { name, prefix })
  if (made.findings || made.fault !== undefined) return refuse(made, source, `no MCP servers in ${file}`)
  const { configurations, skipped, notes, logins, variables, imported } = made
  const isWritten = flags.output !== undefined
  const several = configurations.length > 1
  if (!isWritten && flags.format === 'text' && several)
    throw new Error(
      `${file} has ${configurations.length} MCP servers, and each becomes a configuration: write them to a folder with -o, or give them one endpoint with --prefix /all`,
    )
  const pathOf = (own: string) => join(flags.output ?? '', `${own}.yaml`)
  return finish(
    {
      code: imported > 0 ? 0 : 1,
      lines: [
        `${file}: ${counted(imported + skipped.length, 'MCP server')}, ${imported} imported, ${skipped.length} skipped`,
        ...reasons(
          skipped.map((one) => [one.reason, one.name]),
          'skipped',
        ),
        ...notes.map((one) => `  ${one.name}: ${one.note}`),
      ],
      files: new Map(configurations.map((one) => [pathOf(one.name), { text: one.text, about: one.prefix }])),
      variables,
      advice: [
        ...(logins.length > 0 ? loginLines(logins) : []),
        ...(several
          ? ['', 'To serve all of them at one endpoint, import again with', '  --prefix /all']
          : []),
      ],
      json: {
        ...{ skipped, notes, logins },
        configurations: configurations.map((one) => ({
          ...{ name: one.name, prefix: one.prefix },
          ...(isWritten ? { file: pathOf(one.name) } : { text: one.text }),
        })),
      },
    },
    flags,
  )
}

/** Tells how to log in at the servers that may ask for a person. */
function loginLines(names: readonly string[]): string[] {
  return [
    '',
    `Where one of these asks for a login, add \`vault\` to the settings (\`${ownCommand('.')} explain missing-vault\`), and run`,
    ...names.map((name) => `  ${ownCommand('.')} login ${shellWord(name)}`),
  ]
}
