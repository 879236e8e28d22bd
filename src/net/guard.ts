import dns, { type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { buildConnector } from 'undici'
import { type AddressClass, classOf, Networks, OwnAddresses } from './addresses.ts'
import { NetFault } from './faults.ts'

/** Why a connection is refused: the class of its address, or its port. */
export type DeniedClass = AddressClass | 'own' | 'port'

/** Classes that nothing but an entry of `allowHosts` or `allowCidrs` opens. */
export const ALWAYS_DENIED = ['own', 'metadata', 'linkLocal'] as const
export const ALL_CLASSES = [...ALWAYS_DENIED, 'loopback', 'private', 'multicast', 'reserved'] as const

/** Names of metadata services that proxies may resolve. */
const METADATA_NAMES = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal'])

interface GuardRules {
  /** Classes of addresses that are refused. */
  deny: readonly (AddressClass | 'own')[]
  /** Names and addresses as URLs write them, `*.example.com` for all below; with `:port` for that port alone. */
  allowHosts: readonly string[]
  /** Networks as `address/bits`. */
  allowCidrs: readonly string[]
  /** Absent: every port. */
  ports?: readonly number[] | undefined
  own: OwnAddresses
  /** Called with each refusal. */
  onRefusal?: (denied: DeniedClass, host: string) => void
  /** Judges proxies, which the author of a configuration names. Default: this guard. */
  forProxies?: Guard
}

/** Guards of outbound connections of one tenant's configurations. */
export interface Guards {
  /** Hosts that the author of a configuration names. */
  named: Guard
  /** Hosts that an argument, a caller's request, a redirect or a document of a server decides. */
  decided: Guard
  /** Paths of the gateway itself that its tools may call, and what judges those requests. */
  ownPaths?: { has(path: string): boolean; guard: Guard }
}

/**
 * Guards for commands. Users may reach any host that they name, except metadata services; redirects and arguments must
 * not lead to private addresses.
 */
export function guardsOfCommands(): Guards {
  const none = { allowHosts: [], allowCidrs: [], own: new OwnAddresses() }
  const named = new Guard({ ...none, deny: ALWAYS_DENIED })
  return { named, decided: new Guard({ ...none, deny: ALL_CLASSES, forProxies: named }) }
}

let count = 0

/**
 * Judges connections by the address that they are made to. Connections that are kept alive are used again only by requests
 * with the same guard.
 */
export class Guard {
  /** Tells pools of connections apart. */
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

  /** @param host as the URL names it @param address that is connected to */
  judge(host: string, address: string, port: number): DeniedClass | undefined {
    if (this.#opens(`${host}:${port}`)) return undefined
    if (this.#ports && !this.#ports.has(port)) return 'port'
    // Allowing a network is not meant to allow the gateway's own pages.
    if (this.#deny.has('own') && this.rules.own.has(address, port)) return 'own'
    if (this.#opens(host) || this.#allowed.has(address)) return undefined
    return classOf(address, this.#deny)
  }

  /** The same for targets without an address, such as a Unix socket: only for configurations that may reach this machine. */
  judgeLocal(host: string, port: number): DeniedClass | undefined {
    return this.judge(host, '127.0.0.1', port)
  }

  /** A refusal, which is counted. @param who names the host, such as its origin */
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

/** Host and port as sockets need them, of an origin. */
function targetOf(origin: string): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}

/** A `connect` of undici that judges every address before it is connected to; names are resolved once. */
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

/** Gives those addresses of a name that may be connected to. */
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
 * An address of a host, for what resolves names itself.
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

/** Refuses a proxy, or a host behind one, that is written as an address. @throws NetFault */
export function judgeLiteral(guard: Guard, origin: string): void {
  const { host, port } = targetOf(origin)
  const denied = isIP(host) ? guard.judge(host, host, port) : undefined
  if (denied) throw guard.refuse(denied, host, origin)
}

/**
 * Judges a host behind a proxy by the addresses that this machine finds. A name that only the proxy can resolve passes.
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
