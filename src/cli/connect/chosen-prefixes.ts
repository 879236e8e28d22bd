import { fromStore } from '../../build/source.ts'
import type { Table } from '../../build/types.ts'
import { clientBase, endpointPath, type Settings } from '../../config/index.ts'
import type { Finding } from '../../findings/finding.ts'
import { type Endpoint, entryNamer, TOKEN_ENV } from '../../import/clients/index.ts'
import { isHere } from '../../net/index.ts'
import { previewTable } from '../../server/live.ts'
import type { PrefixStatus, Status } from '../../server/status.ts'
import { openStore } from '../../store/index.ts'
import { silentLog } from '../../telemetry/log.ts'
import { printable, withoutEndSlashes } from '../../text/index.ts'
import { askAdmin } from '../ask-admin.ts'
import { environmentOf } from '../env-files.ts'
import { noSuch } from '../options.ts'
import { VERSION } from '../own-command.ts'
import { adminUrlOf } from '../settings.ts'

export interface EndpointFlags {
  url?: string
  tokenEnv?: string
}

/** A prefix and its authentication. */
type Served = Pick<PrefixStatus, 'prefix' | 'access'>

/** The gateway's URL for clients: `--url`, or `publicUrl` of the settings, or their host and port. */
export function baseOf({ url }: EndpointFlags, settings: Settings): string {
  const base = url ?? clientBase(settings)
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol) || /[?#]/.test(base))
    throw new Error(
      `--url must be the address of the gateway, such as https://tools.example.com; got ${base}`,
    )
  const { origin, pathname } = new URL(base)
  return origin + (pathname === '/' ? '' : withoutEndSlashes(pathname))
}

/**
 * The endpoints of the given prefixes, or of all.
 * @throws Error for an unknown prefix, and if the served prefixes cannot be determined
 */
export async function endpointsOf(
  prefixes: readonly string[],
  flags: EndpointFlags,
  settings: Settings,
): Promise<Endpoint[]> {
  const base = baseOf(flags, settings)
  const wanted = prefixes.map(prefixOf)
  const gateway = flags.url === undefined ? undefined : base
  const known = await servedPrefixes(wanted.length > 0 && gateway !== undefined, settings, gateway)
  const byPrefix = new Map(known.map((one) => [one.prefix, one]))
  const chosen = wanted.length === 0 ? known : wanted.map((prefix) => byPrefix.get(prefix) ?? unknown(prefix))
  refuseEndpoint(base, chosen)
  const nameOf = entryNamer()
  return chosen.map(({ prefix, access }) => ({
    name: nameOf(prefix),
    url: base + endpointPath(prefix, 'mcp'),
    tokenEnv: flags.tokenEnv ?? (access === 'token' ? TOKEN_ENV : undefined),
  }))

  function unknown(prefix: string): Served {
    // At another address, other prefixes than in these settings may be served.
    if (flags.url !== undefined) return { prefix, access: 'open' }
    throw new Error(
      noSuch(`the gateway has no prefix ${prefix}`, prefix, [...byPrefix.keys()], 'it serves none'),
    )
  }
}

/** @throws Error for an endpoint URL such as `--url http://host/shop/mcp`, below which no prefix can be */
function refuseEndpoint(base: string, chosen: readonly Served[]): void {
  for (const { prefix } of chosen) {
    const end = endpointPath(prefix, 'mcp')
    if (base.endsWith(end))
      throw new Error(
        `--url must be the address of the gateway, without the prefix: ${base.slice(0, -end.length)}; got ${base}`,
      )
  }
}

/** `/shop/` and `/shop/mcp` mean the prefix `/shop`. */
export function prefixOf(given: string): string {
  const path = withoutEndSlashes(given).replace(/\/(?:mcp|sse)$/, '')
  if (/^https?:/i.test(path))
    throw new Error(
      `a prefix is a path such as /garden, and --url has the address of the gateway; got ${given}`,
    )
  if (path !== '' && !path.startsWith('/'))
    throw new Error(`a prefix begins with a slash: did you mean /${path}?`)
  return path || '/'
}

/**
 * The prefixes in the `storage` of the settings, or else of the running gateway.
 * @param isOptional may return nothing
 * @param gateway its given address; if local, it is asked
 */
async function servedPrefixes(
  isOptional: boolean,
  settings: Settings,
  gateway: string | undefined,
): Promise<readonly Served[]> {
  if (settings.storage) return storedPrefixes(settings)
  if (isOptional) return []
  const isNear = gateway !== undefined && !settings.admin && isHere(new URL(gateway))
  const pages = isNear ? gateway : adminUrlOf(settings)
  const status = await askAdmin<Status>(pages, '/_status', settings).catch(({ message }: Error) => {
    throw new Error(
      `the settings name no \`storage\`, so only the running gateway knows the prefixes: ${message} Start it with \`plantgw serve\`, or give --url and the prefixes`,
    )
  })
  return status.prefixes
}

async function storedPrefixes(settings: Settings): Promise<Served[]> {
  const { routes } = await previewOf(settings)
  return [...routes.values()].map(({ prefix, access }) => ({ prefix: prefix || '/', access }))
}

/** The table that `serve` would build from the `storage` of the settings; omissions are printed on standard error. */
export async function previewOf(settings: Settings): Promise<Table> {
  const { storage } = settings
  const env = environmentOf(settings)
  const store = storage?.type === 'directory' ? undefined : await openStore(storage!, env)
  try {
    const paths = store ? fromStore(store) : [(storage as { path: string }).path]
    const options = { paths, settings, env, log: silentLog, version: VERSION, skipInvalid: true }
    const { table, findings } = await previewTable(options)
    warnOfErrors(findings)
    return table
  } finally {
    await store?.close()
  }
}

function warnOfErrors(findings: readonly Finding[]): void {
  const files = new Set(findings.filter(({ severity }) => severity === 'error').map(({ file }) => file))
  for (const file of files)
    process.stderr.write(
      `plantgw: ${printable(file)} has errors, so its prefixes are left out: see \`plantgw validate\`\n`,
    )
}
