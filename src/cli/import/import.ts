import { pathToFileURL } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { importOpenApi, readOthers } from '../../openapi/index.ts'
import { addHeader, append, formatOption } from '../options.ts'
import { printFindings } from '../output.ts'
import { fetchOther, fetchText } from './fetch-text.ts'
import { mcpCommand } from './import-mcp.ts'
import { baseUrl, configurationName, urlPrefix } from './import-options.ts'
import { curlCommand, harCommand, postmanCommand } from './import-requests.ts'
import { unlaCommand } from './import-unla.ts'
import { listJson, listText } from './list-text.ts'
import { reportImported } from './write-imported.ts'

interface ImportFlags {
  output?: string
  force?: boolean
  name?: string
  prefix?: string
  server?: string
  header: Record<string, string>
  bind: Record<string, string>
  drop: string[]
  tag: string[]
  include: RegExp[]
  exclude: RegExp[]
  list?: boolean
  format: 'text' | 'json'
}

export function importCommand(exit: (code: number) => void): Command {
  return new Command('import')
    .description('Make configurations from files of other programs.')
    .addCommand(openapiCommand(exit))
    .addCommand(mcpCommand(exit))
    .addCommand(unlaCommand(exit))
    .addCommand(postmanCommand(exit))
    .addCommand(curlCommand(exit))
    .addCommand(harCommand(exit))
}

function openapiCommand(exit: (code: number) => void): Command {
  return new Command('openapi')
    .description('Make configurations from an OpenAPI 3.0 or 3.1 or Swagger 2.0 description.')
    .argument('<file|url>', 'JSON or YAML; - for standard input')
    .option('-o, --output <folder>', 'folder for the files (default: standard output)')
    .option('--force', 'overwrite existing files')
    .option('--name <name>', 'name of the configuration (default: from the title)', configurationName)
    .option('--prefix <path>', 'prefix of the tools (default: / and the name)', urlPrefix)
    .option('--server <url>', "base URL of the API instead of the description's", baseUrl)
    .option('--header <name:value>', 'header of every tool, a template; may be repeated', addHeader, {})
    .option(
      '--bind <name=value>',
      'send this value instead of asking for the argument, such as owner=${OWNER}; may be repeated',
      addBinding,
      {},
    )
    .option('--drop <name>', 'leave out an optional argument; may be repeated', append, [])
    .option('--tag <tag>', 'only operations with this tag; may be repeated', append, [])
    .option(
      '--include <regex>',
      'only operations whose id or `GET /path` matches; may be repeated',
      addRegex,
      [],
    )
    .option('--exclude <regex>', 'skip operations that match; may be repeated', addRegex, [])
    .option('--list', 'print tags and operations, and write nothing')
    .addOption(formatOption())
    .action(async (from: string, flags: ImportFlags) => exit(await importFrom(from, flags)))
}

/** @throws InvalidArgumentError */
function addBinding(text: string, before: Record<string, string>): Record<string, string> {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('Use a name and a value, for example owner=acme.')
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) }
}

function addRegex(text: string, before: RegExp[]): RegExp[] {
  try {
    return [...before, new RegExp(text)]
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

async function importFrom(from: string, flags: ImportFlags): Promise<number> {
  const { header: headers, tag: tags, output, force, format, list, ...selected } = flags
  const { text, base } = await fetchText(from)
  const place = base ?? (from === '-' ? undefined : pathToFileURL(from).href)
  const others = place && (await readOthers({ file: from, text }, place, (url) => fetchOther(url, place)))
  const options = { ...selected, headers, tags, ...(base && { base }), ...(others && { others }) }
  const made = importOpenApi({ file: from, text }, options)
  if (made.findings) {
    printFindings(made.findings, new Map([[from, text]]))
    return 1
  }
  if (made.fault !== undefined) {
    process.stderr.write(`plantgw: ${from} is not an OpenAPI description: ${made.fault}\n`)
    return 1
  }
  if (list) {
    process.stdout.write(format === 'json' ? listJson(made) : listText(made, from))
    return made.operations > 0 ? 0 : 1
  }
  return reportImported(made, from, { output, force, format })
}
