import { constants, open } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { Argument, Command } from 'commander'
import type { Settings } from '../../config/index.ts'
import {
  CLIENT_NAMES,
  type Client,
  type ClientName,
  clientOf,
  type Endpoint,
  inputsOf,
  newFile,
  openFile,
  urlOf,
} from '../../import/clients/index.ts'
import type { Json } from '../../json/index.ts'
import { type Owner, reachFile, replaceFile } from '../../store/file.ts'
import { isIdentifier, printable, printableLines } from '../../text/index.ts'
import { noSuch } from '../options.ts'
import { loadSettings, settingsOption } from '../settings.ts'
import { baseOf, type EndpointFlags, endpointsOf, prefixOf } from './chosen-prefixes.ts'

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
      '\nTokens are not written: the client reads them from the environment variable,\nor asks for them.',
    )
    .action(async (client: ClientName, prefixes: string[], flags: ConnectFlags) =>
      exit(await connect(client, prefixes, flags)),
    )
}

function clientName(given: string): ClientName {
  const found = CLIENT_NAMES.find((name) => name === given)
  if (found) return found
  throw new Error(noSuch(`unknown client ${given}`, given, CLIENT_NAMES))
}

function variableName(given: string): string {
  if (isIdentifier(given)) return given
  throw new Error(
    `--token-env must be the name of an environment variable, not a token; got ${printable(given)}`,
  )
}

async function connect(name: ClientName, prefixes: readonly string[], flags: ConnectFlags): Promise<number> {
  const { settings, code } = loadSettings(flags.settings)
  if (!settings) return code
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

/** Maximum bytes of a client's file. */
const MAX_SIZE = 32 * 1024 * 1024

interface FileBefore {
  text: string
  /** Permissions. */
  mode: number
  owner: Owner
}

/**
 * The text of a file; undefined if missing.
 * @throws Error with the file and the reason
 */
export async function readText(path: string): Promise<FileBefore | undefined> {
  try {
    // A named pipe without a writer must not block.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const found = await handle.stat()
      const { size, mode, uid, gid } = found
      if (!found.isFile()) throw new Error('it is not a file')
      if (size > MAX_SIZE) throw new Error(`it is larger than ${MAX_SIZE / 1024 / 1024} MiB`)
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await handle.readFile())
      return { text, mode: mode & 0o777, owner: { uid, gid } }
    } finally {
      await handle.close()
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    const why = error instanceof TypeError ? 'it is not UTF-8' : message
    throw new Error(`cannot read ${path}: ${why}; nothing was written`)
  }
}

/**
 * Replaces a file atomically, following symbolic links, and keeps a backup. Owner and permissions stay; only the user
 * can read a new file.
 * @param before the text read: a file changed since then is not written
 * @returns the backup; undefined: the file is new
 * @throws Error with the reason
 */
export async function replaceText(
  path: string,
  before: FileBefore | undefined,
  text: string,
): Promise<string | undefined> {
  try {
    const target = await reachFile(path)
    // Replacing a file ignores its own permissions, so they are checked.
    if (before && !(before.mode & 0o222)) throw new Error('it is read-only; nothing was written')
    const now = await readText(target)
    if (now?.text !== before?.text)
      throw new Error('another program changed it meanwhile; run the command again')
    const owner = before && ownerToKeep(before.owner)
    const write = (to: string, content: string) =>
      replaceFile(to, `${target}.plantgw-new`, [content], before?.mode ?? 0o600, owner)
    const backup = before && `${target}.plantgw-backup`
    if (backup) await write(backup, before.text)
    await write(target, text)
    return backup
  } catch (error) {
    throw new Error(`cannot write ${path}: ${(error as Error).message}`)
  }
}

/**
 * Only root can keep another owner; other users own the new file.
 * @throws Error for a file of another user
 */
function ownerToKeep(owner: Owner): Owner | undefined {
  const user = process.geteuid?.()
  if (user === 0) return owner
  if (user !== undefined && user !== owner.uid)
    throw new Error('it belongs to another user; nothing was written')
  return undefined
}
