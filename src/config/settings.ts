import { dirname, resolve } from 'node:path'
import { type Finding, finding } from '../findings/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import { buildLimits, buildServerLimits } from './build.ts'
import { buildCluster } from './cluster.ts'
import { DEFAULT_LIMITS, DEFAULT_SERVER_LIMITS, type Settings } from './model.ts'
import { buildSettingsNotifier } from './notifier.ts'
import { buildPlants } from './plants.ts'
import { readSchemaFile } from './read.ts'
import { buildConfigurationStorage } from './storage.ts'
import { buildTenants } from './tenants.ts'
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

// biome-ignore lint/suspicious/noExplicitAny: the schema, or the parsers below, have checked every field
export type GivenSettings = Record<string, any>

export interface SettingsFile {
  /** The values of the file; empty when they are not of the right form. */
  given: GivenSettings
  /** With flags, variables and defaults. */
  settings: Settings
  findings: Finding[]
  place: Source & { locate: Locate }
}

/** Reads settings without checking what one says about another. */
export function readSettingsFile(source: Source | undefined, env: Env, flags: SettingsFlags): SettingsFile {
  const { file, text } = source ?? { file: 'plantgw.yaml', text: '' }
  const { findings, locate, sound, value } = readSchemaFile({ file, text }, env, 'settings')
  const given = (sound ? value : {}) as GivenSettings
  const settings = buildSettings(given, readOuter(env, flags, findings), file)
  return { given, settings, findings, place: { file, text, locate } }
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

function buildSettings(given: GivenSettings, outer: GivenSettings, file: string): Settings {
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
