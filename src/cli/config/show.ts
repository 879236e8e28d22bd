import type { Command } from 'commander'
import { readConfigurations } from '../../checks/index.ts'
import { type Identity, qualifiedName } from '../../config/index.ts'
import { hasErrors } from '../../findings/index.ts'
import type { ConfigurationStore, HistoryEntry, StoredConfiguration } from '../../store/index.ts'
import { printFindings, printJson, table } from '../output.ts'
import {
  type Exit,
  isVisible,
  meant,
  NAME_HELP,
  refuse,
  type StoreFlags,
  storeCommand,
  withStore,
} from './context.ts'
import { unifiedDiff } from './unified.ts'

export function listCommand(exit: Exit): Command {
  return storeCommand('list', 'List the configurations with their tenants and versions.').action(
    async (flags: StoreFlags) => exit(await withStore(flags, ({ store }) => list(flags, store))),
  )
}

async function list(flags: StoreFlags, store: ConfigurationStore): Promise<0> {
  const configurations = (await store.list()).filter((one) => isVisible(one, flags))
  const rows = configurations.map(({ name, tenant, version, updatedAt, author = '', message = '' }) => {
    return [name, tenant, version, updatedAt, author, message]
  })
  if (flags.format === 'json') printJson({ configurations })
  else process.stdout.write(table(['NAME', 'TENANT', 'VERSION', 'UPDATED', 'AUTHOR', 'MESSAGE'], rows))
  return 0
}

interface GetFlags extends StoreFlags {
  at?: string
}

export function getCommand(exit: Exit): Command {
  return storeCommand('get', 'Print the text of a configuration.')
    .argument('<name>', NAME_HELP)
    .option('--at <version>', 'version (default: the current one)')
    .action(async (name: string, flags: GetFlags) =>
      exit(await withStore(flags, ({ store }) => get(name, flags, store))),
    )
}

async function get(name: string, flags: GetFlags, store: ConfigurationStore): Promise<0 | 1> {
  const found = await store.get(meant(name, await store.list(), flags), flags.at)
  if (!found || !isVisible(found, flags)) {
    const version = flags.at === undefined ? '' : ` in the version ${flags.at}`
    return refuse(`there is no configuration ${JSON.stringify(name)}${version}`)
  }
  const { place: _, ...configuration } = found
  if (flags.format === 'json') printJson(configuration)
  else process.stdout.write(found.text)
  return 0
}

export function historyCommand(exit: Exit): Command {
  return storeCommand('history', 'List the versions of a configuration, newest first.')
    .argument('<name>', NAME_HELP)
    .action(async (name: string, flags: StoreFlags) =>
      exit(await withStore(flags, ({ store }) => history(name, flags, store))),
    )
}

async function history(name: string, flags: StoreFlags, store: ConfigurationStore): Promise<0 | 1> {
  const identity = meant(name, await store.list(), flags)
  const versions = (await store.history(identity)).filter((one) => isVisible(one, flags))
  if (versions.length === 0) return refuse(`there is no history of a configuration ${JSON.stringify(name)}`)
  const rows = versions.map(({ version, updatedAt, tenant, author = '', message = '', deleted }) => {
    return [version, updatedAt, tenant, author, deleted ? `(deleted) ${message}` : message]
  })
  if (flags.format === 'json') printJson({ name: identity.name, tenant: identity.tenant, versions })
  else process.stdout.write(table(['VERSION', 'UPDATED', 'TENANT', 'AUTHOR', 'MESSAGE'], rows))
  return 0
}

interface DiffFlags extends StoreFlags {
  file?: string[]
  from?: string
  to?: string
}

/** One side of a comparison; undefined: missing. */
type Side = Pick<StoredConfiguration, 'version' | 'text'> | undefined

export function diffCommand(exit: Exit): Command {
  return storeCommand(
    'diff',
    'Show what apply would change (-f), or the difference of two versions of a configuration. Exit code 1: they differ.',
  )
    .argument('[name]', `configuration whose versions are compared: ${NAME_HELP}`)
    .option('-f, --file <paths...>', 'files or folders to compare with the store; - for standard input')
    .option('--from <version>', 'the older version (default: the one before --to)')
    .option('--to <version>', 'the newer version (default: the current one)')
    .action(async (name: string | undefined, flags: DiffFlags) => exit(await diff(name, flags)))
}

async function diff(name: string | undefined, flags: DiffFlags): Promise<number> {
  if ((name === undefined) === (flags.file === undefined))
    throw new Error('give either the name of a configuration or files with -f')
  return withStore(flags, ({ store, env }) =>
    flags.file ? diffFiles(flags.file, flags, store, env) : diffVersions(name!, flags, store),
  )
}

async function diffFiles(
  paths: readonly string[],
  flags: DiffFlags,
  store: ConfigurationStore,
  env: Parameters<typeof readConfigurations>[1],
): Promise<number> {
  const { configurations, findings, sources } = await readConfigurations(paths, env)
  if (hasErrors(findings)) printFindings(findings, sources)
  const stored = new Map((await store.readAll()).configurations.map((one) => [qualifiedName(one), one]))
  const differences = configurations.flatMap(({ configuration, doubtful, file, text }) => {
    if (!configuration || doubtful(['name']) || doubtful(['tenant'])) return []
    const there = stored.get(qualifiedName(configuration))
    const before = there && isVisible(there, flags) ? there : undefined
    return difference(configuration, before, { version: file, text })
  })
  return print(differences, flags) || (hasErrors(findings) ? 1 : 0)
}

async function diffVersions(name: string, flags: DiffFlags, store: ConfigurationStore): Promise<number> {
  const identity = meant(name, await store.list(), flags)
  const history = (await store.history(identity)).filter((one) => isVisible(one, flags))
  const to = find(history, flags.to, 0)
  const from = find(history, flags.from, to ? history.indexOf(to) + 1 : 0)
  for (const [found, wanted] of [
    [to, flags.to],
    [from, flags.from],
  ] as const)
    if (!found && wanted !== undefined)
      return refuse(`there is no version ${wanted} of ${JSON.stringify(name)}`)
  if (!to) return refuse(`there is no history of a configuration ${JSON.stringify(name)}`)
  const side = async (entry: HistoryEntry | undefined): Promise<Side> =>
    entry && { version: entry.version, text: (await store.get(identity, entry.version))?.text ?? '' }
  return print(difference(identity, await side(from), await side(to)), flags)
}

function find(history: readonly HistoryEntry[], version: string | undefined, otherwise: number) {
  return version === undefined ? history[otherwise] : history.find((one) => one.version === version)
}

interface Difference extends Identity {
  from: string | null
  to: string | null
  diff: string
}

function difference({ name, tenant }: Identity, before: Side, after: Side): Difference[] {
  if (before?.text === after?.text) return []
  const id = qualifiedName({ name, tenant })
  const label = (side: Side) => (side ? `${id} (${side.version})` : '/dev/null')
  const diff = unifiedDiff(label(before), label(after), before?.text ?? '', after?.text ?? '')
  return [{ name, tenant, from: before?.version ?? null, to: after?.version ?? null, diff }]
}

/** 1 if there are differences, as diff(1). */
function print(differences: readonly Difference[], { format }: DiffFlags): number {
  if (format === 'json') printJson({ differences })
  else process.stdout.write(differences.map(({ diff }) => diff).join(''))
  return differences.length > 0 ? 1 : 0
}
