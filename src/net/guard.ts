import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { buildConnector } from 'undici'
import { type AddressClass, classOf, Networks, OwnAddresses } from './addresses.ts'
import { NetFault } from './faults.ts'

/** Why a connection is refused: the class of its address, or its port. */
export type DeniedClass = AddressClass | 'own' | 'port'

/** Classes that only an entry of `allowHosts` or `allowCidrs` allows. */
export const ALWAYS_DENIED = ['own', 'metadata', 'linkLocal'] as const
export const ALL_CLASSES = [...ALWAYS_DENIED, 'loopback', 'private', 'multicast', 'reserved'] as const

/** Names of metadata services, which a proxy may resolve although this machine cannot. */
const METADATA_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal'])

interface GuardRules {
  /** Denied classes of addresses. */
  deny: readonly (AddressClass | 'own')[]
  /** Names and addresses in the form of URLs. `*.example.com` covers all subdomains; `:port` limits an entry to a port. */
  allowHosts: readonly string[]
  /** Networks as `address/bits`. */
  allowCidrs: readonly string[]
  /** Allowed ports; absent: every port. */
  ports?: readonly number[] | undefined
  own: OwnAddresses
  /** Called with each refusal. */
  onRefusal?: (denied: DeniedClass, host: string) => void
  /** Guard for proxies, because the author of a configuration names them. Default: this guard. */
  forProxies?: Guard
}

/** Guards of outbound connections of one tenant's configurations. */
export interface Guards {
  /** For hosts that the author of a configuration names. */
  named: Guard
  /** For hosts from an argument, a caller's request, a redirect or a server's document. */
  decided: Guard
  /** Paths of the gateway itself that its tools may call, and the guard for these requests. */
  ownPaths?: { has(path: string): boolean; guard: Guard }
}

/**
 * Guards for commands. Users may name any host except `ALWAYS_DENIED`; redirects and arguments must not lead to
 * private addresses.
 */
export function guardsOfCommands(): Guards {
  const none = { allowHosts: [], allowCidrs: [], own: new OwnAddresses() }
  const named = new Guard({ ...none, deny: ALWAYS_DENIED })
  return { named, decided: new Guard({ ...none, deny: ALL_CLASSES, forProxies: named }) }
}

let count = 0

/**
 * Checks connections by their target address. Only requests with the same guard share kept-alive connections.
 */
export class Guard {
  /** Part of the key of a connection pool. */
  readonly key = String(++count)
  readonly #deny: ReadonlySet<string>
  readonly #hosts: readonly string[]
  readonly #allowed: Networks
  readonly #ports: ReadonlySet<number> | undefined
  readonly forProxies: Guard

  constructor(private readonly rules: GuardRules) {
    const { deny, allowHosts, allowCidrs, ports } = rules
    this.#deny = new Set(deny)
    this.#hosts = allowHosts.map(normalized)
    this.#allowed = new Networks(allowCidrs)
    this.#ports = ports && new Set(ports)
    this.forProxies = rules.forProxies ?? this
  }

  /** Why a connection is denied; undefined if it is allowed. @param host in the URL @param address of the host */
  judge(host: string, address: string, port: number): DeniedClass | undefined {
    if (this.#opens(`${host}:${port}`)) return undefined
    if (this.#ports && !this.#ports.has(port)) return 'port'
    // An allowed network does not allow the gateway's own pages.
    if (this.#deny.has('own') && this.rules.own.has(address, port)) return 'own'
    if (this.#opens(host) || this.#allowed.has(address)) return undefined
    return classOf(address, this.#deny)
  }

  /** `judge` for targets without an address, such as a Unix socket: allowed where loopback addresses are. */
  judgeLocal(host: string, port: number): DeniedClass | undefined {
    return this.judge(host, '127.0.0.1', port)
  }

  /** Reports a refusal to `onRefusal` and returns its fault. @param who name of the host, such as its origin */
  refuse(denied: DeniedClass, host: string, who: string): NetFault {
    this.rules.onRefusal?.(denied, host)
    return NetFault.of('outbound', who, denied)
  }

  #opens(host: string): boolean {
    return this.#hosts.some((one) => (one.startsWith('*.') ? host.endsWith(one.slice(1)) : host === one))
  }
}

function normalized(host: string): string {
  return host.toLowerCase().replace(/^\[([^\]]*)\]/, '$1')
}

/** Host and port of an origin in the form of sockets: without brackets or a final dot. */
function targetOf(origin: string): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}

/** A `connect` of undici that checks each address before it connects. It resolves a name only once. */
export function guardedConnector(
  build: (how: buildConnector.BuildOptions) => buildConnector.connector,
  origin: string,
  guard: Guard,
): buildConnector.connector {
  const { host, port } = targetOf(origin)
  const connect = build({ lookup: guardedLookup(guard, origin) } as buildConnector.BuildOptions)
  if (!isIP(host)) return connect
  return (options, callback) => {
    const denied = guard.judge(host, host, port)
    if (denied) callback(guard.refuse(denied, host, origin), null)
    else connect(options, callback)
  }
}

/** A `lookup` that returns only the allowed addresses of a name. */
export function guardedLookup(guard: Guard, origin: string): LookupFunction {
  const { host, port } = targetOf(origin)
  return (name, options, callback) => {
    const answer = (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => {
      if (error) return callback(error, '')
      const denied = found.map(({ address }) => guard.judge(host, address, port))
      const open = found.filter((_, i) => denied[i] === undefined)
      const [first] = open
      if (!first) return callback(guard.refuse(denied[0] ?? 'reserved', host, origin), '')
      if (options.all) callback(null, open)
      else callback(null, first.address, first.family)
    }
    dns.lookup(name, { ...(options as LookupOptions), all: true }, answer)
  }
}

/**
 * The first allowed address of a host, for drivers that would resolve the name themselves.
 * @throws NetFault; the error of the resolver
 */
export async function judgedAddress(guard: Guard, { host, port }: HostAndPort): Promise<HostAndPort> {
  const name = normalized(host).replace(/\.$/, '')
  const found = isIP(name) ? [{ address: name }] : await dns.promises.lookup(name, { all: true })
  const denied = found.map(({ address }) => guard.judge(name, address, port))
  const open = found.find((_, i) => denied[i] === undefined)
  if (open) return { host: open.address, port }
  throw guard.refuse(denied[0] ?? 'reserved', name, `${host}:${port}`)
}

interface HostAndPort {
  host: string
  port: number
}

/** Checks a proxy, or a host behind a proxy, if its name is an address. @throws NetFault */
export function judgeLiteral(guard: Guard, origin: string): void {
  const { host, port } = targetOf(origin)
  const denied = isIP(host) ? guard.judge(host, host, port) : undefined
  if (denied) throw guard.refuse(denied, host, origin)
}

/**
 * Checks a host behind a proxy by the addresses that this machine resolves. A name that only the proxy can resolve is
 * allowed.
 * @throws NetFault
 */
export async function judgeBehindProxy(guard: Guard, origin: string): Promise<void> {
  const { host, port } = targetOf(origin)
  if (isIP(host)) return
  const addresses = METADATA_NAMES.has(host) ? ['169.254.169.254'] : await addressesOf(host)
  for (const address of addresses) {
    const denied = guard.judge(host, address, port)
    if (denied) throw guard.refuse(denied, host, origin)
  }
}

function addressesOf(name: string): Promise<string[]> {
  return new Promise((resolve) => {
    dns.lookup(name, { all: true }, (error, found) =>
      resolve(error ? [] : found.map(({ address }) => address)),
    )
  })
}
