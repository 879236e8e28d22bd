/** Characters of a header that are looked at. */
const MAX_LENGTH = 1_000
/** One or more segments, none of them empty: a path that begins with two slashes names another host. */
const PREFIX = /^(?:\/[\w.~!$&'()*+;=:@%-]+)+\/?$/

/**
 * Reads the path below which proxies serve the gateway, from `X-Forwarded-Prefix`. Several values are of several proxies,
 * the outermost first.
 * @param trusts whether an address is that of a proxy that is believed
 * @returns gives the path, without a slash at its end; empty when there is none, or none that can be believed
 */
export function outerPrefixReader(
  trusts: (address: string) => boolean,
): (header: string | undefined, address: string | undefined) => string {
  return (header, address) => {
    if (header === undefined || address === undefined || header.length > MAX_LENGTH) return ''
    if (!trusts(address)) return ''
    const prefixes = header.split(',').map((part) => part.trim())
    if (!prefixes.every((prefix) => prefix === '/' || PREFIX.test(prefix))) return ''
    return prefixes.map((prefix) => prefix.replace(/\/$/, '')).join('')
  }
}
