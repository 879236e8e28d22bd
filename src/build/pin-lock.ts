import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Configuration, type McpServer, qualifiedName } from '../config/index.ts'
import { isFile } from '../config/plain-file.ts'
import { isObject, type Json, type JsonObject, parse, setOwn } from '../json/index.ts'
import type { Problem } from '../tools/index.ts'
import { digestOf, type Pinned } from '../upstream/view/pins.ts'

/** Declarations of a server when it was pinned. */
export interface Declared {
  instructions?: string
  /** By name. */
  tools: Readonly<Record<string, JsonObject>>
  prompts: Readonly<Record<string, JsonObject>>
}

/** The contents of a `plantgw.lock`: what MCP servers declare, by `qualifiedName`. */
export interface PinLock {
  version: 1
  servers: Readonly<Record<string, Declared>>
}

export const LOCK_NAME = 'plantgw.lock'
const EMPTY_LOCK: PinLock = { version: 1, servers: {} }

/** Bytes of a lock file that are read. */
const MAX_LOCK = 64 * 1024 * 1024

/** The lock file of a configuration: beside its file; of one that comes from elsewhere in the working folder. */
export function lockOf(file: string): string {
  return isFile(file) ? join(dirname(file), LOCK_NAME) : LOCK_NAME
}

/**
 * Reads a lock file; an empty lock where there is none.
 * @throws Error that names the file and says what is wrong with it
 */
export function readLock(path: string): PinLock {
  let text: string
  try {
    const size = statSync(path).size
    if (size > MAX_LOCK) throw new Error(`${path} has more than ${MAX_LOCK / 1024 / 1024} MiB`)
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY_LOCK
    throw error
  }
  const damaged = (what: string) =>
    new Error(`${path} ${what}: restore it, or delete it and run \`plantgw pin\``)
  let lock: Json
  try {
    lock = parse(text)
  } catch (error) {
    throw damaged(`is not JSON (${(error as Error).message})`)
  }
  if (!isObject(lock) || lock.version !== 1) throw damaged('is not a lock file of version 1')
  if (!isObject(lock.servers)) throw damaged('has no `servers`')
  for (const [name, declared] of Object.entries(lock.servers))
    if (!isDeclared(declared)) throw damaged(`has an entry \`${name}\` without \`tools\` and \`prompts\``)
  return lock as unknown as PinLock
}

function isDeclared(value: Json): boolean {
  if (!isObject(value)) return false
  const { tools, prompts, instructions } = value
  const lists = [tools, prompts].every((each) => isObject(each) && Object.values(each).every(isObject))
  return lists && (instructions === undefined || typeof instructions === 'string')
}

function pinnedOf({ instructions, tools, prompts }: Declared): Pinned {
  const digests = (all: Readonly<Record<string, JsonObject>>) =>
    new Map(Object.entries(all).map(([name, definition]) => [name, digestOf(definition)]))
  return {
    ...(instructions !== undefined && { instructions: digestOf(instructions) }),
    tools: digests(tools),
    prompts: digests(prompts),
  }
}

/** Definitions by their names; of equal names the last one counts. */
export function byName(definitions: readonly JsonObject[]): Record<string, JsonObject> {
  const all: JsonObject = {}
  for (const definition of definitions) setOwn(all, String(definition.name), definition)
  return all as Record<string, JsonObject>
}

interface Pin {
  /** Absent where nothing is compared. */
  pinned?: Pinned
  problem?: Omit<Problem, 'path'>
}

/** The lock files of one run, each read once. */
export class PinLocks {
  private readonly files = new Map<string, PinLock | Error>()

  /** The pin of a server, or the reason why it is unknown. Never throws. */
  of(file: string, configuration: Configuration, { name, pin }: McpServer): Pin {
    if (pin === 'off') return {}
    const path = lockOf(file)
    const lock = this.read(path)
    const severity = pin === 'block' ? ('error' as const) : ('warning' as const)
    if (lock instanceof Error)
      return {
        problem: { code: 'upstream-not-pinned', severity, message: lock.message, hint: 'Run `plantgw pin`' },
      }
    const key = qualifiedName(configuration, name)
    const declared = Object.hasOwn(lock.servers, key) ? lock.servers[key] : undefined
    if (declared) return { pinned: pinnedOf(declared) }
    const message = `the MCP server ${JSON.stringify(name)} is not pinned: ${path} has no entry \`${key}\``
    const hint = `Run \`plantgw pin ${basename(file)}\`, and commit ${LOCK_NAME}`
    return { problem: { code: 'upstream-not-pinned', severity, message, hint } }
  }

  /** Differs for a configuration once what was pinned of its servers does; empty where nothing is compared. */
  stamp(file: string, configuration: Configuration): string {
    const servers = configuration.mcpServers.filter(({ pin }) => pin !== 'off')
    if (!servers.length) return ''
    const lock = this.read(lockOf(file))
    if (lock instanceof Error) return lock.message
    const entries = servers.map(({ name }) => lock.servers[qualifiedName(configuration, name)] ?? null)
    return digestOf(entries as unknown as Json)
  }

  private read(path: string): PinLock | Error {
    const known = this.files.get(path)
    if (known) return known
    let lock: PinLock | Error
    try {
      lock = readLock(path)
    } catch (error) {
      lock = error as Error
    }
    this.files.set(path, lock)
    return lock
  }
}
