import { readConfiguration } from '../checks/index.ts'
import {
  type Configuration,
  type Env,
  type Identity,
  type Notifier,
  qualifiedName,
  type ReadConfigurationsResult,
  type Settings,
  uniqueName,
} from '../config/index.ts'
import { type Finding, hasErrors } from '../findings/index.ts'
import type {
  Change,
  ConfigurationStore,
  Conflict,
  Reason,
  Snapshot,
  StoredConfiguration,
} from '../store/index.ts'
import { checkReading, rulesOf } from './check-configurations.ts'
import type { Loaded } from './types.ts'

/** A store to change, with its rules, and why. */
export interface ChangeOptions {
  store: ConfigurationStore
  settings: Settings
  /** The environment of configurations, as for `serve`. */
  env: Env
  reason: Reason
  /** Restricts the change to this tenant's configurations. */
  tenant?: string | undefined
  /** Version that the store must hold; `0`: it must not exist. Default: the one that is read first. */
  expect?: string | undefined
}

/** One configuration after a change. */
export interface Applied extends Identity {
  change: 'added' | 'changed' | 'unchanged'
  version: string
  /** The previous version. */
  was?: string
}

/** The outcome of a change; nothing was written unless it is `applied`. */
export type ChangeOutcome =
  | {
      kind: 'applied'
      findings: Finding[]
      sources: Loaded['sources']
      applied: Applied[]
      /** Configurations whose notifiers are to be told, before and after the change. */
      changed: (Identity & { notifier?: Notifier | undefined })[]
    }
  | { kind: 'findings'; findings: Finding[]; sources: Loaded['sources'] }
  /** Such as a name that another tenant has. */
  | { kind: 'refused'; reason: string }
  | { kind: 'conflict'; findings: Finding[]; conflicts: Conflict[]; reasons: string[] }

/** Maximum attempts if others change the store meanwhile. */
const ATTEMPTS = 20

/** Checks configurations together with the store's, and writes differences in one transaction. @throws StoreError */
export async function applyTo(
  options: ChangeOptions,
  reading: ReadConfigurationsResult,
): Promise<ChangeOutcome> {
  return whileUnchanged(options.store, (now, base) => apply(reading, now, base, options))
}

/**
 * Writes an older version of a configuration as its newest, after the same checks.
 * @param to version; default: the one before the current, or before a deletion
 * @throws StoreError; Error if the version has another name by now
 */
export async function rollBack(
  options: ChangeOptions,
  identity: Identity,
  to: string | undefined,
): Promise<ChangeOutcome> {
  const { store, reason } = options
  let { expect } = options
  return whileUnchanged(store, async (now, base) => {
    const history = (await store.history(identity)).filter((one) => isVisible(one, options))
    const newest = history[0]
    expect ??= newest?.deleted ? '0' : newest?.version
    const target =
      to === undefined
        ? history.slice(1).find(({ deleted }) => !deleted)
        : history.find(({ version }) => version === to)
    const found = target && (await store.get(identity, target.version))
    // It existed a moment ago, unless deleted.
    if (target && !target.deleted && !found) return undefined
    if (!found) {
      const which = to === undefined ? 'no older version' : `no version ${to}`
      const name = JSON.stringify(qualifiedName(identity))
      return { kind: 'refused', reason: `there is ${which} of a configuration ${name} to go back to` }
    }
    const message = reason.message ?? `back to version ${found.version}`
    return apply(readOlder(found, options), now, base, { ...options, reason: { ...reason, message }, expect })
  })
}

/** Whether a change that is restricted to a tenant may concern a configuration. */
export function isVisible(
  { tenant }: { tenant: string },
  restricted: { tenant?: string | undefined },
): boolean {
  return restricted.tenant === undefined || restricted.tenant === tenant
}

/** A stored configuration, read like a file. */
export function readStored(
  { place: file, text }: Pick<StoredConfiguration, 'place' | 'text'>,
  { env, settings }: Pick<ChangeOptions, 'env' | 'settings'>,
) {
  return readConfiguration({ file, text }, env, rulesOf(settings))
}

/** The message for a change based on another version than the store's. */
export function conflictText({ expected, found, ...identity }: Conflict): string {
  const read = expected === undefined ? 'based on no version' : `based on version ${expected}`
  const holds = found === undefined ? 'the store no longer holds it' : `the store holds version ${found}`
  return `${JSON.stringify(qualifiedName(identity))} was changed in the meantime: ${read}, ${holds}; nothing was written`
}

/**
 * Runs `work` on the store's content, again if that changed meanwhile.
 * @param work gets the current store, and the initial one; undefined: the store has moved
 */
async function whileUnchanged(
  store: ConfigurationStore,
  work: (now: Snapshot, base: Snapshot) => Promise<ChangeOutcome | undefined>,
): Promise<ChangeOutcome> {
  let base: Snapshot | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const now = await store.readAll()
    base ??= now
    const outcome = await work(now, base)
    if (outcome) return outcome
  }
  return { kind: 'refused', reason: 'the store keeps changing; nothing was written: try again' }
}

