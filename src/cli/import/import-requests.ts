import { Command } from 'commander'
import { foreignFile } from '../../config/foreign-file.ts'
import { curlExamples } from '../../import/curl.ts'
import { harExamples } from '../../import/har.ts'
import { postmanExamples } from '../../import/postman.ts'
import { type Examples, importExamples } from '../../import/requests.ts'
import type { Json } from '../../json/index.ts'
import { parseText } from '../../openapi/open-document.ts'
import { formatOption } from '../options.ts'
import { printFindings } from '../output.ts'
import { fetchText } from './fetch-text.ts'
import { configurationName, urlPrefix } from './import-options.ts'
import { reportImported } from './write-imported.ts'

interface Flags {
  output?: string
  force?: boolean
  name?: string
  prefix?: string
  format: 'text' | 'json'
}

/** A kind of request examples. */
interface Kind {
  command: 'postman' | 'har' | 'curl'
  /** Name with its article. */
  noun: string
  read(value: Json, name: string | undefined): Examples | { fault: string }
}

export function postmanCommand(exit: (code: number) => void): Command {
  const kind: Kind = { command: 'postman', noun: 'a Postman collection', read: postmanExamples }
  return requestsCommand(
    kind,
    'Make configurations from a Postman collection (v2.0 or v2.1).',
    exit,
  ).argument('<file>', 'the exported collection; - for standard input')
}

export function harCommand(exit: (code: number) => void): Command {
  const kind: Kind = { command: 'har', noun: 'a HAR file', read: harExamples }
  return requestsCommand(
    kind,
    'Make configurations from the API calls that a browser recorded as HAR.',
    exit,
  ).argument('<file>', 'the recording; - for standard input')
}

export function curlCommand(exit: (code: number) => void): Command {
  const kind: Kind = {
    command: 'curl',
    noun: 'a command line of curl',
    read: (line) => curlExamples(String(line)),
  }
  return requestsCommand(kind, 'Make a configuration from a command line of curl.', exit).argument(
    '<command>',
    'the command line in quotes; - for standard input',
  )
}

function requestsCommand(kind: Kind, description: string, exit: (code: number) => void): Command {
  return new Command(kind.command)
    .description(description)
    .option('-o, --output <folder>', 'folder for the files (default: standard output)')
    .option('--force', 'overwrite existing files')
    .option('--name <name>', 'name of the configuration (default: from the file)', configurationName)
    .option('--prefix <path>', 'prefix of the tools (default: / and the name)', urlPrefix)
    .addOption(formatOption())
    .action(async (from: string, flags: Flags) => exit(await importRequests(kind, from, flags)))
}

async function importRequests({ command, noun, read }: Kind, from: string, flags: Flags): Promise<number> {
  const isLine = command === 'curl'
  const { text } = isLine && from !== '-' ? { text: from } : await fetchText(from)
  const file = isLine ? 'the command line' : from
  const parsed = isLine ? { value: text } : parseText({ file, text })
  if ('findings' in parsed) {
    printFindings(parsed.findings, new Map([[file, text]]))
    return 1
  }
  const { name, prefix } = flags
  const found = read(parsed.value, name)
  if ('fault' in found) {
    const foreign = isLine ? undefined : foreignFile(parsed.value, command, file)
    const reason = foreign ? `it is ${foreign.what}. ${foreign.hint}` : found.fault
    process.stderr.write(`plantgw: ${file} is not ${noun}: ${reason}\n`)
    return 1
  }
  const options = { ...(name !== undefined && { name }), ...(prefix !== undefined && { prefix }) }
  const made = importExamples({ file, text }, found, {
    ...options,
    made: `Made by plantgw import ${command}.`,
  })
  if (made.fault !== undefined || made.findings)
    throw new Error(`${file}: ${made.fault ?? 'no description can be made of it'}`)
  return reportImported(made, file, flags)
}
