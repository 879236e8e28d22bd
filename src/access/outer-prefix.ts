import { BlockList } from 'node:net'
import { parseNetwork } from '../config/index.ts'

/** Characters of a header that are looked at. */
const MAX_LENGTH = 1_000
/** One or more segments, none of them empty: a path that begins with two slashes names another host. */
const PREFIX = /^(?:\/[\w.~!$&'()*+;=:@%-]+)+\/?$/

/**
 * Reads the path below which proxies serve the gateway, from `X-Forwarded-Prefix`. Several values are of several proxies,
 * the outermost first.
 * @param networks addresses and networks of the proxies that are believed; those that are none are left out
 * @returns gives the path, without a slash at its end; empty when there is none, or none that can be believed
 */
export function outerPrefixReader(
  networks: readonly string[],
): (header: string | undefined, address: string | undefined) => string {
  const trusted = new BlockList()
  for (const text of networks) {
    const network = parseNetwork(text)
    if (network) trusted.addSubnet(network.address, network.bits, network.family)
  }
  return (header, address) => {
    if (header === undefined || address === undefined || header.length > MAX_LENGTH) return ''
    const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '')
    if (!trusted.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4')) return ''
    const prefixes = header.split(',').map((part) => part.trim())
    if (!prefixes.every((prefix) => prefix === '/' || PREFIX.test(prefix))) return ''
    return prefixes.map((prefix) => prefix.replace(/\/$/, '')).join('')
  }
}
