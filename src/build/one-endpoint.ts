import { readConfiguration } from '../checks/index.ts'
import {
  type Configuration,
  DEFAULT_TENANT,
  findMembers,
  type Member,
  nameOf,
  type ReadConfiguration,
  type Router,
  type Settings,
  serversOf,
} from '../config/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { ConfigurationSource } from './source.ts'

/** Name of the combined configuration, which no file can have. */
const NAME = '*'
const FILE = '(all prefixes)'

/** A router, and whose it is. */
interface Owned {
  router: Router
  configuration: Configuration
}

/**
 * A source that also has one endpoint at `/` for the servers of all routers, where there are several and none of them is at
 * `/`; the first reading decides. What has rules of its own is left out, as these name the tools of its prefix.
 */
export function withOneEndpoint(
  source: ConfigurationSource,
  { tenants = [], log }: Pick<Settings, 'tenants'> & { log: Logger },
): ConfigurationSource {
  let isWanted: boolean | undefined
  const warn = onChange((prefixes) => log.warn({ prefixes }, LEFT_OUT))
  const warnOfNames = onChange((servers) => log.warn({ servers }, SAME_NAME))
  const bound = new Set(tenants.flatMap(({ name, authorize }) => (authorize ? [name] : [])))
  return async (env, options) => {
    const reading = await source(env, options)
    const configurations = reading.configurations.flatMap(({ configuration }) => configuration ?? [])
    const all = configurations.flatMap((configuration) =>
      configuration.routers.map((router) => ({ router, configuration })),
    )
    isWanted ??= all.length > 1 && !all.some(({ router }) => router.prefix === '/')
    if (!isWanted) return reading
    const tenant = tenantOf(all)
    const isFree = ({ router, configuration }: Owned) =>
      !router.authorize && !router.rate && configuration.tenant === tenant && !bound.has(tenant)
    warn(all.filter((one) => !isFree(one)).map(({ router }) => router.prefix))
    const made = wholeOf(all.filter(isFree), tenant, configurations, env)
    warnOfNames(sameNames(made))
    return { ...reading, configurations: [...reading.configurations, made] }
  }
}

const LEFT_OUT =
  'prefixes with `authorize`, `rate` or another tenant are not part of the one endpoint: serve one with --prefix'

const SAME_NAME =
  'servers of the one endpoint have the same name: of tools and prompts of the same name, clients see only the first; rename a server, or serve one prefix with --prefix'

/** Says a list when it is another one than the last time, and not empty. */
function onChange(say: (list: readonly string[]) => void): (list: readonly string[]) => void {
  let said = ''
  return (list) => {
    if (list.length && said !== list.join()) say(list)
    said = list.join()
  }
}

/** The servers of a router that another one has the name of, as `configuration/server`. */
function sameNames({ configuration }: ReadConfiguration): string[] {
  const names =
    configuration?.routers.flatMap(({ server }) => (server as Member[]).map((one) => one.server)) ?? []
  const counts = new Map<string, number>()
  const ownName = (name: string) => name.slice(name.indexOf('/') + 1)
  for (const name of names) counts.set(ownName(name), (counts.get(ownName(name)) ?? 0) + 1)
  return names.filter((name) => counts.get(ownName(name))! > 1)
}

/** Routers reach servers of their own tenant only. */
function tenantOf(all: readonly Owned[]): string {
  const tenants = all.map(({ configuration }) => configuration.tenant)
  return tenants.includes(DEFAULT_TENANT) ? DEFAULT_TENANT : (tenants[0] ?? DEFAULT_TENANT)
}

/** A configuration of one router for the servers of the others; each server is there once, as its first router shows it. */
function wholeOf(
  all: readonly Owned[],
  tenant: string,
  configurations: readonly Configuration[],
  env: Parameters<ConfigurationSource>[0],
): ReadConfiguration {
  const known = configurations.filter((one) => one.tenant === tenant).map(serversOf)
  const members = new Map<string, Member>()
  for (const { router, configuration } of all)
    for (const found of findMembers(router, serversOf(configuration), known).found) {
      const server = nameOf(found.configuration, found.server)
      if (!members.has(server)) members.set(server, { ...found.member, server })
    }
  const asks = all.some(({ router }) => router.approval === 'elicitation')
  const source = JSON.stringify({ name: 'all', tenant, routers: [{ prefix: '/', server: ['*/*'] }] })
  const read = readConfiguration({ file: FILE, text: source }, env, {})
  const { routers, ...rest } = read.configuration as Configuration
  const [router] = routers as [Router]
  const whole: Router = {
    ...router,
    server: [...members.values()],
    approval: asks ? 'elicitation' : 'none',
  }
  const configuration = { ...rest, name: NAME, routers: [whole] }
  return { ...read, text: JSON.stringify(configuration), configuration, findings: [] }
}
