import { isVisible } from '../../build/store-changes.ts'
import { readConfigurations } from '../../checks/index.ts'
import { type Identity, qualifiedName } from '../../config/index.ts'
import { hasErrors } from '../../findings/index.ts'
import type { ConfigurationStore, HistoryEntry, StoredConfiguration } from '../../store/index.ts'
import { unifiedDiff } from '../../text/unified-diff.ts'
import { failureOf, printFindings, printJson } from '../output.ts'
import { meant, refuse, type StoreFlags, withStore } from './context.ts'

export interface StoreDiffFlags extends StoreFlags {
  file?: string[]
  from?: string | undefined
  to?: string | undefined
}

/** One side of a comparison; undefined: missing. */
type Side = Pick<StoredConfiguration, 'version' | 'text'> | undefined

/** Compares files, or versions of the named configuration, with the store. @returns the exit code, 1 if they differ */
export function diffStore(name: string | undefined, flags: StoreDiffFlags): Promise<number> {
  return withStore(flags, ({ store, env }) =>
    flags.file ? diffFiles(flags.file, flags, store, env) : diffVersions(name!, flags, store),
  )
}

async function diffFiles(
  paths: readonly string[],
  flags: StoreDiffFlags,
  store: ConfigurationStore,
  env: Parameters<typeof readConfigurations>[1],
): Promise<number> {
  const { configurations, findings, sources } = await readConfigurations(paths, env)
  if (hasErrors(findings)) printFindings(findings, sources)
  const stored = new Map((await store.readAll()).configurations.map((one) => [qualifiedName(one), one]))
  const differences = configurations.flatMap(({ configuration, isRepaired, file, text }) => {
    if (!configuration || isRepaired(['name']) || isRepaired(['tenant'])) return []
    const there = stored.get(qualifiedName(configuration))
    const before = there && isVisible(there, flags) ? there : undefined
    return difference(configuration, before, { version: file, text })
  })
  return print(differences, flags) || (hasErrors(findings) ? failureOf(paths) : 0)
}

async function diffVersions(name: string, flags: StoreDiffFlags, store: ConfigurationStore): Promise<number> {
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
function print(differences: readonly Difference[], { format }: StoreDiffFlags): number {
  if (format === 'json') printJson({ differences })
  else process.stdout.write(differences.map(({ diff }) => diff).join(''))
  return differences.length > 0 ? 1 : 0
}
