import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { checkReading, rulesOf } from '../../build/check-configurations.ts'
import { readConfiguration, readConfigurations } from '../../checks/index.ts'
import {
  type Configuration,
  qualifiedName,
  type ReadConfigurationsResult,
  type Settings,
  uniqueName,
} from '../../config/index.ts'
import { printable } from '../../findings/frame.ts'
import { type Finding, hasErrors } from '../../findings/index.ts'
import type {
  Change,
  ConfigurationStore,
  Conflict,
  Snapshot,
  StoredConfiguration,
} from '../../store/index.ts'
import { shellWord } from '../../text/index.ts'
import { printFindings, printJson, table } from '../output.ts'
import {
  type Exit,
  isVisible,
  meant,
  NAME_HELP,
  refuse,
  type StoreContext,
  type StoreFlags,
  storeCommand,
  withStore,
} from './context.ts'
import { notifyGateways, printNotifications, reasonOf } from './notify-gateways.ts'

/** Flags of commands that change something. */
interface ChangeFlags extends StoreFlags {
  author?: string
  message?: string
  expect?: string | undefined
}

interface DeleteFlags extends ChangeFlags {
  yes?: boolean
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
        expectOne(flags, reading.configurations)
        return whileUnchanged(store, (now, base) => apply(reading, now, base, flags, context))
      })
      exit(code)
    })
}

export function rollbackCommand(exit: Exit): Command {
  return changeCommand('rollback', 'Write an older version of a configuration as its newest.')
    .argument('<name>', NAME_HELP)
    .option('--to <version>', 'version (default: the one before the current)')
    .action(async (name: string, flags: ChangeFlags & { to?: string }) =>
      exit(await withStore(flags, (context) => rollback(name, flags, context))),
    )
}

export function deleteCommand(exit: Exit): Command {
  return changeCommand('delete', 'Delete configurations from the store: all of them, or none.')
    .argument('<names...>', 'their names, or tenant/name where several tenants have one')
    .option('-y, --yes', 'do not ask on a terminal')
    .action(async (names: string[], flags: DeleteFlags) => {
      expectOne(flags, names)
      exit(await withStore(flags, (context) => remove([...new Set(names)], flags, context)))
    })
}

/** A version belongs to one configuration. @throws Error for wrong use */
function expectOne({ expect }: ChangeFlags, all: readonly unknown[]): void {
  if (expect !== undefined && all.length > 1)
    throw new Error('--expect is for one configuration; nothing was changed')
}

/** Maximum attempts if others change the store meanwhile. */
const ATTEMPTS = 20

