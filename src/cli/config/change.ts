import type { Command } from 'commander'
import { checkReading, rulesOf } from '../../build/check-configurations.ts'
import { readConfiguration, readConfigurations } from '../../checks/index.ts'
import type { Configuration, ReadConfigurationsResult } from '../../config/index.ts'
import { type Finding, hasErrors } from '../../findings/index.ts'
import type {
  Change,
  ConfigurationStore,
  Conflict,
  Snapshot,
  StoredConfiguration,
} from '../../store/index.ts'
import { printFindings, printJson, table } from '../output.ts'
import {
  type Exit,
  isVisible,
  refuse,
  type StoreContext,
  type StoreFlags,
  storeCommand,
  withStore,
} from './context.ts'
import { printTold, reasonOf, tellGateways } from './tell.ts'

/** Flags of those that change something. */
interface ChangeFlags extends StoreFlags {
  author?: string
  message?: string
  expect?: string | undefined
}

function changeCommand(name: string, description: string): Command {
  return storeCommand(name, description)
    .option('-m, --message <text>', 'reason, for the history')
    .option('--author <name>', 'author, for the history (default: user@host)')
    .option('--expect <version>', 'refuse unless the store holds this version; 0: it must not exist')
}

export function applyCommand(exit: Exit): Command {
  return changeCommand('apply', 'Check configurations and write them to the store: all of them, or none.')
    .requiredOption('-f, --file <paths...>', 'configuration files or folders; - for standard input')
    .action(async (flags: ChangeFlags & { file: string[] }) => {
      const code = await withStore(flags, async (context) => {
        const { env, settings, store } = context
        const reading = await readConfigurations(flags.file, env, rulesOf(settings))
        return whileUnchanged(store, (now, base) => apply(reading, now, base, flags, context))
      })
      exit(code)
    })
}

export function rollbackCommand(exit: Exit): Command {
  return changeCommand('rollback', 'Write an older version of a configuration as its newest.')
    .argument('<name>', 'its name')
    .option('--to <version>', 'version (default: the one before the current)')
    .action(async (name: string, flags: ChangeFlags & { to?: string }) =>
      exit(await withStore(flags, (context) => rollback(name, flags, context))),
    )
}

export function deleteCommand(exit: Exit): Command {
  return changeCommand('delete', 'Delete configurations from the store: all of them, or none.')
    .argument('<names...>', 'their names')
    .action(async (names: string[], flags: ChangeFlags) =>
      exit(await withStore(flags, (context) => remove([...new Set(names)], flags, context))),
    )
}

/** When others change the store in between, everything is read and checked again, so many times. */
const ATTEMPTS = 20

/**
 * Does something with what the store holds, again if that changed before it was done.
 * @param work gets the store as it is now, and as it was at first
 * @returns the exit code
 */
async function whileUnchanged(
  store: ConfigurationStore,
  work: (now: Snapshot, base: Snapshot) => Promise<number | 'moved'>,
): Promise<number> {
  let base: Snapshot | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const now = await store.readAll()
    base ??= now
    const code = await work(now, base)
    if (code !== 'moved') return code
  }
  return refuse('the store keeps changing; nothing was written: try again')
}

/**
 * Checks what was read, together with what the store holds, and writes what differs in one transaction.
 * @param base what changes are based on
 * @returns the exit code; `moved` when the store is not as it is `now` any more
 */
