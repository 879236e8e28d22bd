/** Whether a name or address, without brackets, is this machine's own (RFC 6761, 6.3; RFC 1122, 3.2.1.3; RFC 4291, 2.5.3). */
export function isLoopback(name: string): boolean {
  return (
    name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
  )
}

/**
 * What keeps a text from being a URL at which nobody in between reads or changes what is sent: `form`: it is no URL of
 * HTTP without credentials and fragment. `insecure`: it is not https, and not on this machine.
 */
export function urlFault(text: string): 'form' | 'insecure' | undefined {
  if (!URL.canParse(text)) return 'form'
  const { protocol, username, password, hostname, hash } = new URL(text)
  if (username || password || hash || (protocol !== 'https:' && protocol !== 'http:')) return 'form'
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, '')) ? undefined : 'insecure'
}
