import { dirname, resolve } from 'node:path'
import { type Finding, finding } from '../findings/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import { filled } from './build.ts'
import type { Plants, Storage, Settings as Written } from './generated.ts'
import type { PlantSettings, Settings, StorageSettings } from './model.ts'
import { readSchemaFile } from './read.ts'
import type { Env, Locate, Source } from './types.ts'
import { parseDuration } from './units.ts'

// biome-ignore lint/suspicious/noExplicitAny: the parsers below have checked every value
type Checked = Record<string, any>

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

/** @param outer what flags and variables say, by the keys of `SettingsFlags` */
function buildSettings(given: GivenSettings, outer: Checked, file: string): Settings {
  const folder = file === '-' ? '.' : dirname(file)
  const path = (relative: string) => resolve(folder, relative)
  const { plants, storage, ...settings } = filled('settings', given) as unknown as Written
  // What flags and variables say is relative to the working folder.
  const pid = outer.pid ?? (settings.pid && path(settings.pid))
  const { signal } = settings.notifier ?? {}
  if (signal) signal.pid = path(signal.pid)
  return {
    ...settings,
    port: outer.port ?? settings.port,
    host: outer.host ?? settings.host,
    ...(pid !== undefined && { pid }),
    reload_interval: outer.reloadInterval ?? settings.reload_interval,
    reload_switch: outer.reloadSwitch ?? settings.reload_switch,
    watch: outer.watch ?? settings.watch,
    logger: {
      ...settings.logger,
      ...(outer.logLevel && { level: outer.logLevel }),
      ...(outer.logFormat && { format: outer.logFormat }),
    },
    ...(plants && { plants: buildPlants(plants, path) }),
    ...(storage && { storage: buildStorage(storage, path) }),
    ...(settings.cluster && {
      cluster: { ...settings.cluster, advertise: originOf(settings.cluster.advertise) },
    }),
  }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}

function buildPlants(
  { file, storage, ...plants }: Plants,
  path: (relative: string) => string,
): PlantSettings {
  if (!storage) return { ...plants, storage: { type: 'lowdb', file: path(file) } }
  const { type, url = '' } = storage
  return { ...plants, storage: type === 'lowdb' ? { type, file: path(storage.file) } : { type, url } }
}

function buildStorage(
  { type, path: folder, file, url = '', poll }: Storage,
  path: (relative: string) => string,
): StorageSettings {
  if (type === 'directory') return { type, path: path(folder) }
  return type === 'lowdb' ? { type, file: path(file), poll } : { type, url, poll }
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
