import { checkTogether, readConfiguration, readConfigurations } from '../checks/index.ts'
import { lintPractice, secretsIn } from '../checks/practice/index.ts'
import {
  DEFAULT_LIMITS,
  type ReadConfiguration,
  type ReadConfigurationsResult,
  type Settings,
  type Source,
} from '../config/index.ts'
import { sortFindings } from '../findings/index.ts'
import { silentLog } from '../telemetry/silent.ts'
import { createPools } from '../tools/index.ts'
import { assemble, everything } from './assemble.ts'
import { mayClash } from './beside.ts'
import { type CostOptions, costsOf } from './cost.ts'
import type { Prepared } from './prepare.ts'
import { rulesOf } from './rules.ts'
import type { Loaded } from './types.ts'

type PracticeOptions = Parameters<typeof lintPractice>[1]

export interface CheckOptions {
  env: Readonly<Record<string, string | undefined>>
  /** What the gateway will run with, as far as it is known. */
  settings?: Pick<Settings, 'plants' | 'limits' | 'tenants'>
  /** Also tells what experience advises against. Default: it does not. */
  practice?: PracticeOptions & CostOptions
  /** Text of standard input, for the path `-`. */
  stdin?: () => Uint8Array
}

export interface Checked extends Loaded {
  /** Files and folders that could not be looked into. */
  unread: ReadonlySet<string>
  configurations: readonly ReadConfiguration[]
}

/** Finds all that `serve` would find in these files and folders, without serving or calling anything. */
export async function check(
  paths: readonly string[],
  { stdin, practice, ...options }: CheckOptions,
): Promise<Checked> {
  const rules = rulesOf(options.settings ?? {})
  const reading = await readConfigurations(paths, options.env, { ...rules, ...(stdin && { stdin }) })
  const { configurations, sources } = reading
  const { prepared, ...made } = await examine(reading, options, [])
  const advice = practice
    ? configurations.flatMap((read) => [
        ...secretsIn(read),
        ...lintPractice(read, practice),
        ...costsOf(read, prepared, practice),
      ])
    : []
  const unread = [
    ...configurations.filter(({ configuration }) => !configuration),
    ...reading.findings.filter(({ severity, file }) => severity === 'error' && !sources.has(file)),
  ]
  const findings = advice.length > 0 ? sortFindings([...made.findings, ...advice]) : made.findings
  return { ...made, findings, unread: new Set(unread.map(({ file }) => file)), configurations }
}

/**
 * The same of configurations that were read already.
 * @param beside what will be served besides; what is wrong with it, or only within it, is not told
 */
export async function checkReading(
  reading: ReadConfigurationsResult,
  options: CheckOptions,
  beside: readonly Source[] = [],
): Promise<Loaded> {
  const { findings, sources } = await examine(reading, options, beside)
  return { findings, sources }
}

async function examine(
  reading: ReadConfigurationsResult,
  { env, settings = { limits: DEFAULT_LIMITS } }: CheckOptions,
  beside: readonly Source[],
): Promise<Loaded & { prepared: ReadonlyMap<string, Prepared> }> {
  const own = new Set(reading.sources.keys())
  const fresh = reading.configurations.flatMap(({ configuration }) => configuration ?? [])
  const others = mayClash(fresh, beside).map((source) => readConfiguration(source, env))
  const together = others.length
    ? checkTogether([...others, ...reading.configurations], rulesOf(settings))
    : []
  const findings = [...reading.findings, ...together.filter(({ file }) => own.has(file))]
  const context = {
    env,
    limits: settings.limits,
    pools: createPools(),
    log: silentLog,
    version: '',
    proxies: new Map(),
  }
  const told = { ...reading, findings }
  const made = await assemble(told, new Map(), context)
  const sources = new Map([...reading.sources, ...beside.map(({ file, text }) => [file, text] as const)])
  return { findings: everything(told, made.findings), sources, prepared: made.prepared }
}
