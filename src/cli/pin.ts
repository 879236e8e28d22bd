import { Command } from 'commander'
import { check } from '../build/check-configurations.ts'
import { byName, type Declared, LOCK_NAME, lockOf, readLock } from '../build/pin-lock.ts'
import { type Env, qualifiedName, type ReadConfiguration, type Settings } from '../config/index.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import { isObject, type Json, stringify } from '../json/index.ts'
import { replaceFile } from '../store/file.ts'
import { counted, printableLines, shorten } from '../text/index.ts'
import { type DeclaredTarget, declaredBy } from './declared.ts'
import { addHeader, untilInterrupted } from './options.ts'
import { failureOf, printErrors } from './output.ts'
import { environmentFor, environmentOption, pathsOr, withVault } from './settings.ts'

interface PinFlags {
  settings?: string
  check?: boolean
  header: Record<string, string>
}

export function pinCommand(exit: (code: number) => void): Command {
  return new Command('pin')
    .description(
      `Write what MCP servers with \`pin\` declare (tools, prompts, instructions) to the ${LOCK_NAME} beside each file.`,
    )
    .argument('[paths...]', 'configuration files or folders (default: those that `serve` reads)')
    .addOption(environmentOption())
    .option(
      '--check',
      'write nothing; exit with 1 and print the differences if a server declares something else',
    )
    .option('--header <name:value>', 'header of a caller, for servers whose templates read it', addHeader, {})
    .action(async (paths: string[], flags: PinFlags) => exit(await pin(paths, flags)))
}

/** A server to compare, and its lock file. */
interface Target extends Omit<DeclaredTarget, 'vault'> {
  name: string
  lock: string
}

async function pin(named: readonly string[], flags: PinFlags): Promise<number> {
  const given = environmentFor(flags.settings)
  if (!given) return 1
  const paths = pathsOr(named, given.settings)
  const { configurations, findings, sources } = await check(paths, given)
  // Pinning resolves the finding that servers are not pinned.
  const others = findings.filter(({ code }) => code !== 'upstream-not-pinned')
  if (printErrors(others, sources)) return failureOf(paths)
  const targets = configurations.flatMap((read) => targetsOf(read, given))
  if (!targets.length)
    throw new Error('no MCP server has `pin: warn` or `pin: block`, so there is nothing to pin')
  return untilInterrupted(async (signal) => {
    let failed = false
    for (const lock of new Set(targets.map((target) => target.lock))) {
      const own = targets.filter((target) => target.lock === lock)
      const done = await pinAll(lock, own, flags, signal)
      failed ||= !done
    }
    return failed ? 1 : 0
  })
}

function targetsOf(
  { configuration, file, text }: ReadConfiguration,
  { env: all, settings }: { env: Env; settings?: Settings },
): Target[] {
  if (!configuration) return []
  const env = envOfTenant(all, configuration.tenant, settings?.tenants)
  return configuration.mcpServers.flatMap((server, index) =>
    server.pin === 'off'
      ? []
      : [
          {
            server,
            index,
            text,
            env,
            owner: configuration,
            name: qualifiedName(configuration, server.name),
            lock: lockOf(file),
          },
        ],
  )
}

/** Compares the servers of one lock file, and writes it unless only checking. @returns whether everything is pinned */
async function pinAll(
  path: string,
  targets: readonly Target[],
  flags: PinFlags,
  signal: AbortSignal,
): Promise<boolean> {
  const before = readLock(path)
  const servers: Record<string, Declared> = { ...before.servers }
  let same = true
  const unpinned: string[] = []
  for (const target of targets) {
    const { name } = target
    const declared = await pinned(target, flags, signal)
    if (signal.aborted) throw new Error('cancelled')
    if (typeof declared === 'string') {
      process.stderr.write(`plantgw: ${name}: ${printableLines(declared)}\n`)
      unpinned.push(name)
      continue
    }
    const changes = changesOf(Object.hasOwn(servers, name) ? servers[name] : undefined, declared)
    if (changes.length) same = false
    process.stdout.write(`${name}: ${summary(declared, changes.length)}\n`)
    for (const line of changes) process.stdout.write(`${printableLines(line)}\n`)
    servers[name] = declared
    if (JSON.stringify(declared).includes(JSON.stringify(process.cwd()).slice(1, -1)))
      process.stderr.write(`plantgw: ${name}: ${NAMES_FOLDER}\n`)
  }
  const reached = unpinned.length === 0
  if (flags.check) {
    if (!same) process.stdout.write(`Run \`plantgw pin\` once these changes are wanted.\n`)
    return same && reached
  }
  if (unpinned.length === targets.length) {
    process.stdout.write(`wrote nothing: no server of ${path} could be asked\n`)
    return false
  }
  const lock = { version: 1, servers }
  await replaceFile(path, `${path}.new`, [`${JSON.stringify(sorted(lock), null, 2)}\n`], 0o644)
  process.stdout.write(`wrote ${path}${reached ? '' : `, with nothing new of ${unpinned.join(', ')}`}\n`)
  return reached
}

const NAMES_FOLDER =
  'what it declares names this working folder, and differs in another: pin it in the folder that the gateway is started in'

/** A server's declarations in the form of the lock. */
async function pinned(
  target: Target,
  { header, settings }: PinFlags,
  signal: AbortSignal,
): Promise<Declared | string> {
  const declared = await withVault(settings, (vault) => declaredBy({ ...target, vault }, header, signal))
  if (typeof declared === 'string') return declared
  const { instructions, tools, prompts } = declared
  const all = {
    ...(instructions !== undefined && { instructions }),
    tools: byName(tools),
    prompts: byName(prompts),
  }
  return sorted(JSON.parse(stringify(all))) as Declared
}

function summary({ tools, prompts }: Declared, changes: number): string {
  const count = (all: object, one: string) => counted(Object.keys(all).length, one)
  return `${count(tools, 'tool')}, ${count(prompts, 'prompt')}${changes ? '' : ', as pinned'}`
}

/** Lines for each item added, removed or changed, with the changes. */
function changesOf(before: Declared | undefined, after: Declared): string[] {
  const { instructions, tools = {}, prompts = {} } = before ?? {}
  return [
    ...changesIn('instructions', entry(instructions), entry(after.instructions)),
    ...changesIn('tool', tools, after.tools),
    ...changesIn('prompt', prompts, after.prompts),
  ]
}

function entry(text: string | undefined): Record<string, Json> {
  return text === undefined ? {} : { '': text }
}

function changesIn(what: string, before: Record<string, Json>, after: Record<string, Json>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name) => {
    const called = name ? `${what} ${name}` : what
    if (!Object.hasOwn(before, name)) return [`  + ${called}`]
    if (!Object.hasOwn(after, name)) return [`  - ${called}`]
    const parts = differences(before[name]!, after[name]!, [])
    return parts.length ? [`  ~ ${called}`, ...parts] : []
  })
}

/** The innermost differing values, with their paths. */
function differences(before: Json | undefined, after: Json | undefined, path: readonly string[]): string[] {
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => differences(before[key], after[key], [...path, key]))
  }
  const [old, fresh] = [before, after].map((value) => (value === undefined ? undefined : stringify(value)))
  if (old === fresh) return []
  const at = path.length ? [`      ${path.join('.')}`] : []
  const line = (sign: string, text: string | undefined) =>
    text === undefined ? [] : [`      ${sign} ${shorten(text, 300)}`]
  return [...at, ...line('-', old), ...line('+', fresh)]
}

/** The value with sorted members, so that lock files differ only if servers do. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  )
}
