import { BlockList, isIP } from 'node:net'
import { parseNetwork } from '../config/index.ts'

/** Whether an address belongs to these addresses and networks; invalid ones are ignored. */
export function networkMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const text of networks) {
    const network = parseNetwork(text)
    if (network) list.addSubnet(network.address, network.bits, network.family)
  }
  return (address) => {
    const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '')
    return list.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4')
  }
}

/**
 * Reads the client's address from `X-Forwarded-For`: each proxy appends its sender, so the last address that is no
 * trusted proxy is the client; earlier ones may be forged.
 * @param trusts whether an address is a trusted proxy
 * @returns the connection's address, if it is no trusted proxy or sent no header
 */
export function clientAddressReader(
  trusts: (address: string) => boolean,
): (header: string | undefined, address: string | undefined) => string | undefined {
  return (header, address) => {
    if (header === undefined || address === undefined || !trusts(address)) return address
    let client = address
    // Maximum characters read of a header: from its end, where the nearest proxies write.
    for (const hop of header.slice(-1_000).split(',').reverse()) {
      const found = addressIn(hop.trim())
      // A name, or the rest of a truncated list.
      if (found === undefined) break
      client = found
      if (!trusts(client)) break
    }
    return client
  }
}

/** Some proxies add a port; IPv6 is then in brackets. */
function addressIn(hop: string): string | undefined {
  const [, bracketed, v4] = /^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+):\d+)$/i.exec(hop) ?? []
  const address = bracketed ?? v4 ?? hop
  return isIP(address) ? address : undefined
}

/** One or more non-empty segments: a path that begins with two slashes names another host. */
const PREFIX = /^(?:\/[\w.~!$&'()*+;=:@%-]+)+\/?$/

/**
 * Reads the path below which proxies serve the gateway, from `X-Forwarded-Prefix`. Several values come from several
 * proxies, outermost first.
 * @param trusts whether an address is a trusted proxy
 * @returns the path without a trailing slash; empty if absent or untrusted
 */
export function outerPrefixReader(
  trusts: (address: string) => boolean,
): (header: string | undefined, address: string | undefined) => string {
  return (header, address) => {
    if (header === undefined || address === undefined || header.length > 1_000) return ''
    if (!trusts(address)) return ''
    const prefixes = header.split(',').map((part) => part.trim())
    if (!prefixes.every((prefix) => prefix === '/' || PREFIX.test(prefix))) return ''
    return prefixes.map((prefix) => prefix.replace(/\/$/, '')).join('')
  }
}
