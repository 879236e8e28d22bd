import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { rulesOf } from '../../build/check-configurations.ts'
import { type Notification, notifyGateways } from '../../build/notify-gateways.ts'
import {
  applyTo,
  type ChangeOptions,
  type ChangeOutcome,
  conflictText,
  isVisible,
  readStored,
  rollBack,
} from '../../build/store-changes.ts'
import { readConfigurations } from '../../checks/index.ts'
import { qualifiedName } from '../../config/index.ts'
import type { Reason, StoredConfiguration } from '../../store/index.ts'
import { printable, shellWord } from '../../text/index.ts'
import { failureOf, printFindings, printJson, table } from '../output.ts'
import {
  type Exit,
  meant,
  NAME_HELP,
  refuse,
  type StoreContext,
  type StoreFlags,
  storeCommand,
  withStore,
} from './context.ts'
import { diffStore } from './store-diff.ts'

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
    .option('--dry-run', 'print what it would change, as `diff -f` does, and write nothing')
    .action(async (flags: ChangeFlags & { file: string[]; dryRun?: boolean }) => {
      if (flags.dryRun) return exit(await diffStore(undefined, flags))
      const code = await withStore(flags, async (context) => {
        const { env, settings } = context
        const reading = await readConfigurations(flags.file, env, rulesOf(settings))
        expectOne(flags, reading.configurations)
        return report(await applyTo(changeOf(flags, context), reading), flags, context)
      })
      return exit(code && Math.max(code, failureOf(flags.file)))
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

/** Prints the outcome of a change, and notifies gateways of it. @returns the exit code */
async function report(
  outcome: ChangeOutcome,
  { format }: ChangeFlags,
  { settings }: StoreContext,
): Promise<number> {
  const json = format === 'json'
  if (outcome.kind === 'refused') return refuse(outcome.reason)
  const { findings } = outcome
  if (outcome.kind === 'findings') {
    if (json) printJson({ applied: [], findings })
    else printFindings(findings, outcome.sources)
    return refuse('nothing was written')
  }
  if (outcome.kind === 'conflict') {
    if (json) printJson({ applied: [], findings, conflicts: outcome.conflicts })
    return refuse(...outcome.reasons)
  }
  const { applied, changed, sources } = outcome
  if (!json && findings.length) printFindings(findings, sources)
  const notifications = await notifyGateways(changed, settings)
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

/** Prints successes on standard output, failures on standard error. */
function printNotifications(notifications: readonly Notification[]): void {
  for (const { ok, message } of notifications)
    if (ok) process.stdout.write(`${printable(message)}\n`)
    else process.stderr.write(`plantgw: warning: ${printable(message)}\n`)
}

/** The change that the flags ask for. */
function changeOf(flags: ChangeFlags, context: StoreContext): ChangeOptions {
  const { tenant, expect } = flags
  return { ...context, reason: reasonOf(flags), tenant, expect }
}

/** Author and message of a change, for the history. */
function reasonOf({ author, message }: Partial<Reason>): Reason {
  return { author: author ?? `${user()}@${hostname()}`, ...(message !== undefined && { message }) }
}

function user(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without an entry in the user database, as in many containers.
    return process.env.USER ?? `uid-${process.getuid?.() ?? 'unknown'}`
  }
}

async function rollback(
  name: string,
  flags: ChangeFlags & { to?: string },
  context: StoreContext,
): Promise<number> {
  const identity = meant(name, await context.store.list(), flags)
  return report(await rollBack(changeOf(flags, context), identity, flags.to), flags, context)
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
    return refuse(...conflicts.map(conflictText))
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