async function apply(
  reading: ReadConfigurationsResult,
  { revision, configurations }: Snapshot,
  base: Snapshot,
  flags: ChangeFlags,
  context: StoreContext,
): Promise<number | 'moved'> {
  const { store, settings } = context
  const json = flags.format === 'json'
  const stored = versionsByName(configurations)
  const { findings, sources } = await checkAll(reading, configurations, flags, context)
  if (reading.configurations.length === 0 || hasErrors(findings)) {
    if (json) printJson({ applied: [], findings })
    else printFindings(findings, sources)
    return refuse('nothing was written')
  }
  const fault = faultOf(reading, stored, flags)
  if (fault) return refuse(`${fault}; nothing was written`)
  const steps = plan(reading, stored, versionsByName(base.configurations), flags)
  const changes = steps.flatMap(({ change }) => change ?? [])
  const outcome = await store.apply(changes, reasonOf(flags), revision)
  if (outcome.kind === 'moved') return 'moved'
  if (outcome.kind === 'conflict') {
    const { conflicts } = outcome
    if (json) printJson({ applied: [], findings, conflicts })
    return refuse(...unreadLines(base, flags), ...conflicts.map(conflictLine))
  }
  if (!json && findings.length) printFindings(findings, sources)
  const versions = new Map(outcome.versions.map(({ name, version }) => [name, version]))
  const applied = steps.map(({ result }) => ({
    ...result,
    version: versions.get(result.name) ?? result.version,
  }))
  // Gateways listen to the notifier of the version that they serve, so that one is told too.
  const changed = steps.flatMap(({ change, there, configuration }) =>
    change ? [there && readStored(there, context).configuration, configuration] : [],
  )
  const told = await tellGateways(
    changed.filter((one) => one !== undefined),
    settings,
  )
  if (json) printJson({ applied, findings, told })
  else {
    const rows = applied.map(({ change, name, tenant, version, was = '' }) => [
      change,
      name,
      tenant,
      version,
      was,
    ])
    process.stdout.write(table(['CHANGE', 'NAME', 'TENANT', 'VERSION', 'WAS'], rows))
    printTold(told)
  }
  return 0
}

function versionsByName(configurations: readonly StoredConfiguration[]) {
  return new Map(configurations.map((one) => [one.name, one]))
}

/** Of other tenants nothing is shown, except that a name or prefix is taken. */
async function checkAll(
  reading: ReadConfigurationsResult,
  configurations: readonly StoredConfiguration[],
  flags: ChangeFlags,
  { env, settings }: StoreContext,
) {
  const names = new Set(reading.configurations.map(({ configuration }) => configuration?.name))
  const beside = configurations.filter(({ name }) => !names.has(name))
  const others = beside.map(({ place: file, text }) => ({ file, text }))
  const { findings, sources } = await checkReading(reading, { env, settings }, others)
  const hidden = new Set(beside.filter((one) => !isVisible(one, flags)).map(({ place }) => place))
  return {
    findings: findings.map(({ related, ...found }): Finding => {
      const kept = related?.filter(({ file }) => !hidden.has(file)) ?? []
      return kept.length ? { ...found, related: kept } : found
    }),
    sources,
  }
}

/** Why these flags do not let these configurations be written. */
function faultOf(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredConfiguration>,
  flags: ChangeFlags,
): string | undefined {
  for (const { configuration, file } of configurations) {
    const { name, tenant } = configuration!
    if (!isVisible({ tenant }, flags))
      return `${file}: ${JSON.stringify(name)} says \`tenant: ${tenant}\`, not \`${flags.tenant}\``
    const there = stored.get(name)
    if (there && !isVisible(there, flags)) return `${file}: the name ${JSON.stringify(name)} is taken`
  }
  if (flags.expect === undefined || configurations.length === 1) return undefined
  return '--expect is for one configuration'
}

/** What is to be done with one configuration. */
interface Step {
  configuration: Configuration
  there: StoredConfiguration | undefined
  /** Undefined where nothing changes. */
  change: Change | undefined
  result: {
    name: string
    tenant: string
    change: 'added' | 'changed' | 'unchanged'
    version: string
    /** The version before. */
    was?: string
  }
}

function plan(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredConfiguration>,
  base: ReadonlyMap<string, StoredConfiguration>,
  { expect }: ChangeFlags,
): Step[] {
  return configurations.map(({ configuration: read, text }): Step => {
    const configuration = read!
    const { name, tenant } = configuration
    const there = stored.get(name)
    if (there?.text === text && there.tenant === tenant && (!expect || expect === there.version)) {
      const result = { name, tenant, change: 'unchanged' as const, version: there.version }
      return { configuration, there, change: undefined, result }
    }
    const expected = expect ?? base.get(name)?.version
    const change = {
      name,
      tenant,
      text,
      ...(expected !== undefined && expected !== '0' && { version: expected }),
    }
    const was = there && { was: there.version }
    const result = {
      name,
      tenant,
      change: there ? ('changed' as const) : ('added' as const),
      version: '',
      ...was,
    }
    return { configuration, there, change, result }
  })
}

