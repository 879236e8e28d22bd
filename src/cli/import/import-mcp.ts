import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { type ImportedServers, importServers } from '../../import/mcp-configurations.ts'
import { formatOption } from '../options.ts'
import { jsonText, printFindings } from '../output.ts'
import { fetchText } from './fetch-text.ts'
import { configurationName } from './import-options.ts'
import { count, type Files, reasons, variableLines, writtenLines } from './import-text.ts'
import { filesOf, type OutputFlags, writeImported } from './write-imported.ts'

export function mcpCommand(exit: (code: number) => void): Command {
  return new Command('mcp')
    .description(
      'Make configurations from the MCP servers of a client or proxy: Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, TBXark mcp-proxy, and command lines of supergateway, mcp-proxy and mcp-remote. Secrets become variables of the environment.',
    )
    .argument('<file|command>', 'file, - for standard input, or a command line in quotes')
    .option('-o, --output <folder>', 'folder for the files (default: standard output)')
    .option('--force', 'overwrite existing files')
    .option('--name <name>', 'name of the configuration, where there is one server', configurationName)
    .addOption(formatOption())
    .action(async (from: string, flags: OutputFlags & { name?: string }) =>
      exit(await importMcp(from, flags)),
    )
}

async function importMcp(from: string, { name, ...flags }: OutputFlags & { name?: string }): Promise<number> {
  const isLine = /\s/.test(from.trim()) && !existsSync(from)
  const file = isLine ? 'the command line' : from
  const { text } = isLine ? { text: from } : await fetchText(from)
  const made = importServers({ file, text }, name)
  if (made.findings) {
    printFindings(made.findings, new Map([[file, text]]))
    return 1
  }
  if (made.fault !== undefined) {
    process.stderr.write(`plantgw: no MCP servers in ${file}: ${made.fault}\n`)
    return 1
  }
  const files = filesOf(made.configurations, flags.output)
  const written = flags.output !== undefined
  if (!written && flags.format === 'text' && files.size > 1)
    throw new Error(
      `${file} has ${files.size} MCP servers, and each becomes a configuration: write them to a folder with -o`,
    )
  return writeImported(files, flags, {
    code: files.size > 0 ? 0 : 1,
    text: serversText(made, files, file, written),
    json: () => serversJson(made, files, written),
  })
}

function serversText(
  { skipped, notes, variables }: ImportedServers,
  files: Files,
  from: string,
  written: boolean,
): string {
  const lines = [
    `${from}: ${count(files.size + skipped.length, 'MCP server')}, ${files.size} imported, ${skipped.length} skipped`,
    ...reasons(
      skipped.map(({ name, reason }) => [reason, name]),
      'skipped',
    ),
    ...notes.map(({ name, note }) => `  ${name}: ${note}`),
    ...(written ? writtenLines(files) : []),
    ...variableLines(variables),
  ]
  return `${lines.join('\n')}\n`
}

function serversJson(
  { configurations: _, ...rest }: ImportedServers,
  files: Files,
  written: boolean,
): string {
  const configurations = [...files].map(([file, { name, prefix, text }]) => ({
    name,
    prefix,
    ...(written ? { file } : { text }),
  }))
  return jsonText({ ...rest, configurations })
}
