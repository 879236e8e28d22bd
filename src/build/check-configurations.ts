import {
  checkTogether,
  type CheckOptions as Rules,
  readConfiguration,
  readConfigurations,
} from '../checks/index.ts'
import {
  type Configuration,
  DEFAULT_LIMITS,
  exposedAt,
  type Listening,
  type ReadConfiguration,
  type ReadConfigurationsResult,
  type Settings,
  type Source,
} from '../config/index.ts'
import { sortFindings } from '../findings/index.ts'
import { HttpClient } from '../net/index.ts'
import { silentLog } from '../telemetry/log.ts'
import { withoutEndSlashes } from '../text/index.ts'
import { adviceOn, type PracticeOptions } from './advice.ts'
import { allFindings, assemble } from './assemble.ts'
import type { Loaded, Prepared } from './types.ts'

export interface CheckOptions {
  env: Readonly<Record<string, string | undefined>>
  /** The settings of the gateway, as far as they are known. */
  settings?: RuleSettings
  /** Also tells what experience advises against. Default: it does not. */
  practice?: PracticeOptions
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
  const rules = rulesOf(options.settings)
  const reading = await readConfigurations(paths, options.env, { ...rules, ...(stdin && { stdin }) })
  const { configurations, sources } = reading
  const { prepared, ...made } = await examine(reading, options)
  const advice = practice ? configurations.flatMap((read) => adviceOn(read, prepared, practice)) : []
  const unread = [
    ...configurations.filter(({ configuration }) => !configuration),
    ...reading.findings.filter(({ severity, file }) => severity === 'error' && !sources.has(file)),
  ]
  const findings = advice.length > 0 ? sortFindings([...made.findings, ...advice]) : made.findings
  return { ...made, findings, unread: new Set(unread.map(({ file }) => file)), configurations }
}

/**
 * Finds the same in configurations that were read already, each by itself.
 * @param beside the other configurations that will be served; only clashes with them are reported
 */
export async function checkReading(
  reading: ReadConfigurationsResult,
  options: CheckOptions,
  beside: readonly Source[],
): Promise<Loaded> {
  const rules = rulesOf(options.settings)
  const own = new Set(reading.sources.keys())
  const fresh = reading.configurations.flatMap(({ configuration }) => configuration ?? [])
  const others = mayClash(fresh, beside).map((source) => readConfiguration(source, options.env, rules))
  const together = checkTogether([...others, ...reading.configurations], rules)
  const added = together.filter(({ file }) => own.has(file))
  const { findings, sources } = await examine(
    { ...reading, findings: [...reading.findings, ...added] },
    options,
  )
  return {
    findings,
    sources: new Map([...sources, ...beside.map(({ file, text }) => [file, text] as const)]),
  }
}

async function examine(
  reading: ReadConfigurationsResult,
  { env, settings }: CheckOptions,
): Promise<Loaded & { prepared: ReadonlyMap<string, Prepared> }> {
  const context = {
    env,
    limits: settings?.limits ?? DEFAULT_LIMITS,
    http: new HttpClient(),
    log: silentLog,
    version: '',
    ...(settings?.tenants && { tenants: settings.tenants }),
    proxies: new Map(),
  }
  const { findings, prepared } = await assemble(reading, new Map(), context)
  return { findings: allFindings(reading, findings), sources: new Map(reading.sources), prepared }
}

/** Paths that the gateway keeps for itself. */
export function ownPaths({ plants }: Pick<Settings, 'plants'>): string[] {
  const own = ['/_reload', '/_diff', '/_status', '/_health', '/_ready', '/metrics', '/_login']
  return plants ? [...own, `${withoutEndSlashes(plants.basePath)}/plants`] : own
}

type RuleSettings = Pick<Settings, 'plants' | 'tenants' | 'publicUrl' | 'vault'> &
  Partial<Pick<Settings, 'limits'>> &
  Listening

/** The demands of the settings on all configurations together; absent: unknown. */
export function rulesOf(settings?: RuleSettings): Rules {
  if (!settings) return { reserved: ownPaths({}) }
  const { tenants, limits, publicUrl = null } = settings
  const exposed = exposedAt(settings)
  return {
    reserved: ownPaths(settings),
    publicUrl,
    hasVault: settings.vault !== undefined,
    ...(limits && { limits }),
    ...(tenants && { tenants }),
    ...(settings.tls?.clientCa !== undefined && { clientCertificates: true }),
    ...(exposed !== undefined && { exposedAt: exposed }),
  }
}

/** With more prefixes than these, reading all is no slower than looking for each. */
const MOST = 50

/**
 * The existing configurations that may claim a prefix of the new ones: their text holds its last segment, or writes
 * prefixes in a way that a search of the text does not find. Reading ten thousand takes long.
 */
function mayClash(configurations: readonly Configuration[], beside: readonly Source[]): readonly Source[] {
  const prefixes = configurations.flatMap(({ routers }) =>
    routers.flatMap(({ prefix, ssePrefix }) => (ssePrefix === undefined ? [prefix] : [prefix, ssePrefix])),
  )
  const segments = [...new Set(prefixes.map(lastSegment))]
  if (segments.length > MOST || segments.includes('')) return beside
  return beside.filter(({ text }) => {
    const lower = text.toLowerCase()
    return segments.some((segment) => lower.includes(segment)) || isHidden(lower)
  })
}

/** Prefixes are compared without regard to case and slashes. */
function lastSegment(prefix: string): string {
  return prefix.toLowerCase().split('/').filter(Boolean).at(-1) ?? ''
}

/** Variables, escapes and aliases may give any prefix, and an escape any key. */
function isHidden(text: string): boolean {
  return /prefix\W{0,20}(?:(?!prefix)[^\n])*[\\$*]/.test(text) || /"[^"\\\n]*\\[^"\n]*"\s*:/.test(text)
}