/** @param base snapshot that the changes are based on */
async function apply(
  reading: ReadConfigurationsResult,
  { revision, configurations }: Snapshot,
  base: Snapshot,
  options: ChangeOptions,
): Promise<ChangeOutcome | undefined> {
  const { store, settings, reason } = options
  const stored = byUniqueName(configurations, settings)
  const { findings, sources } = await checkAll(reading, configurations, options)
  if (reading.configurations.length === 0 || hasErrors(findings))
    return { kind: 'findings', findings, sources }
  const fault = faultOf(reading, stored, options)
  if (fault) return { kind: 'refused', reason: `${fault}; nothing was written` }
  const steps = plan(reading, stored, byUniqueName(base.configurations, settings), options)
  const changes = steps.flatMap((step) => step.changes)
  const outcome = await store.apply(changes, reason, revision)
  if (outcome.kind === 'moved') return undefined
  if (outcome.kind === 'conflict') {
    const { conflicts } = outcome
    const reasons = [...unreadLines(base, options), ...conflicts.map(conflictText)]
    return { kind: 'conflict', findings, conflicts, reasons }
  }
  const versions = new Map(outcome.versions.map((one) => [qualifiedName(one), one.version]))
  return {
    kind: 'applied',
    findings,
    sources,
    applied: steps.map(({ result }) => ({
      ...result,
      version: versions.get(qualifiedName(result)) ?? result.version,
    })),
    // Gateways listen to the notifier of the version that they serve, so that one is notified too.
    changed: steps.flatMap(({ changes, there, configuration }) => {
      const before = changes.length && there ? readStored(there, options).configuration : undefined
      return changes.length ? [...(before ? [before] : []), configuration] : []
    }),
  }
}

function byUniqueName(configurations: readonly StoredConfiguration[], { tenants }: Settings) {
  return new Map(configurations.map((one) => [uniqueName(one, tenants), one]))
}

/** Only taken names and prefixes of other tenants are revealed. */
async function checkAll(
  reading: ReadConfigurationsResult,
  configurations: readonly StoredConfiguration[],
  options: ChangeOptions,
) {
  const { env, settings } = options
  const names = new Set(
    reading.configurations.map(
      ({ configuration }) => configuration && uniqueName(configuration, settings.tenants),
    ),
  )
  const beside = configurations.filter((one) => !names.has(uniqueName(one, settings.tenants)))
  const others = beside.map(({ place: file, text }) => ({ file, text }))
  const { findings, sources } = await checkReading(reading, { env, settings }, others)
  const hidden = new Set(beside.filter((one) => !isVisible(one, options)).map(({ place }) => place))
  return {
    findings: findings.map(({ related, ...found }): Finding => {
      const kept = related?.filter(({ file }) => !hidden.has(file)) ?? []
      return kept.length ? { ...found, related: kept } : found
    }),
    sources,
  }
}

/** Why these configurations must not be written. */
function faultOf(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredConfiguration>,
  options: ChangeOptions,
): string | undefined {
  for (const { configuration, file } of configurations) {
    const { name, tenant } = configuration!
    if (!isVisible({ tenant }, options))
      return `${file}: ${JSON.stringify(name)} says \`tenant: ${tenant}\`, not \`${options.tenant}\``
    const there = stored.get(uniqueName(configuration!, options.settings.tenants))
    if (there && !isVisible(there, options)) return `${file}: the name ${JSON.stringify(name)} is taken`
  }
  return undefined
}

/** Changes to one configuration. */
interface Step {
  configuration: Configuration
  there: StoredConfiguration | undefined
  /** Empty if nothing changes; two if it moves to another tenant. */
  changes: Change[]
  /** Its version is known once it is written. */
  result: Applied
}

function plan(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredConfiguration>,
  base: ReadonlyMap<string, StoredConfiguration>,
  { expect, settings: { tenants } }: ChangeOptions,
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
    const result: Applied = { name, tenant, change: there ? 'changed' : 'added', version: '', ...was }
    return { configuration, there, changes, result }
  })
}

/** Unreadable files of the store, whose tenant is unknown. */
function unreadLines({ findings }: Snapshot, { tenant }: ChangeOptions): string[] {
  if (tenant !== undefined) return []
  return findings
    .filter(({ code }) => code === 'unreadable-file')
    .map(({ file, message }) => `${file}: ${message}`)
}

/** An older version, read like a file. */
function readOlder(found: StoredConfiguration, options: ChangeOptions): ReadConfigurationsResult {
  const { version, place, text } = found
  const read = readStored({ text, place: `${place}@${version}` }, options)
  const [id, own] = [found, read.configuration ?? found].map((one) => qualifiedName(one))
  if (own !== id) throw new Error(`version ${version} of ${JSON.stringify(id)} now has the name ${own}`)
  return { configurations: [read], findings: read.findings, sources: new Map([[read.file, text]]) }
}
