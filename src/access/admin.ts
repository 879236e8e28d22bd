import type { TenantSettings } from '../config/model.ts'
import { isLoopback } from '../net/index.ts'
import { bearerTable, type KnownToken } from './bearer.ts'
import { hostName } from './host.ts'
import { isSignOfProxy } from './peer.ts'

/** An authorized administrator; `tenant` undefined: may see everything. */
export interface AdminPrincipal {
  tenant: string | undefined
  /** Name of a tenant's token; absent: the administrator of all tenants. */
  caller?: string
}

/** The parts of a request that identify its sender. */
export interface Sender {
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  /** Alternating names and values as sent; absent without a socket. */
  rawHeaders?: readonly string[] | undefined
  /** HTTP version, such as `1.1`; absent without a socket. */
  version?: string | undefined
  /** Whether only this machine can reach the listener, and the client is on it. */
  isLocal: boolean
}

/**
 * Decides who may use `/_reload`, `/_diff`, `/_status` and `/metrics`. The admin token opens all of them; a tenant's
 * token opens the part of that tenant. Without an admin token, a local request is allowed if its host is a loopback
 * name (a web page can control other names), if it shows no sign of a proxy, and if no other site sent it.
 */
export function createAdminAccess(
  admin: { token?: string } | undefined,
  tenants: readonly TenantSettings[] = [],
): (sender: Sender) => AdminPrincipal | undefined {
  const entries = tenants.flatMap(({ name, tokens }) =>
    tokens.map(({ token, caller, expires }) => ({ token, caller, expires, tenant: name })),
  )
  const token = admin?.token
  // The first of equal tokens counts.
  const table = bearerTable<KnownToken & AdminPrincipal>([
    ...(token === undefined ? [] : [{ token, tenant: undefined }]),
    ...entries,
  ])
  return (sender) => {
    const { authorization } = sender.headers
    if (authorization !== undefined) {
      const found = table(authorization)
      return found && { tenant: found.tenant, ...(found.caller !== undefined && { caller: found.caller }) }
    }
    return token === undefined && isAtThisMachine(sender) ? { tenant: undefined } : undefined
  }
}

function isAtThisMachine({ headers, rawHeaders, version, isLocal }: Sender): boolean {
  const { host, origin } = headers
  if (!isLocal || host === undefined || !isLoopback(hostName(host))) return false
  // Almost only proxies still use HTTP/1.0: it is the default of nginx.
  if (version === '1.0') return false
  const names = rawHeaders?.filter((_, i) => i % 2 === 0) ?? Object.keys(headers)
  if (names.some(isSignOfProxy)) return false
  if (isFromOtherSite(headers)) return false
  return origin === undefined || origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()
}

/** Whether a browser sent the request for a page of another origin (Fetch Metadata, `Sec-Fetch-Site`). */
export function isFromOtherSite({ 'sec-fetch-site': site }: Sender['headers']): boolean {
  // `none`: the user typed the address.
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}
