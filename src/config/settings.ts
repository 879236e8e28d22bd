import { isIP } from 'node:net'
import { dirname, resolve } from 'node:path'
import { type Finding, NOWHERE, toFinding } from '../findings/index.ts'
import type { Json } from '../json/index.ts'
import { withDefaults } from './build.ts'
import type { Admin, Plants, Storage, Tls, Vault, Settings as Written } from './generated.ts'
import { parseListen, socketPath } from './listen.ts'
import type {
  Env,
  Locate,
  Notifier,
  Path,
  PlantSettings,
  Settings,
  Source,
  StorageSettings,
  VaultSettings,
} from './model.ts'
import { readSchemaFile } from './read.ts'
import { describeValue, schemaFinding } from './schema-findings.ts'
import { loadSchema } from './schemas.ts'
import { shapeAt } from './shape.ts'
import { scalarValue } from './yaml/values.ts'

/** Settings of the command line, as written there. */
export interface SettingsFlags {
  port?: string
  host?: string
  allowUnauthenticated?: string | boolean
  pid?: string
  logLevel?: string
  logFormat?: string
  reloadInterval?: string
  reloadSwitch?: string | boolean
  watch?: string | boolean
  workers?: string
}

export interface ReadSettings {
  /** Undefined when there is an error. */
  settings: Settings | undefined
  /** Findings about flags and variables name these (`--port`, `PLANTGW_PORT`) in place of a file. */
  findings: Finding[]
  /** Where in the file something stands. */
  locate: Locate
}

/** Settings that flags and variables can set: `logLevel` is `--log-level` and `PLANTGW_LOG_LEVEL`. */
const OUTER: Record<keyof SettingsFlags, readonly string[]> = {
  port: ['port'],
  host: ['host'],
  allowUnauthenticated: ['allowUnauthenticated'],
  pid: ['pid'],
  logLevel: ['logger', 'level'],
  logFormat: ['logger', 'format'],
  reloadInterval: ['reload_interval'],
  reloadSwitch: ['reload_switch'],
  watch: ['watch'],
  workers: ['workers'],
}

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
export type GivenSettings = Record<string, any>

interface SettingsFile {
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
  const { findings, locate, matchesSchema, value } = readSchemaFile({ file, text }, env, 'settings')
  const given = (matchesSchema ? value : {}) as GivenSettings
  const settings = buildSettings(given, readOuter(env, flags, findings), file)
  return { given, settings, findings, place: { file, text, locate } }
}

/** Values of flags and variables, in the form of the file; values that the schema refuses are reported and left out. */
function readOuter(env: Env, flags: SettingsFlags, findings: Finding[]): GivenSettings {
  const outer: GivenSettings = {}
  for (const [flag, [section = '', key]] of Object.entries(OUTER)) {
    const words = flag.replace(/[A-Z]/g, (letter) => `_${letter}`)
    const variable = `PLANTGW_${words.toUpperCase()}`
    const fromFlag = flags[flag as keyof SettingsFlags]
    const text = fromFlag === undefined ? env[variable] || undefined : String(fromFlag)
    if (text === undefined) continue
    const option = `--${words.replaceAll('_', '-').toLowerCase()}`
    const value = outerValue(text, fromFlag === undefined ? variable : option, [section, key], findings)
    if (value !== undefined) outer[section] = key === undefined ? value : { ...outer[section], [key]: value }
  }
  return outer
}

/** @param name of the flag or variable, in place of a file */
function outerValue(
  text: string,
  name: string,
  [section, key]: readonly [string, string | undefined],
  findings: Finding[],
): Json | undefined {
  const schema = loadSchema('settings')
  const { kind } = shapeAt(schema.shape, key === undefined ? [section] : [section, key])
  // Variables of the environment are often set to 1 and 0.
  const values =
    kind === 'typed' ? [scalarValue(text) ?? text, text === '1' || (text !== '0' && text)] : [text]
  for (const value of values)
    if (schema.validate({ [section]: key === undefined ? value : { [key]: value } })) return value
  const value = { [section]: key === undefined ? values[0]! : { [key]: values[0]! } }
  schema.validate(value)
  const place = { file: name, text, locate: NOWHERE }
  const describe = (_: Path, one: unknown) => describeValue(one)
  for (const error of schema.validate.errors ?? []) {
    const found = schemaFinding(error, { ...place, value, schema, describe })
    if (found) findings.push(toFinding(found, place))
  }
  return undefined
}

