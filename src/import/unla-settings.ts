import { stringify } from 'yaml'
import { foreignFile } from '../config/foreign-file.ts'
import type { Source } from '../config/index.ts'
import type { Finding } from '../findings/index.ts'
import { isObject, type Json, type JsonObject, valueAt } from '../json/index.ts'
import { parseText } from '../openapi/open-document.ts'
import type { Variable } from './secret-variables.ts'
import { tracked } from './unread.ts'

interface ImportedSettings {
  /** YAML. */
  text: string
  /** Omitted keys, with the alternative. */
  notes: { key: string; note: string }[]
  /** Variables to set before the settings are used. */
  variables: Variable[]
  /** The folder of configurations; undefined: they are in a database. */
  folder: string | undefined
}

type SettingsResult =
  | ({ fault?: undefined; findings?: undefined } & ImportedSettings)
  /** Why it is not a settings file of Unla. */
  | { fault: string; findings?: undefined }
  | { fault?: undefined; findings: Finding[] }

/** Converts a settings file of Unla (`mcp-gateway.yaml`). Never throws because of its content. */
export function importUnlaSettings(source: Source): SettingsResult {
  const read = parseText(source)
  if ('findings' in read) return read
  const { value, unread } = tracked(read.value)
  const foreign = foreignFile(read.value, 'unla', source.file)
  if (!isObject(value) || foreign) {
    const what = foreign ? `it is ${foreign.what}. ${foreign.hint}` : 'the top level is not an object'
    return { fault: what }
  }
  const known = ['port', 'logger', 'storage', 'notifier', 'session', 'auth', 'tracing'].some(
    (key) => key in value,
  )
  if (!known) return { fault: 'it has none of their keys, such as `port`, `storage` and `notifier`' }
  const variables: Variable[] = []
  const settings: JsonObject = {
    ...simple(value, ['port', 'pid', 'reload_interval', 'reload_switch']),
    ...loggerOf(value),
    ...storageOf(value, variables),
    ...notifierOf(value, variables),
    ...telemetryOf(value),
  }
  const text = `# Made by plantgw import unla.\n${stringify(settings, { lineWidth: 0 })}`
  const { storage } = settings
  const folder = isObject(storage) && typeof storage.path === 'string' ? storage.path : undefined
  const notes = notesOf(value)
  const noted = [...notes.map(({ key }) => key), ...(settings.telemetry ? [] : ['tracing'])]
  for (const path of unread()) {
    const key = path.join('.')
    if (!noted.some((one) => key === one || key.startsWith(`${one}.`)))
      notes.push({ key, note: 'not imported' })
  }
  return { text, notes, variables, folder }
}

/** A value or `${NAME:default}`; an empty default counts as absent. */
function given(value: Json | undefined): string | undefined {
  if (value === undefined || value === null || typeof value === 'object') return undefined
  const text = String(value)
  return text === '' || /^\$\{\w+:\}$/.test(text) ? undefined : text
}

/** The value without variables set, for choices with other names here. */
function preset(value: Json | undefined): string {
  const text = given(value) ?? ''
  return /^\$\{\w+(?::([^}]*))?\}$/.exec(text)?.[1] ?? (text.startsWith('${') ? '' : text)
}

function simple(value: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.flatMap((key) => (given(value[key]) === undefined ? [] : [[key, value[key]!]])),
  )
}

function loggerOf({ logger }: JsonObject): JsonObject {
  if (!isObject(logger)) return {}
  const level = preset(logger.level)
  const known = ['debug', 'info', 'warn', 'error'].includes(level)
  const format = preset(logger.format) === 'console' ? 'pretty' : 'json'
  return { logger: { level: known ? level : level === '' ? 'info' : 'error', format } }
}

function storageOf({ storage }: JsonObject, variables: Variable[]): JsonObject {
  if (!isObject(storage)) return {}
  const database = isObject(storage.database) ? storage.database : {}
  const type = preset(database.type)
  const isServer = preset(storage.type) === 'db' && (type === 'postgres' || type === 'mysql')
  if (!isServer)
    return { storage: { type: 'directory', path: given(valueAt(storage, ['disk', 'path'])) ?? 'configs' } }
  const part = (key: string, fallback: string) => given(database[key]) ?? fallback
  const login = `${part('user', type)}:${secret(database.password, 'GATEWAY_DB_PASSWORD', 'the password of the database', variables)}`
  const address = `${part('host', 'localhost')}:${part('port', type === 'mysql' ? '3306' : '5432')}`
  return { storage: { type, url: `${type}://${login}@${address}/${part('dbname', 'unla')}` } }
}

