import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Classes of addresses; the first match wins. */
const CLASSES = {
  metadata: {
    v4: [
      '169.254.169.254/32',
      '169.254.170.2/32',
      '169.254.170.23/32',
      '169.254.42.42/32',
      '100.100.100.200/32',
    ],
    v6: [
      'fd00:ec2::254/128',
      'fd00:ec2::23/128',
      'fd00:42::42/128',
      'fd20:ce::254/128',
      'fe80::a9fe:a9fe/128',
    ],
    more: ['168.63.129.16/32', '192.0.0.192/32'],
  },
  linkLocal: { v4: ['169.254.0.0/16'], v6: ['fe80::/10'] },
  // Systems connect to 0.0.0.0 and :: as to themselves.
  loopback: { v4: ['127.0.0.0/8', '0.0.0.0/32'], v6: ['::1/128', '::/128'] },
  private: {
    v4: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'],
    v6: ['fc00::/7', 'fec0::/10'],
  },
  multicast: { v4: ['224.0.0.0/4'], v6: ['ff00::/8'] },
  // The other addresses that the registries of RFC 6890 list as not globally reachable.
  reserved: {
    v4: [
      '0.0.0.0/8',
      '192.0.0.0/24',
      '192.0.2.0/24',
      '192.88.99.0/24',
      '198.18.0.0/15',
      '198.51.100.0/24',
      '203.0.113.0/24',
      '240.0.0.0/4',
    ],
    v6: ['64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32', '3fff::/20', '5f00::/16'],
  },
} satisfies Record<string, { v4: string[]; v6: string[]; more?: string[] }>

/** Class of an address other than the gateway's own. */
export type AddressClass = keyof typeof CLASSES

/**
 * Prefixes of IPv6 addresses that embed an IPv4 address in their last 32 bits: compatible (RFC 4291, 2.5.5.1),
 * translated (RFC 2765), NAT64 (RFC 6052). Node's `BlockList` itself handles mapped addresses (`::ffff:0:0/96`).
 */
const EMBEDDING = ['::', '::ffff:0:', '64:ff9b::']

/** A list of networks. An IPv4 network also matches IPv6 addresses that embed its addresses. */
export class Networks {
  readonly #list = new BlockList()

  /** @param networks `address/bits`, or an address alone */
  constructor(networks: readonly string[] = []) {
    for (const network of networks) this.add(network)
  }

  add(network: string): void {
    const [address = '', digits] = network.split('/')
    const version = isIP(address)
    const bits = digits === undefined ? (version === 4 ? 32 : 128) : Number(digits)
    if (version === 6) {
      this.#list.addSubnet(address, bits, 'ipv6')
      return
    }
    this.#list.addSubnet(address, bits, 'ipv4')
    for (const prefix of EMBEDDING) this.#list.addSubnet(`${prefix}${address}`, 96 + bits, 'ipv6')
    // 6to4 (RFC 3056) embeds the IPv4 address after the first 16 bits.
    const hex = Buffer.from(address.split('.').map(Number)).toString('hex')
    this.#list.addSubnet(`2002:${hex.slice(0, 4)}:${hex.slice(4)}::`, 16 + bits, 'ipv6')
  }

  /** @param address without brackets, perhaps with a zone */
  has(address: string): boolean {
    const bare = address.split('%', 1)[0] as string
    const version = isIP(bare)
    return version > 0 && this.#list.check(bare, version === 4 ? 'ipv4' : 'ipv6')
  }
}

/** Created at the first check. */
let lists: Record<AddressClass, Networks> | undefined

function makeLists(): Record<AddressClass, Networks> {
  const entries = Object.entries(CLASSES).map(([name, nets]) => {
    const { v4, v6, more = [] } = nets as { v4: string[]; v6: string[]; more?: string[] }
    return [name, new Networks([...v4, ...more, ...v6])] as const
  })
  return Object.fromEntries(entries) as Record<AddressClass, Networks>
}

const ORDER = Object.keys(CLASSES) as AddressClass[]

/** The first class in `among` that contains the address; undefined if none does. */
export function classOf(address: string, among: ReadonlySet<string>): AddressClass | undefined {
  lists ??= makeLists()
  const known = lists
  return ORDER.find((name) => among.has(name) && known[name].has(address))
}

/** Addresses and ports on which this gateway itself listens. */
export class OwnAddresses {
  readonly #listening = new Map<number, Networks[]>()

  /** @param address of a listening socket; `0.0.0.0` and `::` stand for every address of the machine */
  add({ address, port }: { address: string; port: number }): void {
    const known = this.#listening.get(port) ?? []
    const isAny = address === '0.0.0.0' || address === '::'
    const isLocal = classOf(address, LOOPBACK) !== undefined
    const own = new Networks(isLocal ? [...CLASSES.loopback.v4, ...CLASSES.loopback.v6] : [address])
    this.#listening.set(port, [...known, isAny ? new EveryAddress() : own])
  }

  has(address: string, port: number): boolean {
    return this.#listening.get(port)?.some((networks) => networks.has(address)) ?? false
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(['loopback'])

/** Every current address of this machine. */
class EveryAddress extends Networks {
  override has(address: string): boolean {
    if (classOf(address, LOOPBACK)) return true
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
    return new Networks(all.map((one) => one.address)).has(address)
  }
}