/** @param outer overrides the file */
function buildSettings(given: GivenSettings, outer: GivenSettings, file: string): Settings {
  const folder = file === '-' ? '.' : dirname(file)
  const path = (relative: string) => resolve(folder, relative)
  const logger = { ...given.logger, ...outer.logger }
  const written = withDefaults('settings', { ...given, ...outer, logger }) as unknown as Written
  const { plants, storage, vault, cluster, publicUrl, admin, tls, ...settings } = written
  const { signal, api } = settings.notifier ?? {}
  if (signal) signal.pid = path(signal.pid)
  const socket = api && socketPath(api.target_url)
  if (socket) api.target_url = `unix:${path(socket)}`
  // Paths of flags and variables are relative to the working folder.
  if (settings.pid !== undefined && outer.pid === undefined) settings.pid = path(settings.pid)
  const { audit } = settings
  if (audit?.path !== undefined) audit.path = path(audit.path)
  settings.secrets = settings.secrets.map(path)
  return {
    ...settings,
    ...(publicUrl !== undefined && { publicUrl: withoutSlash(publicUrl) }),
    ...(tls && { tls: buildTls(tls, path) }),
    ...(admin && { admin: buildAdmin(admin, path) }),
    ...(plants && { plants: buildPlants(plants, path) }),
    ...(storage && { storage: buildStorage(storage, path) }),
    ...(vault && { vault: buildVault(vault, storage, path) }),
    ...(cluster && { cluster: { ...cluster, advertise: originOf(cluster.advertise) } }),
  }
}

/** In the form that clients compare, without a slash at its end. */
function withoutSlash(url: string): string {
  const whole = URL.canParse(url) ? new URL(url).href : url
  let end = whole.length
  while (whole[end - 1] === '/') end--
  return whole.slice(0, end)
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}

function buildTls({ cert, key, clientCa }: Tls, path: (relative: string) => string): Tls {
  return { cert: path(cert), key: path(key), ...(clientCa !== undefined && { clientCa: path(clientCa) }) }
}

function buildAdmin(
  { token, listen = '' }: Admin,
  path: (relative: string) => string,
): NonNullable<Settings['admin']> {
  const parsed = parseListen(listen)
  const address = parsed?.path === undefined ? parsed : { path: path(parsed.path) }
  return { ...(token !== undefined && { token }), ...(address && { listen: address }) }
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
  { type, path: folder, file, url = '', poll, keep }: Storage,
  path: (relative: string) => string,
): StorageSettings {
  if (type === 'directory') return { type, path: path(folder) }
  const rest = { poll, ...(keep !== undefined && { keep }) }
  return type === 'lowdb' ? { type, file: path(file), ...rest } : { type, url, ...rest }
}

/** Logins are in the database of the configurations, if there is one. */
function buildVault(
  { key, previousKey, folder }: Vault,
  storage: Storage | undefined,
  path: (relative: string) => string,
): VaultSettings {
  const { type, url = '' } = storage ?? {}
  const isDatabase = type === 'postgres' || type === 'mysql'
  return {
    key,
    ...(previousKey !== undefined && { previousKey }),
    storage: isDatabase ? { type, url } : { type: 'folder', path: path(folder) },
  }
}

interface Address {
  host: string
  port: number
}

/** Splits `host:port,host:port` (or by `;`); IPv6 addresses stand in brackets. Undefined: it is none. */
export function parseAddresses(text: string): Address[] | undefined {
  const found: Address[] = []
  for (const part of text.split(/[,;]/)) {
    const [, bracketed, name, digits] =
      /^\s*(?:\[([\da-fA-F:.]+)\]|([^\s:[\]/@]+)):(\d{1,5})\s*$/.exec(part) ?? []
    const host = bracketed ?? name
    const port = Number(digits)
    if (!host || !(port > 0 && port <= 65535)) return undefined
    found.push({ host, port })
  }
  return found
}

/** An address, or a network as `address/bits`. Undefined: it is neither. */
export function parseNetwork(
  text: string,
): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [, address = '', digits] = /^([\d.]+|[\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text.trim()) ?? []
  const version = isIP(address)
  const most = version === 4 ? 32 : 128
  const bits = digits === undefined ? most : Number(digits)
  if (version === 0 || bits > most) return undefined
  return { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/**
 * Target of a reload call: `port` is the default for a `target_url` without one, and `socket` is the path of
 * `unix:path`. Undefined: neither a URL nor a socket.
 */
export function reloadTarget({
  target_url,
  port,
}: NonNullable<Notifier['api']>): { url: URL; socket?: string } | undefined {
  const socket = socketPath(target_url)
  if (socket) return { url: new URL('http://localhost/_reload'), socket }
  if (!/^https?:\/\//i.test(target_url) || !URL.canParse(target_url)) return undefined
  const url = new URL(target_url)
  // `URL` drops the default port of the scheme, which counts as given, too.
  if (port !== undefined && !/^https?:\/\/[^/?#]*:\d+(?:[/?#]|$)/i.test(target_url)) url.port = String(port)
  return { url }
}
