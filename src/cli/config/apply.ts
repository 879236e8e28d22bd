import type { Command } from 'commander'
import { checkReading, rulesOf } from '../../build/check-configurations.ts'
import { readConfiguration, readConfigurations } from '../../checks/index.ts'
import type { ReadConfigurationsResult } from '../../config/index.ts'
import { type Finding, hasErrors } from '../../findings/index.ts'
import type { Change, StoredConfiguration, StoredSummary } from '../../store/index.ts'
import { table } from '../columns.ts'
import { printFindings } from '../output.ts'
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
import { type Changed, printTold, type Told, tellGateways } from './tell.ts'

export function applyCommand(exit: Exit): Command {
  return changeCommand('apply', 'Check configurations and write them to the store: all of them, or none.')
    .requiredOption('-f, --file <paths...>', 'configuration files or folders; - for standard input')
    .action(async (flags: ChangeFlags & { file: string[] }) => exit(await apply(flags)))
}

function apply(flags: ChangeFlags & { file: string[] }): Promise<number> {
  return withStore(flags, async (context) => {
    const rules = rulesOf(context.settings)
    const reading = await readConfigurations(flags.file, context.env, rules)
    return applyReading(reading, flags, context)
  })
}

interface Result {
  name: string
  tenant: string
  change: 'added' | 'changed' | 'unchanged'
  version: string
  /** The version before. */
  was?: string
}

/** When others change the store in between, everything is checked again, so many times. */
const ATTEMPTS = 20

/**
 * Checks what was read, together with what the store holds, and writes what differs in one transaction.
 * @returns the exit code
 */
export async function applyReading(
  reading: ReadConfigurationsResult,
  flags: ChangeFlags,
  context: StoreContext,
): Promise<number> {
  const { store } = context
  // What changes are based on is what was there at first, also when it is checked again.
  let base: ReadonlyMap<string, StoredSummary> | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { revision, configurations } = await store.readAll()
    const stored = new Map(configurations.map((one) => [one.name, one]))
    base ??= stored
    const { findings, sources } = await checkAll(reading, configurations, flags, context)
    const sound = reading.configurations.length > 0 && !hasErrors(findings)
    if (!sound) {
      if (flags.format === 'json') printJson({ applied: [], findings })
      else printFindings(findings, sources)
      return refuse('nothing was written')
    }
    const fault = tenantFault(reading, stored, flags) ?? expectFault(reading, flags)
    if (fault) return refuse(fault)
    const { changes, results } = plan(reading, stored, base, flags)
    const outcome = await store.apply(changes, reasonOf(flags), revision)
    if (outcome.kind === 'moved') continue
    if (outcome.kind === 'conflict') {
      const { conflicts } = outcome
      if (flags.format === 'json') printJson({ applied: [], findings, conflicts })
      return refuse(...conflicts.map(conflictLine))
    }
    if (flags.format === 'text' && findings.length) printFindings(findings, sources)
    const versions = new Map(outcome.versions.map(({ name, version }) => [name, version]))
    const applied = results.map((one) => ({ ...one, version: versions.get(one.name) ?? one.version }))
    print(
      {
        applied,
        findings,
        told: await tellGateways(changedOf(reading, results, stored, context), context.settings),
      },
      flags,
    )
    return 0
  }
  return refuse('the store keeps changing; nothing was written: try again')
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

function tenantFault(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredSummary>,
  flags: ChangeFlags,
): string | undefined {
  for (const { configuration, file } of configurations) {
    if (!configuration) continue
    const { name, tenant } = configuration
    if (!isVisible({ tenant }, flags))
      return `${file}: ${JSON.stringify(name)} says \`tenant: ${tenant}\`, not \`${flags.tenant}\`; nothing was written`
    const there = stored.get(name)
    if (there && !isVisible(there, flags))
      return `${file}: the name ${JSON.stringify(name)} is taken; nothing was written`
  }
  return undefined
}

function expectFault(
  { configurations }: ReadConfigurationsResult,
  { expect }: ChangeFlags,
): string | undefined {
  return expect !== undefined && configurations.length > 1
    ? '--expect is for one configuration; nothing was written'
    : undefined
}

function plan(
  { configurations }: ReadConfigurationsResult,
  stored: ReadonlyMap<string, StoredConfiguration>,
  base: ReadonlyMap<string, StoredSummary>,
  { expect }: ChangeFlags,
) {
  const changes: Change[] = []
  const results: Result[] = []
  for (const { configuration, text } of configurations) {
    const { name, tenant } = configuration!
    const there = stored.get(name)
    const expected = expect ?? base.get(name)?.version
    if (there?.text === text && there.tenant === tenant && (!expect || expect === there.version)) {
      results.push({ name, tenant, change: 'unchanged', version: there.version })
      continue
    }
    const version = expected === '0' ? undefined : expected
    changes.push({ name, tenant, text, ...(version !== undefined && { version }) })
    results.push({
      name,
      tenant,
      change: there ? 'changed' : 'added',
      version: '',
      ...(there && { was: there.version }),
    })
  }
  return { changes, results }
}

/** Gateways listen to the notifier of the version that they serve, so that one is told too. */
function changedOf(
  { configurations }: ReadConfigurationsResult,
  results: readonly Result[],
  stored: ReadonlyMap<string, StoredConfiguration>,
  { env }: StoreContext,
): Changed[] {
  return results.flatMap(({ name, change }, i) => {
    if (change === 'unchanged') return []
    const there = stored.get(name)
    const before = there && readConfiguration({ file: there.place, text: there.text }, env).configuration
    const after = configurations[i]?.configuration
    return [...(before ? [before] : []), ...(after ? [after] : [])].map(({ notifier }) => ({
      name,
      notifier,
    }))
  })
}

interface Applied {
  applied: readonly Result[]
  findings: readonly Finding[]
  told: readonly Told[]
}

function print(done: Applied, { format }: ChangeFlags): void {
  if (format === 'json') {
    printJson(done)
    return
  }
  process.stdout.write(
    table(
      ['CHANGE', 'NAME', 'TENANT', 'VERSION', 'WAS'],
      done.applied.map(({ change, name, tenant, version, was = '' }) => [change, name, tenant, version, was]),
    ),
  )
  printTold(done.told)
}
