import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { parse } from 'yaml'
import { readSettings } from '../checks/index.ts'
import { filesOf } from '../config/index.ts'
import { isObject, type Json } from '../json/index.ts'
import { openStore } from '../store/index.ts'
import { settingsSource } from './settings.ts'

/** Milliseconds allowed for reading, as the user waits for completion. */
const READ_TIMEOUT = 700
/** Options that take a value. */
const VALUED = new Set(
  '-s --settings --env-file --tenant --header --token --url -m --message --response --pid --from --to'.split(
    ' ',
  ),
)

/** Prints completions of the next word for the `completion` scripts: one word a line, nothing on errors. */
export function completeCommand(): Command {
  return new Command('complete').argument('[words...]').action(async (words: string[]) => {
    const found = await wordsAfter(words).catch(() => [])
    process.stdout.write(found.map((word) => `${word}\n`).join(''))
  })
}

/** Kinds of each command's arguments; the last one repeats. */
const ARGUMENTS: Readonly<Record<string, readonly Kind[]>> = {
  call: ['prefixes', 'tools'],
  tools: ['prefixes'],
  search: ['prefixes', 'none'],
  logout: ['prefixes', 'none'],
  connect: ['none', 'prefixes'],
  publish: ['prefixes', 'none'],
  render: ['none', 'tools', 'none'],
  reload: ['configurations', 'none'],
  'config get': ['configurations', 'none'],
  'config delete': ['configurations'],
  'config history': ['configurations', 'none'],
  'config diff': ['configurations', 'none'],
  'config rollback': ['configurations', 'none'],
}

type Kind = 'prefixes' | 'tools' | 'configurations' | 'none'

/** Whether arguments of a command are completed from configurations. */
export function isCompleted(path: readonly string[]): boolean {
  return Object.hasOwn(ARGUMENTS, path.join(' '))
}

/** The same for the value of an option. */
export function isCompletedOption(path: readonly string[], flag: string): boolean {
  return path.join(' ') === 'serve' && flag === '--prefix'
}

/** @param words after `plantgw` and before the one being typed */
async function wordsAfter(words: readonly string[]): Promise<string[]> {
  if (words.at(-1) === '--prefix') return sorted((await known(words)).flatMap(({ prefixes }) => prefixes))
  if (VALUED.has(words.at(-1) ?? '')) return []
  const plain = words.filter((word, i) => word && !word.startsWith('-') && !VALUED.has(words[i - 1] ?? ''))
  const path = plain.slice(0, plain[0] === 'config' ? 2 : 1).join(' ')
  const kinds = Object.hasOwn(ARGUMENTS, path) ? ARGUMENTS[path]! : []
  const given = plain.slice(path.split(' ').length)
  const kind = kinds[given.length] ?? kinds.at(-1)
  if (kind === undefined || kind === 'none' || (path === 'call' && given.length > 1)) return []
  if (kind !== 'tools') return sorted((await known(words)).flatMap((one) => one[kind]))
  const [target = ''] = given
  if (path === 'render') return sorted(namesOf(await readFile(target, 'utf8')).tools.map(([, name]) => name))
  return sorted((await known(words)).flatMap((one) => toolsAt(one, target)))
}

function sorted(words: readonly string[]): string[] {
  return [...new Set(words)].sort()
}

/** Names in one configuration. */
interface Names {
  configurations: string[]
  prefixes: string[]
  /** Prefixes and the servers behind them, as named by the router. */
  routers: [prefix: string, servers: string[]][]
  /** Servers that show a tool; undefined: any of the configuration's. */
  tools: [servers: string[] | undefined, name: string][]
}

function toolsAt({ routers, tools }: Names, prefix: string): string[] {
  const served = routers.filter(([at]) => at === prefix).flatMap(([, servers]) => servers)
  if (!served.length) return []
  return tools.flatMap(([servers, name]) =>
    !servers || servers.some((server) => served.includes(server)) ? name : [],
  )
}

function namesOf(text: string): Names {
  const value = parse(text, { logLevel: 'silent' }) as Json
  const of = (key: string) => {
    const list = isObject(value) ? value[key] : undefined
    return Array.isArray(list) ? list.filter(isObject) : []
  }
  const name = isObject(value) && typeof value.name === 'string' ? [value.name] : []
  const servers = [...of('servers'), ...of('mcpServers')].map((server) => String(server.name))
  const routers = of('routers').map((router): [string, string[]] => [
    String(router.prefix),
    typeof router.server === 'string' ? [router.server] : servers,
  ])
  const allowed = of('servers').filter(({ allowedTools }) => Array.isArray(allowedTools))
  const tools = of('tools').map((tool): Names['tools'][number] => {
    const hidden = allowed.filter(({ allowedTools }) => !(allowedTools as Json[]).includes(tool.name ?? ''))
    const showing = servers.filter((server) => !hidden.some((one) => one.name === server))
    return [allowed.length ? showing : undefined, String(tool.name)]
  })
  return { configurations: name, prefixes: routers.map(([prefix]) => prefix), routers, tools }
}

/** The configurations of the settings; databases are skipped, as they may be slow. */
async function known(words: readonly string[]): Promise<Names[]> {
  const at = words.findIndex((word) => word === '-s' || word === '--settings')
  const { settings } = readSettings(settingsSource(at < 0 ? undefined : words[at + 1]), process.env, {})
  const storage = settings?.storage
  const deadline = performance.now() + READ_TIMEOUT
  const names: Names[] = []
  const add = (text: string) => {
    try {
      names.push(namesOf(text))
    } catch {
      // Unreadable files have no names.
    }
  }
  if (storage?.type === 'lowdb') {
    const store = await openStore(storage, process.env)
    for (const { text } of (await store.readAll()).configurations) add(text)
    await store.close()
  }
  for (const file of storage?.type === 'directory' ? await filesOf(storage.path, []) : []) {
    if (performance.now() > deadline) break
    add(await readFile(file, 'utf8'))
  }
  return names
}
