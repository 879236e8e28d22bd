/** Whether a name or address, without brackets, is this machine's own (RFC 6761, 6.3; RFC 1122, 3.2.1.3; RFC 4291, 2.5.3). */
export function isLoopback(name: string): boolean {
  const lower = name.toLowerCase()
  if (lower.includes(':')) return isLoopbackV6(lower)
  return lower === 'localhost' || lower.endsWith('.localhost') || /^127(\.\d{1,3}){3}$/.test(lower)
}

/** Whether the host of a URL is this machine. */
export function isHere({ hostname }: URL): boolean {
  return isLoopback(hostname.replace(/^\[|\]$/g, ''))
}

/** Accepts every notation of the address, including a mapped IPv4 address (RFC 4291, 2.5.5.2). */
function isLoopbackV6(address: string): boolean {
  const url = `http://[${address}]`
  if (address === '::1' || !URL.canParse(url)) return address === '::1'
  return /^\[(?:::1|::ffff:7f[\da-f]{2}:[\da-f]{1,4})\]$/.test(new URL(url).hostname)
}

/**
 * Why a URL does not protect its traffic. `form`: it is not an HTTP URL, or has credentials or a fragment.
 * `insecure`: it is neither https nor on this machine.
 */
export function urlFault(text: string): 'form' | 'insecure' | undefined {
  if (!URL.canParse(text)) return 'form'
  const url = new URL(text)
  const { protocol, username, password, hash } = url
  if (username || password || hash || (protocol !== 'https:' && protocol !== 'http:')) return 'form'
  return protocol === 'https:' || isHere(url) ? undefined : 'insecure'
}
