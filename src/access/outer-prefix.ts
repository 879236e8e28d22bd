/** Maximum characters read of a header. */
const MAX_LENGTH = 1_000
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
    if (header === undefined || address === undefined || header.length > MAX_LENGTH) return ''
    if (!trusts(address)) return ''
    const prefixes = header.split(',').map((part) => part.trim())
    if (!prefixes.every((prefix) => prefix === '/' || PREFIX.test(prefix))) return ''
    return prefixes.map((prefix) => prefix.replace(/\/$/, '')).join('')
  }
}
