import type { Command } from 'commander'
import { readConfiguration } from '../../checks/index.ts'
import type { ReadConfigurationsResult } from '../../config/index.ts'
import type { HistoryEntry, StoredConfiguration } from '../../store/index.ts'
import { applyReading } from './apply.ts'
import {
  type ChangeFlags,
  changeCommand,
  conflictLine,
  type Exit,
  isVisible,
  printJson,
  reasonOf,
  refuse,
  type StoreContext,
  withStore,
} from './context.ts'
import { printTold, tellGateways } from './tell.ts'

export function deleteCommand(exit: Exit): Command {
  return changeCommand('delete', 'Delete configurations from the store: all of them, or none.')
    .argument('<names...>', 'their names')
    .action(async (names: string[], flags: ChangeFlags) => exit(await remove(names, flags)))
}

function remove(names: readonly string[], flags: ChangeFlags): Promise<number> {
  return withStore(flags, async ({ store, settings, env }) => {
    if (flags.expect !== undefined && names.length > 1)
      return refuse('--expect is for one configuration; nothing was deleted')
    const there = new Map((await store.readAll()).configurations.map((one) => [one.name, one]))
    const found = [...new Set(names)].map((name) => ({ name, configuration: there.get(name) }))
    const absent = found.filter(({ configuration }) => !configuration || !isVisible(configuration, flags))
    if (absent.length)
      return refuse(
        ...absent.map(({ name }) => `there is no configuration ${JSON.stringify(name)}; nothing was deleted`),
      )
    const changes = found.map(({ name, configuration }) => {
      return { name, version: flags.expect ?? configuration!.version, deleted: true as const }
    })
    const outcome = await store.apply(changes, reasonOf(flags))
    if (outcome.kind === 'conflict') return refuse(...outcome.conflicts.map(conflictLine))
    const deleted = changes.map(({ name, version }) => ({ name, version }))
    const notifierOf = ({ place: file, text }: StoredConfiguration) =>
      readConfiguration({ file, text }, env).configuration?.notifier
    const gone = found.map(({ name, configuration }) => ({ name, notifier: notifierOf(configuration!) }))
    const told = await tellGateways(gone, settings)
    if (flags.format === 'json') printJson({ deleted, told })
    else {
      for (const { name, version } of deleted) process.stdout.write(`deleted ${name}, version ${version}\n`)
      printTold(told)
    }
    return 0
  })
}

export function rollbackCommand(exit: Exit): Command {
  return changeCommand('rollback', 'Write an older version of a configuration as its newest.')
    .argument('<name>', 'its name')
    .option('--to <version>', 'version (default: the one before the current)')
    .action(async (name: string, flags: ChangeFlags & { to?: string }) => exit(await rollback(name, flags)))
}

function rollback(name: string, flags: ChangeFlags & { to?: string }): Promise<number> {
  return withStore(flags, async (context) => {
    const { store } = context
    const history = (await store.history(name)).filter((one) => isVisible(one, flags))
    const target = targetOf(history, flags.to)
    const found = target && (await store.get(name, target.version))
    if (!found) {
      const which = flags.to === undefined ? 'no older version' : `no version ${flags.to}`
      return refuse(`there is ${which} of a configuration ${JSON.stringify(name)} to go back to`)
    }
    const message = flags.message ?? `back to version ${found.version}`
    const expect = flags.expect ?? (history[0]!.deleted ? '0' : history[0]!.version)
    return applyReading(readingOf(found, context), { ...flags, message, expect }, context)
  })
}

/** The version that is wanted, else the newest before the current one; before a deletion, too. */
function targetOf(history: readonly HistoryEntry[], wanted: string | undefined): HistoryEntry | undefined {
  const older = history.slice(1).filter(({ deleted }) => !deleted)
  return wanted === undefined ? older[0] : history.find(({ version }) => version === wanted)
}

function readingOf(
  { name, version, place, text }: StoredConfiguration,
  { env }: StoreContext,
): ReadConfigurationsResult {
  const read = readConfiguration({ file: `${place}@${version}`, text }, env)
  if (read.configuration && read.configuration.name !== name)
    throw new Error(
      `version ${version} of ${JSON.stringify(name)} now has the name ${read.configuration.name}`,
    )
  return { configurations: [read], findings: read.findings, sources: new Map([[read.file, text]]) }
}
