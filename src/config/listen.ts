import { isLoopback } from '../net/index.ts'

/** Where a server listens: an address, without brackets, and a port (0: any that is free), or a Unix socket. */
export type ListenAddress = { host: string; port: number; path?: never } | { path: string }

/** Reads `address:port`, `[v6]:port` or `unix:path`. Undefined: it is none of them. */
export function parseListen(text: string): ListenAddress | undefined {
  const path = socketPath(text)
  if (path !== undefined) return path === '' ? undefined : { path }
  const [, v6, name, digits] = /^(?:\[([\da-fA-F:.]+)\]|([^\s:[\]/@]+)):(\d{1,5})$/.exec(text) ?? []
  const host = v6 ?? name
  const port = Number(digits)
  return host === undefined || port > 65535 ? undefined : { host, port }
}

/** The path after `unix:`; undefined: the text does not begin so. */
export function socketPath(text: string): string | undefined {
  return text.startsWith('unix:') ? text.slice(5) : undefined
}

/** As it is written in settings. */
export function listenText(address: ListenAddress): string {
  if (address.path !== undefined) return `unix:${address.path}`
  const { host, port } = address
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Whether only this machine reaches it. */
export function isLocal(address: ListenAddress): boolean {
  return address.path !== undefined || isLoopback(address.host)
}

/** Where a gateway with these settings is reached from this machine, such as `http://127.0.0.1:5235`. */
export function originOf({ host, port, tls }: { host: string; port: number; tls?: unknown }): string {
  const isAny = host === '0.0.0.0' || host === '::'
  return `${tls ? 'https' : 'http'}://${listenText({ host: isAny ? '127.0.0.1' : host, port })}`
}

/** Where clients reach the gateway, without a slash at the end: `publicUrl`, else host and port. */
export function clientBase({
  publicUrl,
  ...listening
}: {
  publicUrl?: string
  host: string
  port: number
  tls?: unknown
}): string {
  return publicUrl ?? originOf(listening)
}

/** The path of an endpoint, below the address at which clients reach the gateway. */
export function endpointPath(prefix: string, endpoint: 'mcp' | 'sse' | 'message'): string {
  return `${prefix === '/' ? '' : prefix}/${endpoint}`
}
