import { parseDuration } from '../config/build.ts'
import {
  DEFAULT_TENANT,
  type Env,
  isLocal,
  parseAddresses,
  parseNetwork,
  type ReadSettings,
  reloadTarget,
  type Settings,
  type SettingsFlags,
  type Source,
} from '../config/index.ts'
import type { Notifier, OutboundSettings, RedisSettings, StorageSettings } from '../config/model.ts'
import { limited } from '../config/read.ts'
import { type GivenSettings, readSettingsFile } from '../config/settings.ts'
import { hasErrors, type Path, type Reporter, reporter, unsetValues } from '../findings/index.ts'
import { isLoopback } from '../net/index.ts'
import { quote, quoteAll } from '../text/index.ts'
import { checkAudit } from './audit-settings.ts'
import { withoutEffect } from './check.ts'
import { checkRules } from './fields/authorize.ts'
import { checkOrigins } from './fields/cors.ts'
import {
  checkDuration,
  checkLimits,
  checkRates,
  checkTokens,
  MAX_DURATION,
  reportIdle,
  reportUrl,
  SHORTEST_SECRET,
  tokenKey,
} from './fields/value-rules.ts'
import { checkPath, isBelow } from './prefixes.ts'

/**
 * Reads and checks settings: flags override `PLANTGW_…` variables, which override the file, which overrides defaults.
 * An empty variable counts as unset. Never throws.
 * @param source the settings file; undefined: none
 */
export function readSettings(source: Source | undefined, env: Env, flags: SettingsFlags = {}): ReadSettings {
  const { given, settings, findings, place } = readSettingsFile(source, env, flags)
  const isUnset = unsetValues(place, findings)
  const add = reporter(place, findings)
  const report: Reporter = (one) => {
    if (!isUnset(one.path)) add(one)
  }
  checkLimits(settings.limits, ['limits'], report)
  if (given.publicUrl !== undefined) checkPublicUrl(given.publicUrl, report)
  const { grace, timeout } = settings.drain
  if (grace > 0) checkDuration(grace, ['drain', 'grace'], report)
  if (timeout !== undefined) checkDuration(timeout, ['drain', 'timeout'], report)
  for (const [i, proxy] of settings.trustedProxies.entries())
    if (!parseNetwork(proxy))
      report({
        code: 'invalid-value',
        path: ['trustedProxies', i],
        message: `${quote(proxy)} is not an address or a network`,
        hint: 'Write it like `10.0.0.7` or `10.0.0.0/8`',
      })
  checkOrigins(settings.allowedOrigins, ['allowedOrigins'], report)
  checkOutbound(settings.outbound, ['outbound'], report)
  checkRates(settings.rate, ['rate'], report)
  if (settings.audit) checkAudit(settings.audit, report)
  const endpoint = settings.telemetry?.otlp.endpoint
  if (endpoint !== undefined) checkOtlpEndpoint(endpoint, report)
  if (settings.redis) checkAddresses(settings.redis, ['redis'], report)
  if (given.tenants) checkTenants(given.tenants, report, given.admin?.token)
  if (given.admin?.listen !== undefined) checkAdminListen(given.admin, settings, report)
  if (given.plants) checkPlants(given.plants, report)
  if (given.storage) checkPolledStorage(given.storage, ['storage'], report)
  if (given.vault) checkSecrets(given.vault, ['key', 'previousKey'], 'vault', report)
  if (settings.notifier) checkNotifier(settings.notifier, ['notifier'], report)
  if (given.cluster) {
    checkCluster(given.cluster, settings.host, report)
    checkClusterTls(given.cluster, settings, report)
  }
  if (settings.reload_interval < 1000 || settings.reload_interval > MAX_DURATION)
    report({
      code: 'invalid-value',
      path: ['reload_interval'],
      message: '`reload_interval` is out of range',
      hint: 'Write a duration from 1s to 24d',
    })
  return {
    settings: hasErrors(findings) ? undefined : settings,
    findings: limited(findings, place.file),
    locate: place.locate,
  }
}

/** Collectors in the same network use http. The URL may contain credentials, so it is not shown. */
function checkOtlpEndpoint(endpoint: string, report: Reporter) {
  const { protocol, username, password, search, hash } = URL.canParse(endpoint)
    ? new URL(endpoint)
    : { protocol: '' }
  if (/^https?:$/.test(protocol) && !username && !password && !search && !hash) return
  report({
    code: 'invalid-value',
    path: ['telemetry', 'otlp', 'endpoint'],
    message: '`endpoint` is not an http or https URL without credentials and query',
    hint: 'Write the base URL of the collector, such as `http://localhost:4318`, and credentials into `headers`',
  })
}

