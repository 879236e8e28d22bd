import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { Argument, Command } from 'commander'
import {
  CLIENT_NAMES,
  type Client,
  type ClientName,
  clientOf,
  type Endpoint,
  inputsOf,
  newFile,
  urlOf,
} from '../../clients/index.ts'
import { openFile } from '../../clients/open-file.ts'
import type { Settings } from '../../config/index.ts'
import { printable, printableLines } from '../../findings/frame.ts'
import type { Json } from '../../json/index.ts'
import { noSuch } from '../options.ts'
import { loadSettings, settingsOption } from '../settings.ts'
import { baseOf, type EndpointFlags, endpointsOf, prefixOf } from './chosen-prefixes.ts'
import { readText, replaceText } from './replace-text.ts'

interface ConnectFlags extends EndpointFlags {
  settings?: string
  project?: boolean
  print?: boolean
  remove?: boolean
  force?: boolean
}

export function connectCommand(exit: (code: number) => void): Command {
  return new Command('connect')
    .description(
      'Add prefixes of the gateway to the configuration file of an MCP client. The rest of the file does not change; the previous file is kept as a backup.',
    )
    .addArgument(new Argument('<client>', 'name of the client').choices(CLIENT_NAMES).argParser(clientName))
    .argument('[prefixes...]', 'for example /garden (default: all that the gateway serves)')
    .addOption(settingsOption("the gateway's settings file"))
    .option(
      '--url <url>',
      'address at which the client reaches the gateway (default: `publicUrl` of the settings, else their host and port)',
    )
    .option(
      '--token-env <name>',
      'environment variable that contains the bearer token (default: PLANTGW_TOKEN where a prefix requires a token)',
      variableName,
    )
    .option('--project', "change the project's file in this folder instead of the user's")
    .option('--print', 'print what would be written or removed, and write nothing')
    .option('--remove', 'remove these prefixes, or without prefixes all servers that point to the gateway')
    .option('--force', 'replace servers of the same name, whatever their addresses are')
    .addHelpText(
      'after',
      '\nTokens are not written: the client reads them from the environment variable, or asks for them.',
    )
    .action(async (client: ClientName, prefixes: string[], flags: ConnectFlags) =>
      exit(await connect(client, prefixes, flags)),
    )
}

function clientName(given: string): ClientName {
  const found = CLIENT_NAMES.find((name) => name === given)
  if (found) return found
  throw new Error(noSuch(`no client is named ${given}`, given, CLIENT_NAMES))
}

function variableName(given: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(given)) return given
  throw new Error(
    `--token-env must be the name of an environment variable, not a token; got ${printable(given)}`,
  )
}

async function connect(name: ClientName, prefixes: readonly string[], flags: ConnectFlags): Promise<number> {
  const { settings } = loadSettings(flags.settings)
  if (!settings) return 1
  const client = clientOf(name)
  if (flags.remove) return disconnect(name, prefixes, flags, settings)
  const endpoints = await endpointsOf(prefixes, flags, settings)
  if (endpoints.length === 0) throw new Error('the gateway serves no prefix to connect to')
  const set = new Map(endpoints.map((one) => [one.name, client.entry(one, process.platform)]))
  if (flags.print) {
    process.stdout.write(printableLines(newFile(client, endpoints, process.platform)))
    return 0
  }
  const path = pathOf(name, flags)
  const before = await readText(path)
  const file = openFile(client, path, before?.text ?? '')
  if (!flags.force) refuseOthers(file.entries, endpoints, path)
  const text = file.change({ set, remove: [], inputs: inputsOf(client, endpoints) })
  const written =
    text === before?.text
      ? `${path} has all of it already`
      : wroteLine(path, await replaceText(path, before, text))
  process.stdout.write(printableLines(report(client, written, endpoints)))
  return 0
}

/** @throws Error for another server of the same name */
function refuseOthers(
  entries: ReadonlyMap<string, Json>,
  endpoints: readonly Endpoint[],
  path: string,
): void {
  for (const { name, url } of endpoints) {
    if (!entries.has(name)) continue
    const other = urlOf(entries.get(name))
    if (other === url) continue
    const where = other === undefined ? '' : ` (${other})`
    throw new Error(
      `${path} already has a server \`${name}\` that leads elsewhere${where}; nothing was written. --force replaces it`,
    )
  }
}

async function disconnect(
  name: ClientName,
  prefixes: readonly string[],
  flags: ConnectFlags,
  settings: Settings,
): Promise<number> {
  const client = clientOf(name)
  const path = pathOf(name, flags)
  const base = baseOf(flags, settings)
  const before = await readText(path)
  const file = openFile(client, path, before?.text ?? '')
  const urls = prefixes.map((prefix) => `${base}${prefixOf(prefix).replace(/^\/$/, '')}/mcp`)
  const isMeant = (url = '') => (urls.length ? urls.includes(url) : url.startsWith(`${base}/`))
  const remove = [...file.entries].filter(([, entry]) => isMeant(urlOf(entry))).map(([name]) => name)
  const missing = prefixes.filter(
    (_, i) => ![...file.entries.values()].some((entry) => urlOf(entry) === urls[i]),
  )
  if (missing.length > 0 || remove.length === 0) {
    const what = missing.length > 0 ? missing.join(', ') : base
    process.stdout.write(printableLines(`${path} has no server for ${what}\n`))
  }
  if (remove.length > 0) {
    const text = file.change({ set: new Map(), remove })
    if (!flags.print) await replaceText(path, before, text)
    const what = flags.print ? 'Would be removed from' : 'Removed from'
    process.stdout.write(printableLines(`${what} ${path}: ${remove.join(', ')}\n`))
  }
  return 0
}

/** @throws Error for a client without project files, or without a home folder */
function pathOf(name: ClientName, { project }: ConnectFlags): string {
  const client = clientOf(name)
  if (!project) {
    const path = client.file({ platform: process.platform, home: homedir(), env: process.env })
    if (isAbsolute(path)) return path
    throw new Error(
      `cannot find the file of ${client.label}: set HOME to the absolute path of your home folder; got ${path}`,
    )
  }
  if (client.project === undefined) throw new Error(`${name} has no file of a project: leave out --project`)
  return resolve(client.project)
}

function wroteLine(path: string, backup: string | undefined): string {
  return backup === undefined ? `Wrote ${path}` : `Wrote ${path}\nThe previous file is ${backup}`
}

function report(client: Client, written: string, endpoints: readonly Endpoint[]): string {
  const tokens = [...new Set(endpoints.flatMap(({ tokenEnv }) => tokenEnv ?? []))]
  return [
    written,
    '',
    ...endpoints.map(({ name, url }) => `  ${name}  ${url}`),
    '',
    ...(client.inputs
      ? tokens.map((name) => `${client.label} asks for the token (${name}) when it starts the server.`)
      : tokens.map((name) => `Set ${name} to your token in the environment of ${client.label}.`)),
    client.next,
    '',
  ].join('\n')
}
