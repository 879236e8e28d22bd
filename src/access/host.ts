import { isIP } from 'node:net'
import { isLoopback } from '../net/index.ts'
import type { CorsPolicy, Refusal, RequestHead, RoutePolicy, Step } from './steps.ts'

/**
 * Host and Origin checks against DNS rebinding (MCP 2025-11-25 and 2026-07-28, Streamable HTTP, Security): a web page
 * must not reach a gateway on the user's machine through a name that it controls.
 */
export interface HostGuard {
  allowsHost(host: string | undefined): boolean
  /** For origins without a router's CORS policy. */
  allowsOrigin(origin: string, host: string | undefined): boolean
}

interface HostGuardOptions {
  /** The address the gateway is bound to. */
  bind: string
  /** Host names, without port, accepted in addition. */
  allowedHosts: readonly string[]
  /** Origins accepted in addition. */
  allowedOrigins: readonly string[]
  /** The settings' public URL, whose host is a name of the gateway. */
  publicUrl?: string
}

export function createHostGuard(options: HostGuardOptions): HostGuard {
  const { bind, allowedHosts, allowedOrigins, publicUrl } = options
  const local = isLoopback(bind)
  const hosts = new Set(allowedHosts.map((host) => host.toLowerCase()))
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()))
  const publicName = publicUrl && URL.canParse(publicUrl) ? hostName(new URL(publicUrl).host) : undefined

  function allowsHost(host: string | undefined): boolean {
    if (!local && hosts.size === 0) return true
    if (host === undefined) return false
    const name = hostName(host)
    return hosts.has(name) || name === publicName || (local && isLoopback(name))
  }

  function allowsOrigin(origin: string, host: string | undefined): boolean {
    if (origins.has(origin.toLowerCase())) return true
    const authority = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase()
    if (authority === undefined) return false
    const name = hostName(authority)
    if (local) return isLoopback(name) || hosts.has(name) || name === publicName
    // A page served from this address; an unknown name may be controlled by an attacker.
    return authority === host?.toLowerCase() && isOwnName(name)
  }

  function isOwnName(name: string): boolean {
    return hosts.has(name) || name === publicName || isLoopback(name) || isIP(name) !== 0
  }

  return { allowsHost, allowsOrigin }
}

/** The name in `host:port` or `[v6]:port`, in lower case, without brackets. */
export function hostName(authority: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(authority)
  return (bracketed?.[1] ?? authority.replace(/:\d+$/, '')).toLowerCase()
}

/** Refuses requests to host names other than the gateway's. */
export function hostStep({ allowsHost }: HostGuard): Step<RequestHead, Refusal> {
  return {
    name: 'host',
    async run({ rawHeaders, host }) {
      // Two Host headers attack a server that reads the other one (RFC 9112, 3.2).
      if (countOf('host', rawHeaders) > 1)
        return { status: 400, message: 'The request has more than one Host header' }
      if (host === undefined) return { status: 400, message: 'The request has no Host header' }
      return allowsHost(host) ? undefined : notAllowed('Host', host)
    },
  }
}

/** Refuses requests from web sites that neither the settings nor the router's CORS allow. */
export function originStep({
  allowsOrigin,
}: HostGuard): Step<RequestHead & { route?: RoutePolicy; cors?: CorsPolicy | undefined }, Refusal> {
  return {
    name: 'origin',
    async run({ headers: { origin, host }, route, cors }) {
      if (origin === undefined || cors?.allows(origin) || allowsOrigin(origin, host)) return undefined
      return {
        ...notAllowed('Origin', origin, route ? " or the router's cors" : ''),
        headers: { vary: 'Origin' },
      }
    },
  }
}

function notAllowed(name: 'Host' | 'Origin', value = '', or = ''): Refusal {
  const message = `${name} ${value.slice(0, 100)} is not allowed; allow it by allowed${name}s of the settings${or}`
  return { status: 403, message }
}

/**
 * Number of headers with a name: Node keeps only the first of headers that may occur once.
 * @param name in lower case
 * @param rawHeaders alternating names and values; absent: unknown
 */
export function countOf(name: string, rawHeaders: readonly string[] = []): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const one = rawHeaders[i] as string
    if (one.length === name.length && one.toLowerCase() === name) count++
  }
  return count
}