function checkPublicUrl(url: string, report: Reporter) {
  const path = ['publicUrl']
  if (!reportUrl(url, path, report) || !new URL(url).search) return
  report({
    code: 'invalid-value',
    path,
    message: '`publicUrl` has a query',
    hint: 'Write scheme, host and, behind a proxy that adds one, the path',
  })
}

/** Tokens are never shown. */
function checkTenants(tenants: readonly GivenSettings[], report: Reporter, adminToken?: string) {
  // A tenant with the admin token could see and reload everything.
  const seen = new Map<string, Path>()
  if (adminToken !== undefined) seen.set(tokenKey(adminToken), ['admin', 'token'])
  for (const [i, { name, prefix, tokens = [] }] of tenants.entries()) {
    checkPath(prefix, ['tenants', i, 'prefix'], report)
    const before = tenants.slice(0, i)
    const same = before.findIndex((other) => other.name === name)
    if (same >= 0)
      report({
        code: 'duplicate-name',
        path: ['tenants', i, 'name'],
        message: `two tenants have the name ${quote(name)}`,
        hint: 'Write one entry for each tenant',
        related: { path: ['tenants', same, 'name'], message: 'the first one' },
      })
    const near = before.findIndex((other) => isBelow(prefix, other.prefix) || isBelow(other.prefix, prefix))
    if (near >= 0 && near !== same)
      report({
        code: 'duplicate-prefix',
        path: ['tenants', i, 'prefix'],
        message: `the prefix ${quote(prefix)} overlaps ${quote(before[near]!.prefix)} of the tenant ${quote(before[near]!.name)}`,
        hint: 'Give each tenant a prefix that is not at or below another one',
        related: { path: ['tenants', near, 'prefix'], message: 'the other one' },
      })
    checkDefault(tenants[i]!, ['tenants', i], report)
    checkTokens(tokens, ['tenants', i, 'tokens'], report, seen)
    checkOutbound(tenants[i]!.outbound ?? {}, ['tenants', i, 'outbound'], report)
    checkProcesses(tenants[i]!, ['tenants', i], report)
    checkVariables(tenants[i]!.env ?? [], ['tenants', i, 'env'], report)
    checkRules(tenants[i]!.authorize?.rules ?? [], ['tenants', i, 'authorize', 'rules'], report)
  }
}

const OF_AUTHORS = ['env', 'stdio', 'commands', 'notifier', 'outbound', 'limits']

/** Authors of configurations without a tenant are unrestricted. */
function checkDefault(tenant: GivenSettings, path: Path, report: Reporter) {
  if (tenant.name !== DEFAULT_TENANT) return
  for (const key of OF_AUTHORS)
    if (tenant[key] !== undefined)
      report(
        withoutEffect(
          [...path, key],
          `for the tenant \`${DEFAULT_TENANT}\`, that of configurations which name none`,
          'Give the tenant another name, and name it in its configurations',
        ),
      )
}

function checkVariables(patterns: readonly string[], path: Path, report: Reporter) {
  for (const [i, pattern] of patterns.entries())
    if (!/^[A-Za-z_][A-Za-z0-9_]*\*?$/.test(pattern))
      report({
        code: 'invalid-value',
        path: [...path, i],
        message: `${quote(pattern)} is not the name of an environment variable`,
        hint: 'Write a name such as `GREEN_TOKEN`, or the beginning of names with one `*` at its end: `GREEN_*`',
      })
}

function checkProcesses({ stdio, commands = [] }: GivenSettings, path: Path, report: Reporter) {
  if (stdio === true && commands.length === 0)
    report({
      code: 'missing-key',
      path: [...path, 'stdio'],
      message: '`stdio: true` needs `commands`',
      hint: 'List the commands that the tenant may run, exactly as its configurations write them',
    })
  if (stdio !== true && commands.length > 0)
    report(withoutEffect([...path, 'commands'], 'without `stdio: true`', 'Add `stdio: true`, or remove it'))
}

