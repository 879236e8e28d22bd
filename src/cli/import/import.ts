import { pathToFileURL } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { type Imported, importOpenApi, readOthers } from '../../openapi/index.ts'
import { addHeader, append, baseUrl, configurationName, urlPrefix } from '../options.ts'
import { fetchOther, fetchText } from './fetch-text.ts'
import { mcpCommand } from './import-mcp.ts'
import { requestsCommands } from './import-requests.ts'
import { unlaCommand } from './import-unla.ts'
import { finishOperations, listJson, listText } from './operations-report.ts'
import { type OutputFlags, refuse, withOutput } from './report.ts'
import { updateFiles } from './update-imported.ts'

interface ImportFlags extends OutputFlags {
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
  update?: string
  from?: string
  dryRun?: boolean
}

export function importCommand(exit: (code: number) => void): Command {
  const command = new Command('import').description('Make configurations from files of other programs.')
  const all = [openapiCommand(exit), mcpCommand(exit), unlaCommand(exit), ...requestsCommands(exit)]
  for (const one of all) command.addCommand(one)
  return command
}

function openapiCommand(exit: (code: number) => void): Command {
  const command = new Command('openapi')
    .description('Make configurations from an OpenAPI 3.0 or 3.1 or Swagger 2.0 description.')
    .argument('<file|url>', 'JSON or YAML; - for standard input')
    .option('--name <name>', 'name of the configuration (default: from the title)', configurationName)
    .option('--prefix <path>', 'prefix of the tools (default: / and the name)', urlPrefix)
    .option('--server <url>', "base URL of the API instead of the description's", baseUrl)
    .option('--header <name:value>', 'header for every tool (a template); may be repeated', addHeader, {})
    .option(
      '--bind <name=value>',
      'send this value for an argument instead of asking the model, such as owner=${OWNER}; may be repeated',
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
    .option('--update <file|folder>', 'merge the changes since --from into files of an earlier import')
    .option('--from <file|url>', 'previous version of the description, for --update')
    .option('--dry-run', 'print what --update would change, and write nothing')
    .action(async (from: string, flags: ImportFlags) => exit(await importFrom(from, flags)))
  return withOutput(command)
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
  const { format, list, update, from: old, dryRun = false } = flags
  if ((update === undefined) !== (old === undefined))
    throw new Error('--update and --from belong together: --from names the version that was imported')
  const made = await readImported(from, flags)
  if (typeof made === 'number') return made
  if (list) {
    process.stdout.write(format === 'json' ? listJson(made) : listText(made, from))
    return made.operations > 0 ? 0 : 1
  }
  if (update === undefined || old === undefined) return finishOperations(made, from, flags)
  const before = await readImported(old, flags)
  return typeof before === 'number' ? before : updateFiles(update, before, made, { dryRun, format })
}

/** The import of a description; or the exit code if it is none. */
async function readImported(from: string, flags: ImportFlags): Promise<Imported | number> {
  const { header: headers, tag: tags, name, prefix, server, bind, drop, include, exclude } = flags
  const source = await fetchText(from)
  const { base } = source
  const place = base ?? (from === '-' ? undefined : pathToFileURL(from).href)
  const others = place && (await readOthers(source, place, (url) => fetchOther(url, place)))
  const options = {
    ...{ headers, tags, bind, drop, include, exclude },
    ...(name !== undefined && { name }),
    ...(prefix !== undefined && { prefix }),
    ...(server !== undefined && { server }),
    ...(base && { base }),
    ...(others && { others }),
  }
  const made = importOpenApi(source, options)
  if (made.findings || made.fault !== undefined)
    return refuse(made, source, `${from} is not an OpenAPI description`)
  const { operations, notSelected, notes } = made
  if (operations === 0)
    notes.push('Give a description of an API with `paths`: webhooks and components cannot be called')
  else if (operations === notSelected) notes.push('Nothing is selected: --list shows the tags and operations')
  return made
}