/** Files of the store that could not be read, and so seemed not to be there; whose they are is not known. */
function unreadLines({ findings }: Snapshot, { tenant }: ChangeFlags): string[] {
  if (tenant !== undefined) return []
  return findings
    .filter(({ code }) => code === 'unreadable-file')
    .map(({ file, message }) => `${file}: ${message}`)
}

/** What is said of a change that is based on another version than the store holds. */
function conflictLine({ name, expected, found }: Conflict): string {
  const read = expected === undefined ? 'based on no version' : `based on version ${expected}`
  const holds = found === undefined ? 'the store no longer holds it' : `the store holds version ${found}`
  return `${JSON.stringify(name)} was changed in the meantime: ${read}, ${holds}; nothing was written`
}

function readStored({ place: file, text }: StoredConfiguration, { env }: StoreContext) {
  return readConfiguration({ file, text }, env)
}

async function rollback(
  name: string,
  flags: ChangeFlags & { to?: string },
  context: StoreContext,
): Promise<number> {
  const { store } = context
  let { expect } = flags
  return whileUnchanged(store, async (now, base) => {
    const history = (await store.history(name)).filter((one) => isVisible(one, flags))
    const newest = history[0]
    expect ??= newest?.deleted ? '0' : newest?.version
    // The newest version before the current one; before a deletion, too.
    const target =
      flags.to === undefined
        ? history.slice(1).find(({ deleted }) => !deleted)
        : history.find(({ version }) => version === flags.to)
    const found = target && (await store.get(name, target.version))
    // It was there a moment ago, unless it is a deletion.
    if (target && !target.deleted && !found) return 'moved'
    if (!found) {
      const which = flags.to === undefined ? 'no older version' : `no version ${flags.to}`
      return refuse(`there is ${which} of a configuration ${JSON.stringify(name)} to go back to`)
    }
    const message = flags.message ?? `back to version ${found.version}`
    return apply(readOlder(found, context), now, base, { ...flags, message, expect }, context)
  })
}

/** An older version, as if it was read from a file. */
function readOlder(found: StoredConfiguration, context: StoreContext): ReadConfigurationsResult {
  const { name, version, place, text } = found
  const read = readStored({ ...found, place: `${place}@${version}` }, context)
  if (read.configuration && read.configuration.name !== name)
    throw new Error(
      `version ${version} of ${JSON.stringify(name)} now has the name ${read.configuration.name}`,
    )
  return { configurations: [read], findings: read.findings, sources: new Map([[read.file, text]]) }
}

async function remove(names: readonly string[], flags: ChangeFlags, context: StoreContext): Promise<number> {
  const { store, settings } = context
  if (flags.expect !== undefined && names.length > 1)
    return refuse('--expect is for one configuration; nothing was deleted')
  const stored = (await store.readAll()).configurations.filter((one) => isVisible(one, flags))
  const there = new Map(stored.map((one) => [one.name, one]))
  const absent = names.filter((name) => !there.has(name))
  if (absent.length)
    return refuse(
      ...absent.map((name) => `there is no configuration ${JSON.stringify(name)}; nothing was deleted`),
    )
  const gone = names.map((name) => there.get(name)!)
  const deleted = gone.map(({ name, version }) => ({ name, version: flags.expect ?? version }))
  const changes = deleted.map((one) => ({ ...one, deleted: true as const }))
  const outcome = await store.apply(changes, reasonOf(flags))
  if (outcome.kind === 'conflict') {
    const { conflicts } = outcome
    if (flags.format === 'json') printJson({ deleted: [], conflicts })
    return refuse(...conflicts.map(conflictLine))
  }
  const notified = gone.map((one) => ({
    name: one.name,
    notifier: readStored(one, context).configuration?.notifier,
  }))
  const told = await tellGateways(notified, settings)
  if (flags.format === 'json') printJson({ deleted, told })
  else {
    for (const { name, version } of deleted) process.stdout.write(`deleted ${name}, version ${version}\n`)
    printTold(told)
  }
  return 0
}
