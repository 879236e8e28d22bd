import { Command } from 'commander'
import { foreignFile } from '../../config/foreign-file.ts'
import { curlExamples } from '../../import/curl.ts'
import { harExamples } from '../../import/har.ts'
import { postmanExamples } from '../../import/postman.ts'
import { type Examples, importExamples } from '../../import/requests.ts'
import type { Json } from '../../json/index.ts'
import { parseText } from '../../openapi/open-document.ts'
import { configurationName, urlPrefix } from '../options.ts'
import { fetchText, lineOrText } from './fetch-text.ts'
import { finishOperations } from './operations-report.ts'
import { type OutputFlags, refuse, withEnv } from './report.ts'

type Flags = OutputFlags & { name?: string; prefix?: string }

/** A kind of recorded requests. */
interface Kind {
  /** Name with its article. */
  noun: string
  description: string
  argument: [name: string, description: string]
  read(value: Json, name: string | undefined): Examples | { fault: string }
  /** What to do about a file without requests; absent: `read` refuses it. */
  ifEmpty?: string
}

const KINDS = {
  postman: {
    noun: 'a Postman collection',
    description: 'Make configurations from a Postman collection (v2.0 or v2.1).',
    argument: ['<file>', 'the exported collection; - for standard input'],
    read: postmanExamples,
    ifEmpty: 'Export a collection that has requests',
  },
  curl: {
    noun: 'a command line of curl',
    description: 'Make a configuration from command lines of curl.',
    argument: ['<command|file>', 'the command line in quotes, or a file of them; - for standard input'],
    read: (lines) => curlExamples(String(lines)),
  },
  har: {
    noun: 'a HAR file',
    description: 'Make configurations from the API calls that a browser recorded as HAR.',
    argument: ['<file>', 'the recording; - for standard input'],
    read: harExamples,
    ifEmpty:
      'Call the API while the developer tools of the browser are open, and save what they recorded as HAR',
  },
} satisfies Record<string, Kind>

/** `plantgw import postman`, `curl` and `har`. */
export function requestsCommands(exit: (code: number) => void): Command[] {
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[]
  return kinds.map((kind) => {
    const { description, argument }: Kind = KINDS[kind]
    const command = new Command(kind)
      .description(description)
      .argument(...argument)
      .option('--name <name>', 'name of the configuration (default: from the file)', configurationName)
      .option('--prefix <path>', 'prefix of the tools (default: / and the name)', urlPrefix)
      .action(async (from: string, flags: Flags) => exit(await importRequests(kind, from, flags)))
    return withEnv(command)
  })
}

async function importRequests(kind: keyof typeof KINDS, from: string, flags: Flags): Promise<number> {
  const { noun, read, ifEmpty }: Kind = KINDS[kind]
  const source = await (kind === 'curl' ? lineOrText : fetchText)(from)
  const { file, text } = source
  const parsed = parseText(source)
  const isNot = `${file} is not ${noun}`
  if (kind !== 'curl' && 'findings' in parsed) return refuse(parsed, source, isNot)
  const { name, prefix } = flags
  const value = 'value' in parsed ? parsed.value : null
  const found = read(kind === 'curl' ? text : value, name)
  if ('fault' in found) {
    const foreign = foreignFile(value, kind, file)
    const fault = foreign ? `it is ${foreign.what}. ${foreign.hint}` : found.fault
    return refuse({ fault }, source, isNot)
  }
  const made = importExamples(source, found, {
    ...(name !== undefined && { name }),
    ...(prefix !== undefined && { prefix }),
    made: `Made by plantgw import ${kind}.`,
  })
  if (made.fault !== undefined || made.findings)
    throw new Error(`${file}: ${made.fault ?? 'no description can be made of it'}`)
  if (made.operations === 0 && ifEmpty) made.notes.push(ifEmpty)
  return finishOperations(made, file, flags, made.values)
}