/** Host names with optional `*.` and port, IPv6 addresses in brackets. */
const ALLOWED_HOST = /^(?:(?:\*\.)?[\p{L}\p{N}_.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/iu

function checkOutbound(
  { allowHosts = [], allowCidrs = [] }: Partial<Pick<OutboundSettings, 'allowHosts' | 'allowCidrs'>>,
  path: Path,
  report: Reporter,
) {
  for (const [i, host] of allowHosts.entries())
    if (!ALLOWED_HOST.test(host))
      report({
        code: 'invalid-value',
        path: [...path, 'allowHosts', i],
        message: `${quote(host)} is not a host`,
        hint: parseNetwork(host)
          ? 'Write networks in `allowCidrs`, and IPv6 addresses in brackets'
          : 'Write a name or address without scheme and path, such as `api.example.com`, `*.example.com` or `localhost:8080`',
      })
  for (const [i, network] of allowCidrs.entries())
    if (!parseNetwork(network))
      report({
        code: 'invalid-value',
        path: [...path, 'allowCidrs', i],
        message: `${quote(network)} is not an address or a network`,
        hint: 'Write it like `10.0.0.7` or `10.0.0.0/8`; names belong in `allowHosts`',
      })
}

/** Maximum bytes of a Unix socket path (unix(7): 108 including the zero byte). */
const LONGEST_SOCKET = 107

function checkAdminListen({ listen, token }: GivenSettings, settings: Settings, report: Reporter) {
  const path = ['admin', 'listen']
  const invalid = (message: string, hint: string) => report({ code: 'invalid-value', path, message, hint })
  const address = settings.admin?.listen
  if (!address)
    return invalid(
      `${quote(listen)} is neither \`address:port\` nor \`unix:path\``,
      'Write for example `127.0.0.1:5236`, `[::1]:5236` or `unix:/run/plantgw/admin.sock`',
    )
  if (address.path !== undefined) {
    if (Buffer.byteLength(address.path) > LONGEST_SOCKET)
      invalid(`the path of the socket has more than ${LONGEST_SOCKET} bytes`, 'Choose a shorter one')
    return
  }
  const { host, port } = settings
  const any = ['0.0.0.0', '::']
  const isSame = address.host === host || [address.host, host].some((one) => any.includes(one))
  if (port !== 0 && address.port === port && isSame)
    invalid('`admin.listen` has the port of the main listener', 'Choose another port, such as 5236')
  if (!isLocal(address) && token === undefined)
    report({
      code: 'missing-key',
      path,
      message: `\`admin.listen\` is ${quote(listen)}, which other machines reach, and \`admin\` has no \`token\``,
      hint: 'Add `token: ${PLANTGW_ADMIN_TOKEN}`, or listen on `127.0.0.1` or a Unix socket',
    })
}

function checkPlants({ basePath = '/', tokens = [], storage, file }: GivenSettings, report: Reporter) {
  checkPath(basePath, ['plants', 'basePath'], report)
  checkTokens(tokens, ['plants', 'tokens'], report)
  if (!storage) return
  if (file !== undefined)
    report(withoutEffect(['plants', 'file'], 'beside `storage`', 'Remove it, or write it into `storage`'))
  checkStorage(storage, ['plants', 'storage'], report)
}

const SCHEMES = {
  postgres: ['postgres:', 'postgresql:'],
  mysql: ['mysql:', 'mariadb:'],
}

/** The key that locates a storage of each type. */
const KEYS: Record<StorageSettings['type'], 'path' | 'file' | 'url'> = {
  directory: 'path',
  lowdb: 'file',
  postgres: 'url',
  mysql: 'url',
}

/** A URL is never shown, as it may contain a password. */
function checkStorage(storage: GivenSettings, path: Path, report: Reporter) {
  const { type, url } = storage as { type: StorageSettings['type']; url: string }
  const others = [...new Set(Object.values(KEYS))].filter((key) => key !== KEYS[type])
  const idle = others.filter((key) => storage[key] !== undefined)
  reportIdle(idle, 'a storage', type, path, report)
  if ((type !== 'postgres' && type !== 'mysql') || isDatabase(url, type)) return
  report({
    code: 'invalid-value',
    path: [...path, 'url'],
    message: `\`url\` is not a ${type} URL that names a database`,
    hint:
      `Write for example \`${type}://plantgw:\${DB_PASSWORD}@127.0.0.1/plantgw\`; ` +
      `percent-encode characters such as ${quoteAll(['@', '/', '#', '%'])} in a password`,
  })
}

function isDatabase(text: string, type: keyof typeof SCHEMES): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, pathname } = new URL(text)
  return SCHEMES[type].includes(protocol) && pathname.length > 1
}

/** Milliseconds. */
const SHORTEST_POLL = 100

/** Checks the storage of configurations, which is polled. */
function checkPolledStorage(storage: GivenSettings, path: Path, report: Reporter) {
  checkStorage(storage, path, report)
  const hints = {
    poll: 'Write `watch: true` beside `storage` to watch its files',
    keep: 'Keep the folder in version control',
  }
  for (const key of ['poll', 'keep'] as const)
    if (storage.type === 'directory' && storage[key] !== undefined)
      report(withoutEffect([...path, key], `for a storage of type \`directory\``, hints[key]))
  if (storage.poll === undefined) return
  const poll = parseDuration(String(storage.poll)) ?? 0
  if (poll !== 0 && (poll < SHORTEST_POLL || poll > MAX_DURATION))
    report({
      code: 'invalid-value',
      path: [...path, 'poll'],
      message: '`poll` is out of range',
      hint: 'Write a duration from 100ms to 24d, or 0s for never',
    })
}

