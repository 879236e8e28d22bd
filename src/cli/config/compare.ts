import type { Command } from 'commander'
import { readConfigurations } from '../../checks/index.ts'
import { hasErrors } from '../../findings/index.ts'
import type { ConfigurationStore, HistoryEntry, StoredConfiguration } from '../../store/index.ts'
import { printFindings } from '../output.ts'
import {
  type Exit,
  isVisible,
  printJson,
  refuse,
  type StoreFlags,
  storeCommand,
  withStore,
} from './context.ts'
import { unifiedDiff } from './unified.ts'

interface DiffFlags extends StoreFlags {
  file?: string[]
  from?: string
  to?: string
}

/** One side of a comparison; undefined where there is nothing. */
type Side = Pick<StoredConfiguration, 'version' | 'text'> | undefined

export function diffCommand(exit: Exit): Command {
  return storeCommand(
    'diff',
    'Show what apply would change (-f), or the difference of two versions of a configuration. Exit code 1: they differ.',
  )
    .argument('[name]', 'configuration whose versions are compared')
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
  const stored = new Map((await store.readAll()).configurations.map((one) => [one.name, one]))
  const differences = configurations.flatMap(({ configuration, doubtful, file, text }) => {
    if (!configuration || doubtful(['name'])) return []
    const there = stored.get(configuration.name)
    const before = there && isVisible(there, flags) ? there : undefined
    return difference(configuration.name, before, { version: file, text })
  })
  return print(differences, flags) || (hasErrors(findings) ? 1 : 0)
}

async function diffVersions(name: string, flags: DiffFlags, store: ConfigurationStore): Promise<number> {
  const history = (await store.history(name)).filter((one) => isVisible(one, flags))
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
    entry && { version: entry.version, text: (await store.get(name, entry.version))?.text ?? '' }
  return print(difference(name, await side(from), await side(to)), flags)
}

function find(history: readonly HistoryEntry[], version: string | undefined, otherwise: number) {
  return version === undefined ? history[otherwise] : history.find((one) => one.version === version)
}

interface Difference {
  name: string
  from: string | null
  to: string | null
  diff: string
}

function difference(name: string, before: Side, after: Side): Difference[] {
  if (before?.text === after?.text) return []
  const label = (side: Side) => (side ? `${name} (${side.version})` : '/dev/null')
  const diff = unifiedDiff(label(before), label(after), before?.text ?? '', after?.text ?? '')
  return [{ name, from: before?.version ?? null, to: after?.version ?? null, diff }]
}

/** 1 where there are differences, as diff(1). */
function print(differences: readonly Difference[], { format }: DiffFlags): number {
  if (format === 'json') printJson({ differences })
  else process.stdout.write(differences.map(({ diff }) => diff).join(''))
  return differences.length > 0 ? 1 : 0
}
