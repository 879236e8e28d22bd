import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command, InvalidArgumentError } from 'commander'
import { importOpenApi, readOthers } from '../../openapi/index.ts'
import { addHeader, append, formatOption } from '../options.ts'
import { printFindings } from '../output.ts'
import { writeNew } from '../write-new.ts'
import { fetchOther, fetchText } from './fetch-text.ts'
import { importJson, importText, tooManyText } from './import-text.ts'

interface ImportFlags {
  output?: string
  force?: boolean
  name?: string
  prefix?: string
  server?: string
  header: Record<string, string>
  tag: string[]
  include: RegExp[]
  exclude: RegExp[]
  format: 'text' | 'json'
}

export function importCommand(exit: (code: number) => void): Command {
  const openapi = new Command('openapi')
    .description('Make configurations from an OpenAPI 3.0 or 3.1 or Swagger 2.0 description.')
    .argument('<file|url>', 'JSON or YAML; - for standard input')
    .option('-o, --output <folder>', 'folder for the files (default: standard output)')
    .option('--force', 'overwrite existing files')
    .option('--name <name>', 'name of the configuration (default: from the title)', configurationName)
    .option('--prefix <path>', 'prefix of the tools (default: / and the name)', urlPrefix)
    .option('--server <url>', "base URL of the API instead of the description's", baseUrl)
    .option('--header <name:value>', 'header of every tool, a template; may be repeated', addHeader, {})
    .option('--tag <tag>', 'only operations with this tag; may be repeated', append, [])
    .option(
      '--include <regex>',
      'only operations whose id or `GET /path` matches; may be repeated',
      addRegex,
      [],
    )
    .option('--exclude <regex>', 'skip operations that match; may be repeated', addRegex, [])
    .addOption(formatOption())
    .action(async (from: string, flags: ImportFlags) => exit(await importFrom(from, flags)))
  return new Command('import').description('Make configurations from API descriptions.').addCommand(openapi)
}

function addRegex(text: string, before: RegExp[]): RegExp[] {
  try {
    return [...before, new RegExp(text)]
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

function configurationName(text: string): string {
  if (!/^[a-z0-9](?:[a-z0-9_.-]{0,38}[a-z0-9])?$/i.test(text))
    throw new InvalidArgumentError('Use at most 40 letters, digits, -, _ and ., for example shop.')
  return text
}

function urlPrefix(text: string): string {
  if (!/^(?:\/[\w.~-]+)+\/?$/.test(text)) throw new InvalidArgumentError('Use a path, for example /shop.')
  return text
}

function baseUrl(text: string): string {
  if (!/^https?:\/\/[^\s/?#@"{}\\]+(?:\/[^\s?#"{}\\]*)?$/i.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('Use a URL, for example https://api.example.com/v1.')
  return text
}

async function importFrom(from: string, flags: ImportFlags): Promise<number> {
  const { header: headers, tag: tags, output, force, format, ...selected } = flags
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
  const files = new Map(made.configurations.map((one) => [join(output ?? '', `${one.name}.yaml`), one]))
  const written = output !== undefined
  if (written) writeNew(new Map([...files].map(([path, one]) => [path, one.text])), force)
  const report = importText(made, files, from, written)
  if (format === 'json') process.stdout.write(importJson(made, files, written))
  else if (written) process.stdout.write(report)
  else {
    if (files.size > 1) throw new Error(tooManyText(made, files))
    for (const one of files.values()) process.stdout.write(one.text)
    process.stderr.write(report)
  }
  return made.imported > 0 ? 0 : 1
}