export function checkNotifier(notifier: Notifier, path: Path, report: Reporter) {
  const { type, api, redis } = notifier
  const idle = (['signal', 'api', 'redis'] as const).filter((key) => key !== type && notifier[key])
  reportIdle(idle, 'a notifier', type, path, report)
  if (type === 'api' && api && !reloadTarget(api))
    report({
      code: 'invalid-value',
      path: [...path, 'api', 'target_url'],
      // The URL may contain a password.
      message: '`target_url` is neither an http or https URL nor a Unix socket',
      hint: 'Write for example `http://localhost:5235/_reload` or `unix:/run/plantgw/admin.sock`',
    })
  if (type === 'redis' && redis) checkAddresses(redis, [...path, 'redis'], report)
}

function checkAddresses(
  { addr, cluster_type }: Pick<RedisSettings, 'addr' | 'cluster_type'>,
  path: Path,
  report: Reporter,
) {
  const addresses = parseAddresses(addr)
  const invalid = (message: string, hint: string) =>
    report({ code: 'invalid-value', path: [...path, 'addr'], message, hint })
  if (!addresses) invalid(`${quote(addr)} is not \`host:port\``, 'Write for example `localhost:6379`')
  else if (cluster_type === 'single' && addresses.length > 1)
    invalid('a single server has one address', 'Name one, or change `cluster_type`')
}

/** Secrets are not shown. @param keys of the current one, and of one that is accepted besides */
function checkSecrets(
  given: GivenSettings,
  keys: readonly [string, string],
  section: 'cluster' | 'vault',
  report: Reporter,
) {
  for (const key of keys)
    if (given[key]?.length < SHORTEST_SECRET)
      report({
        code: 'invalid-value',
        path: [section, key],
        message: `\`${key}\` has fewer than ${SHORTEST_SECRET} characters`,
        hint: 'Make one with `openssl rand -base64 32`, and give it to every replica',
      })
  const [current, other] = keys
  if (given[current] === given[other])
    report({
      code: 'key-without-effect',
      path: [section, other],
      message: `\`${other}\` is the same as \`${current}\``,
      hint: 'Remove it, or write the secret that is to be accepted besides',
    })
}

/** @param host the listening address */
function checkCluster(cluster: GivenSettings, host: string, report: Reporter) {
  const { advertise } = cluster
  checkSecrets(cluster, ['secret', 'acceptedSecret'], 'cluster', report)
  const fault = advertiseFault(advertise, host)
  if (fault !== undefined)
    report({
      code: 'invalid-value',
      path: ['cluster', 'advertise'],
      message: `\`advertise\` ${fault}`,
      hint: 'Write scheme, address and port at which the other replicas reach this one, such as `http://10.0.0.7:5235`',
    })
}

function checkClusterTls({ advertise }: GivenSettings, { tls, port }: Settings, report: Reporter) {
  const path = ['cluster', 'advertise']
  if (tls?.clientCa !== undefined)
    report({
      code: 'invalid-value',
      path: ['tls', 'clientCa'],
      message:
        'client certificates do not work with `cluster`: a replica cannot show that of a client to another one',
      hint: 'Have a proxy in front check them, or use `auth`',
    })
  else if (tls && URL.canParse(advertise) && new URL(advertise).origin.startsWith('http:'))
    if (Number(new URL(advertise).port || 80) === port)
      report({
        code: 'invalid-value',
        path,
        message: '`advertise` is an http URL of a listener that speaks TLS',
        hint: 'Write `https`; the other replicas must trust the certificate (NODE_EXTRA_CA_CERTS)',
      })
}

function advertiseFault(text: string, host: string): string | undefined {
  if (!URL.canParse(text)) return `is not a URL: ${quote(text)}`
  const { protocol, username, password, pathname, search, hash, hostname } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:') return 'is neither http nor https'
  // Not shown, as it may contain a password.
  if (username || password) return 'holds a user name or password'
  if (pathname !== '/' || search || hash) return `holds more than scheme, host and port: ${quote(text)}`
  if (hostname === '0.0.0.0' || hostname === '[::]')
    return `is an address to listen on, which others cannot connect to: ${quote(text)}`
  if (isLoopback(host) && !isLoopback(hostname.replace(/^\[|\]$/g, '')) && protocol === 'http:')
    return `is ${quote(text)}, but the gateway listens only on ${host} (\`host\`), which no other machine can reach`
  return undefined
}