function notifierOf({ notifier }: JsonObject, variables: Variable[]): JsonObject {
  if (!isObject(notifier)) return {}
  const wanted = preset(notifier.type)
  const type = ['signal', 'api', 'redis'].includes(wanted) ? wanted : 'signal'
  const part = notifier[type]
  if (!isObject(part)) return {}
  const keys = {
    signal: ['signal', 'pid'],
    api: ['port', 'target_url'],
    redis: ['addr', 'username', 'topic'],
  }
  const own = simple(part, keys[type as keyof typeof keys])
  if (type === 'redis') {
    own.cluster_type = ['sentinel', 'cluster'].includes(preset(part.cluster_type))
      ? preset(part.cluster_type)
      : 'single'
    if (own.cluster_type === 'sentinel' && given(part.master_name)) own.master_name = part.master_name!
    // The user name is useless without a password.
    if (given(part.password) !== undefined)
      own.password = secret(part.password, 'NOTIFIER_REDIS_PASSWORD', 'the password of Redis', variables)
    else delete own.username
  }
  return { notifier: { type, [type]: own } }
}

function telemetryOf({ tracing }: JsonObject): JsonObject {
  if (!isObject(tracing) || preset(tracing.enabled) !== 'true') return {}
  const endpoint = preset(tracing.endpoint)
  const scheme = preset(tracing.insecure) === 'true' ? 'http' : 'https'
  return {
    telemetry: {
      // OTLP over gRPC uses another port than over HTTP.
      otlp:
        endpoint === ''
          ? {}
          : {
              endpoint: endpoint.includes('://')
                ? endpoint
                : `${scheme}://${endpoint.replace(/:4317$/, ':4318')}`,
            },
    },
  }
}

/** Neither a secret nor its default is written. */
function secret(value: Json | undefined, fallback: string, use: string, variables: Variable[]): string {
  const name = /^\$\{(\w+)/.exec(given(value) ?? '')?.[1] ?? fallback
  const known = preset(value)
  variables.push({ name, use, ...(known !== '' && { value: known }) })
  return `\${${name}}`
}

function notesOf(value: JsonObject): ImportedSettings['notes'] {
  const { storage, notifier, logger, session, tracing } = value
  const at = (holder: Json | undefined, key: string) => preset(isObject(holder) ? holder[key] : undefined)
  const isDatabase = isObject(storage) && at(storage, 'type') === 'db'
  const notes: [key: string, isSaid: boolean, note: string][] = [
    [
      'storage',
      isDatabase,
      'configurations stay in the database of Unla: save each as a file, check it with `plantgw validate --fix`, and store it with `plantgw config apply -f`',
    ],
    [
      'storage.api',
      at(storage, 'type') === 'api',
      'a store behind an API is not supported: `storage` is the folder `configs`',
    ],
    ['notifier', at(notifier, 'type') === 'composite', 'one notifier is supported: `signal` was taken'],
    [
      'notifier.role',
      at(notifier, 'role') !== '',
      'a gateway receives and `plantgw config` sends with the same settings',
    ],
    [
      'logger.output',
      at(logger, 'output') === 'file',
      'the log goes to standard error: let the service manager write and rotate the file',
    ],
    [
      'session',
      at(session, 'type') === 'redis',
      'replicas share sessions without Redis: add `cluster` with `secret` and `advertise`',
    ],
    [
      'auth',
      'auth' in value,
      '`auth` and `cors` belong to each router; the gateway is no authorization server: use `type: jwt` with the `issuers` of yours',
    ],
    [
      'tracing.protocol',
      at(tracing, 'enabled') === 'true' && at(tracing, 'protocol') === 'grpc',
      'traces go to the collector over HTTP',
    ],
    [
      'forward',
      at(value.forward, 'enabled') === 'true',
      'write the headers to pass on into `headers` of the tool: `{{.Request.Headers.…}}`',
    ],
    [
      'tool_access',
      'tool_access' in value,
      'hosts that configurations name are allowed, also on the own network: `outbound.deny` denies them',
    ],
    ['metrics', at(value.metrics, 'enabled') === 'true', '`GET /metrics` is always there'],
    ...['super_admin', 'jwt', 'database', 'i18n', 'openai', 'web'].map((key): [string, boolean, string] => [
      key,
      key in value,
      'belongs to the API server of Unla, which plantgw does not need',
    ]),
  ]
  return notes.filter(([, isSaid]) => isSaid).map(([key, , note]) => ({ key, note }))
}