/**
 * Runs `work` on the store's content, again if that changed meanwhile.
 * @param work gets the current store, and the initial one
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
 * Checks the configurations together with the store's, and writes differences in one transaction.
 * @param base snapshot that the changes are based on
 * @returns the exit code; `moved` if the store differs from `now`
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
  const stored = byUniqueName(configurations, settings)
  const { findings, sources } = await checkAll(reading, configurations, flags, context)
  if (reading.configurations.length === 0 || hasErrors(findings)) {
    if (json) printJson({ applied: [], findings })
    else printFindings(findings, sources)
    return refuse('nothing was written')
  }
  const fault = faultOf(reading, stored, flags, settings)
  if (fault) return refuse(`${fault}; nothing was written`)
  const steps = plan(reading, stored, byUniqueName(base.configurations, settings), flags, settings)
  const changes = steps.flatMap((step) => step.changes)
  const outcome = await store.apply(changes, reasonOf(flags), revision)
  if (outcome.kind === 'moved') return 'moved'
  if (outcome.kind === 'conflict') {
    const { conflicts } = outcome
    if (json) printJson({ applied: [], findings, conflicts })
    return refuse(...unreadLines(base, flags), ...conflicts.map(conflictLine))
  }
  if (!json && findings.length) printFindings(findings, sources)
  const versions = new Map(outcome.versions.map((one) => [qualifiedName(one), one.version]))
  const applied = steps.map(({ result }) => ({
    ...result,
    version: versions.get(qualifiedName(result)) ?? result.version,
  }))
  // Gateways listen to the notifier of the version that they serve, so that one is notified too.
  const changed = steps.flatMap(({ changes, there, configuration }) =>
    changes.length ? [there && readStored(there, context).configuration, configuration] : [],
  )
  const notifications = await notifyGateways(
    changed.filter((one) => one !== undefined),
    settings,
  )
  if (json) printJson({ applied, findings, told: notifications })
  else {
    const rows = applied.map(({ change, name, tenant, version, was = '' }) => [
      change,
      name,
      tenant,
      version,
      was,
    ])
    process.stdout.write(table(['CHANGE', 'NAME', 'TENANT', 'VERSION', 'WAS'], rows))
    printNotifications(notifications)
  }
  return 0
}

function byUniqueName(configurations: readonly StoredConfiguration[], { tenants }: Settings) {
  return new Map(configurations.map((one) => [uniqueName(one, tenants), one]))
}

/** Only taken names and prefixes of other tenants are revealed. */
async function checkAll(
  reading: ReadConfigurationsResult,
  configurations: readonly StoredConfiguration[],
  flags: ChangeFlags,
  { env, settings }: StoreContext,
) {
  const names = new Set(
    reading.configurations.map(
      ({ configuration }) => configuration && uniqueName(configuration, settings.tenants),
    ),
  )
  const beside = configurations.filter((one) => !names.has(uniqueName(one, settings.tenants)))
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

/** Why the flags forbid writing these configurations. */
function faultOf(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredConfiguration>,
  flags: ChangeFlags,
  { tenants }: Settings,
): string | undefined {
  for (const { configuration, file } of configurations) {
    const { name, tenant } = configuration!
    if (!isVisible({ tenant }, flags))
      return `${file}: ${JSON.stringify(name)} says \`tenant: ${tenant}\`, not \`${flags.tenant}\``
    const there = stored.get(uniqueName(configuration!, tenants))
    if (there && !isVisible(there, flags)) return `${file}: the name ${JSON.stringify(name)} is taken`
  }
  return undefined
}

/** Changes to one configuration. */
interface Step {
  configuration: Configuration
  there: StoredConfiguration | undefined
  /** Empty if nothing changes; two if it moves to another tenant. */
  changes: Change[]
  result: {
    name: string
    tenant: string
    change: 'added' | 'changed' | 'unchanged'
    version: string
    /** The previous version. */
    was?: string
  }
}

function plan(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredConfiguration>,
  base: ReadonlyMap<string, StoredConfiguration>,
  { expect }: ChangeFlags,
  { tenants }: Settings,
): Step[] {
  return configurations.map(({ configuration: read, text }): Step => {
    const configuration = read!
    const { name, tenant } = configuration
    const key = uniqueName(configuration, tenants)
    const there = stored.get(key)
    if (there?.text === text && there.tenant === tenant && (!expect || expect === there.version)) {
      const result = { name, tenant, change: 'unchanged' as const, version: there.version }
      return { configuration, there, changes: [], result }
    }
    const before = base.get(key)
    const given = expect ?? before?.version
    const expected = given === '0' ? undefined : given
    const version = expected !== undefined && { version: expected }
    const changes: Change[] =
      before && before.tenant !== tenant && expected !== undefined
        ? [
            { name, tenant: before.tenant, version: expected, deleted: true },
            { name, tenant, text },
          ]
        : [{ name, tenant, text, ...version }]
    const was = there && { was: there.version }
    const result = {
      name,
      tenant,
      change: there ? ('changed' as const) : ('added' as const),
      version: '',
      ...was,
    }
    return { configuration, there, changes, result }
  })
}

/** Unreadable files of the store, whose tenant is unknown. */
function unreadLines({ findings }: Snapshot, { tenant }: ChangeFlags): string[] {
  if (tenant !== undefined) return []
  return findings
    .filter(({ code }) => code === 'unreadable-file')
    .map(({ file, message }) => `${file}: ${message}`)
}

/** The message for a change based on another version than the store's. */
function conflictLine({ expected, found, ...identity }: Conflict): string {
  const read = expected === undefined ? 'based on no version' : `based on version ${expected}`
  const holds = found === undefined ? 'the store no longer holds it' : `the store holds version ${found}`
  return `${JSON.stringify(qualifiedName(identity))} was changed in the meantime: ${read}, ${holds}; nothing was written`
}

function readStored({ place: file, text }: StoredConfiguration, { env, settings }: StoreContext) {
  return readConfiguration({ file, text }, env, rulesOf(settings))
}

async function rollback(
  name: string,
  flags: ChangeFlags & { to?: string },
  context: StoreContext,
): Promise<number> {
  const { store } = context
  let { expect } = flags
  return whileUnchanged(store, async (now, base) => {
    const identity = meant(name, now.configurations, flags)
    const history = (await store.history(identity)).filter((one) => isVisible(one, flags))
    const newest = history[0]
    expect ??= newest?.deleted ? '0' : newest?.version
    // The newest version before the current one, or before a deletion.
    const target =
      flags.to === undefined
        ? history.slice(1).find(({ deleted }) => !deleted)
        : history.find(({ version }) => version === flags.to)
    const found = target && (await store.get(identity, target.version))
    // It existed a moment ago, unless deleted.
    if (target && !target.deleted && !found) return 'moved'
    if (!found) {
      const which = flags.to === undefined ? 'no older version' : `no version ${flags.to}`
      return refuse(`there is ${which} of a configuration ${JSON.stringify(name)} to go back to`)
    }
    const message = flags.message ?? `back to version ${found.version}`
    return apply(readOlder(found, context), now, base, { ...flags, message, expect }, context)
  })
}

/** An older version, read like a file. */
function readOlder(found: StoredConfiguration, context: StoreContext): ReadConfigurationsResult {
  const { version, place, text } = found
  const read = readStored({ ...found, place: `${place}@${version}` }, context)
  const [id, own] = [found, read.configuration ?? found].map((one) => qualifiedName(one))
  if (own !== id) throw new Error(`version ${version} of ${JSON.stringify(id)} now has the name ${own}`)
  return { configurations: [read], findings: read.findings, sources: new Map([[read.file, text]]) }
}

async function remove(names: readonly string[], flags: DeleteFlags, context: StoreContext): Promise<number> {
  const { store, settings } = context
  const stored = (await store.readAll()).configurations.filter((one) => isVisible(one, flags))
  const there = new Map(stored.map((one) => [qualifiedName(one), one]))
  const ids = new Map(names.map((name) => [qualifiedName(meant(name, stored, flags)), name]))
  const absent = [...ids].flatMap(([id, name]) => (there.has(id) ? [] : [name]))
  if (absent.length)
    return refuse(
      ...absent.map((name) => `there is no configuration ${JSON.stringify(name)}; nothing was deleted`),
    )
  const gone = [...ids.keys()].map((id) => there.get(id)!)
  if (!flags.yes && !(await agrees(gone))) return refuse('nothing was deleted')
  const deleted = gone.map(({ name, tenant, version }) => ({
    name,
    tenant,
    version: flags.expect ?? version,
  }))
  const changes = deleted.map((one) => ({ ...one, deleted: true as const }))
  const outcome = await store.apply(changes, reasonOf(flags))
  if (outcome.kind === 'conflict') {
    const { conflicts } = outcome
    if (flags.format === 'json') printJson({ deleted: [], conflicts })
    return refuse(...conflicts.map(conflictLine))
  }
  const notified = gone.map((one) => ({
    ...one,
    notifier: readStored(one, context).configuration?.notifier,
  }))
  const notifications = await notifyGateways(notified, settings)
  if (flags.format === 'json') printJson({ deleted, told: notifications })
  else {
    for (const one of deleted)
      process.stdout.write(`deleted ${printable(qualifiedName(one))}, version ${one.version}\n`)
    printNotifications(notifications)
    const undo = deleted.map((one) => `plantgw config rollback ${shellWord(printable(qualifiedName(one)))}`)
    if (settings.storage?.type !== 'directory') process.stdout.write(`To undo: ${undo.join(' && ')}\n`)
  }
  return 0
}

/** Asks for confirmation on a terminal; scripts need none. */
async function agrees(gone: readonly StoredConfiguration[]): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true
  const names = gone.map((one) => `${printable(qualifiedName(one))}, version ${one.version}`)
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await asking.question(`Delete ${names.join('; ')}? [y/N] `)).trim())
  } finally {
    asking.close()
  }
}
