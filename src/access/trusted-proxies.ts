import { BlockList, isIP } from 'node:net'
import { parseNetwork } from '../config/index.ts'

/** Characters of a header that are looked at: from its end, where the nearest proxies write. */
const MAX_LENGTH = 1_000

/**
 * Whether an address is one of these addresses and networks; those that are none are left out.
 */
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
 * Reads the address of a client from `X-Forwarded-For`: each proxy adds at its end from where it was sent the request, so
 * the last one that is no trusted proxy is the client; what stands before it anyone may have written.
 * @param trusts whether an address is that of a proxy that is believed
 * @returns gives the address of the other end of the connection where that is no such proxy, or the header says nothing
 */
export function clientAddressReader(
  trusts: (address: string) => boolean,
): (header: string | undefined, address: string | undefined) => string | undefined {
  return (header, address) => {
    if (header === undefined || address === undefined || !trusts(address)) return address
    let client = address
    for (const hop of header.slice(-MAX_LENGTH).split(',').reverse()) {
      const found = addressIn(hop.trim())
      // A name, or the rest of what was too long.
      if (found === undefined) break
      client = found
      if (!trusts(client)) break
    }
    return client
  }
}

/** Some proxies add a port; IPv6 then stands in brackets. */
function addressIn(hop: string): string | undefined {
  const [, bracketed, v4] = /^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+):\d+)$/i.exec(hop) ?? []
  const address = bracketed ?? v4 ?? hop
  return isIP(address) ? address : undefined
}
