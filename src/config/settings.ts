import { dirname, resolve } from 'node:path'
import { type Finding, finding, hasErrors } from '../findings/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import { buildLimits, buildServerLimits } from './build.ts'
import { buildCluster, checkCluster } from './cluster.ts'
import { DEFAULT_LIMITS, DEFAULT_SERVER_LIMITS, type Settings } from './model.ts'
import { buildSettingsNotifier, checkNotifier } from './notifier.ts'
import { buildPlants, checkPlants } from './plants.ts'
import { limited, readSchemaFile } from './read.ts'
import { checkLimits, MAX_DURATION, reporter } from './report.ts'
import { buildConfigurationStorage, checkConfigurationStorage } from './storage.ts'
import { buildTenants, checkTenants } from './tenants.ts'
import type { Env, Locate, Source } from './types.ts'
import { parseDuration } from './units.ts'

/** What the command line may set; values as written there. */
export interface SettingsFlags {
  port?: string
  host?: string
  pid?: string
  logLevel?: string
  logFormat?: string
  reloadInterval?: string
  reloadSwitch?: string | boolean
  watch?: string | boolean
}

export interface ReadSettings {
  /** Undefined when there is an error. */
  settings: Settings | undefined
  /** Those of a flag or variable name it (`--port`, `PLANTGW_PORT`) in place of a file. */
  findings: Finding[]
  /** Where in the file something stands. */
  locate: Locate
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
const FORMATS = ['json', 'pretty'] as const

/** The value of a text, or why it is none. */
type Parsed = { value: unknown } | { fault: string; hint: string }

interface Outer {
  flag: keyof SettingsFlags
  option: string
  variable: string
  parse: (text: string) => Parsed
}

/** Settings that a flag or an environment variable can set. */
const OUTER: Outer[] = [
  { flag: 'port', option: '--port', variable: 'PLANTGW_PORT', parse: parsePort },
  { flag: 'host', option: '--host', variable: 'PLANTGW_HOST', parse: parseText },
  { flag: 'pid', option: '--pid', variable: 'PLANTGW_PID', parse: parseText },
  {
    flag: 'logLevel',
    option: '--log-level',
    variable: 'PLANTGW_LOG_LEVEL',
    parse: (text) => parseChoice(text, LEVELS),
  },
  {
    flag: 'logFormat',
    option: '--log-format',
    variable: 'PLANTGW_LOG_FORMAT',
    parse: (text) => parseChoice(text, FORMATS),
  },
  {
    flag: 'reloadInterval',
    option: '--reload-interval',
    variable: 'PLANTGW_RELOAD_INTERVAL',
    parse: parseInterval,
  },
  {
    flag: 'reloadSwitch',
    option: '--reload-switch',
    variable: 'PLANTGW_RELOAD_SWITCH',
    parse: parseBoolean,
  },
  { flag: 'watch', option: '--watch', variable: 'PLANTGW_WATCH', parse: parseBoolean },
]

/**
 * Settings: flags win over `PLANTGW_…` variables, those over the file, that over the defaults. An empty variable
 * counts as not set. Never throws.
 * @param source the settings file; undefined: there is none
 */
export function readSettings(source: Source | undefined, env: Env, flags: SettingsFlags = {}): ReadSettings {
  const file = source?.file ?? 'plantgw.yaml'
  const read = readSchemaFile(source ?? { file, text: '' }, env, 'settings')
  const { findings, locate } = read
  const given = (read.sound ? read.value : {}) as Record<string, Json>
  const outer = readOuter(env, flags, findings)
  const settings = buildSettings(given, outer, file)
  const report = reporter(file, locate, findings)
  checkLimits(settings.limits, ['limits'], report)
  if (given.tenants)
    checkTenants(given.tenants as JsonObject[], report, (given.admin as JsonObject | undefined)?.token)
  if (given.plants) checkPlants(given.plants as JsonObject, report)
  if (given.storage) checkConfigurationStorage(given.storage as JsonObject, ['storage'], report)
  if (settings.notifier) checkNotifier(settings.notifier, ['notifier'], report)
  if (given.cluster) checkCluster(given.cluster as JsonObject, settings.host, report)
  if (settings.reload_interval < 1000 || settings.reload_interval > MAX_DURATION) {
    report(
      'invalid-value',
      ['reload_interval'],
      '`reload_interval` is out of range',
      'Write a duration from 1s to 24d',
    )
  }
  const sound = !hasErrors(findings)
  return { settings: sound ? settings : undefined, findings: limited(findings, file), locate }
}

function readOuter(env: Env, flags: SettingsFlags, findings: Finding[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const { flag, option, variable, parse } of OUTER) {
    const fromFlag = flags[flag]
    const text = fromFlag === undefined ? env[variable] || undefined : String(fromFlag)
    if (text === undefined) continue
    const parsed = parse(text)
    if ('value' in parsed) values[flag] = parsed.value
    else {
      const name = fromFlag === undefined ? variable : option
      findings.push(finding('invalid-value', name, `${quote(text)} ${parsed.fault}`, { hint: parsed.hint }))
    }
  }
  return values
}

// biome-ignore lint/suspicious/noExplicitAny: the schema, or the parsers above, have checked every field
type Checked = Record<string, any>

function buildSettings(given: Checked, outer: Checked, file: string): Settings {
  // What flags and variables say is seen from the working folder.
  const pid = outer.pid ?? (given.pid && resolve(folderOf(file), given.pid))
  const format = outer.logFormat ?? given.logger?.format
  return {
    port: outer.port ?? given.port ?? 5235,
    host: outer.host ?? given.host ?? '127.0.0.1',
    ...(pid !== undefined && { pid }),
    reload_interval: outer.reloadInterval ?? parseDuration(given.reload_interval ?? '600s') ?? 600_000,
    reload_switch: outer.reloadSwitch ?? given.reload_switch ?? false,
    watch: outer.watch ?? given.watch ?? false,
    logger: {
      level: outer.logLevel ?? given.logger?.level ?? 'info',
      ...(format && { format }),
    },
    limits: {
      ...DEFAULT_LIMITS,
      ...DEFAULT_SERVER_LIMITS,
      ...buildLimits(given.limits ?? {}),
      ...buildServerLimits(given.limits ?? {}),
    },
    allowedHosts: given.allowedHosts ?? [],
    allowedOrigins: given.allowedOrigins ?? [],
    ...(given.admin && { admin: { token: given.admin.token } }),
    ...(given.tenants && { tenants: buildTenants(given.tenants) }),
    ...(given.plants && { plants: buildPlants(given.plants, file) }),
    ...(given.storage && { storage: buildConfigurationStorage(given.storage, file) }),
    ...(given.notifier && { notifier: buildSettingsNotifier(given.notifier, file) }),
    ...(given.cluster && { cluster: buildCluster(given.cluster) }),
  }
}

function folderOf(file: string): string {
  return file === '-' ? '.' : dirname(file)
}

function parsePort(text: string): Parsed {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return value <= 65535 ? { value } : { fault: 'is not a port', hint: 'Write a number from 0 to 65535' }
}

function parseText(text: string): Parsed {
  return text ? { value: text } : { fault: 'is empty', hint: 'Give it a value' }
}

function parseChoice(text: string, allowed: readonly string[]): Parsed {
  if (allowed.includes(text)) return { value: text }
  const close = nearest(text, allowed)
  return {
    fault: `is not one of ${quoteAll(allowed)}`,
    hint: close ? `Did you mean \`${close}\`?` : 'Write one of them',
  }
}

function parseInterval(text: string): Parsed {
  const value = parseDuration(text)
  if (value) return { value }
  return { fault: 'is not a duration', hint: 'Write for example `600s` or `10m`' }
}

const BOOLEANS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

function parseBoolean(text: string): Parsed {
  const value = BOOLEANS.get(text)
  return value === undefined
    ? { fault: 'is neither true nor false', hint: 'Write `true` or `false`' }
    : { value }
}
