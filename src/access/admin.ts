import type { TenantSettings } from '../config/model.ts'
import { isLoopback } from '../net/index.ts'
import { bearerTable, type KnownToken } from './bearer.ts'
import { hostName } from './host.ts'
import { isSignOfProxy } from './proxy-signs.ts'

/** Whose part of the gateway's own pages somebody may see; undefined tenant: all of it. */
export interface Overseer {
  tenant: string | undefined
}

/** The parts of a request that identify its sender. */
export interface Asker {
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  /** Names and values in turn, as they were sent; absent where no socket is read. */
  rawHeaders?: readonly string[] | undefined
  /** Of HTTP, such as `1.1`; absent where no socket is read. */
  version?: string | undefined
  /** Whether the listener is one that only this machine reaches, and the other end of the connection is on it. */
  isLocal: boolean
}

/**
 * Who may use `/_reload`, `/_diff`, `/_status` and `/metrics`: the admin token opens all of them, a tenant's token that
 * tenant's part. Without an admin token, requests from this machine are let in that name a loopback host (a name could be
 * one that a web page's owner points here), have no sign of a proxy, and come from no other web page.
 */
export function createAdminAccess(
  admin: { token?: string } | undefined,
  tenants: readonly TenantSettings[] = [],
): (asker: Asker) => Overseer | undefined {
  const entries = tenants.flatMap(({ name, tokens }) =>
    tokens.map(({ token, expires }) => ({ token, ...(expires !== undefined && { expires }), tenant: name })),
  )
  const token = admin?.token
  // Of equal tokens the first counts.
  const table = bearerTable<KnownToken & Overseer>([
    ...(token === undefined ? [] : [{ token, tenant: undefined }]),
    ...entries,
  ])
  return (asker) => {
    const { authorization } = asker.headers
    if (authorization !== undefined) {
      const found = table(authorization)
      return found && { tenant: found.tenant }
    }
    return token === undefined && isAtThisMachine(asker) ? { tenant: undefined } : undefined
  }
}

function isAtThisMachine({ headers, rawHeaders, version, isLocal }: Asker): boolean {
  const { host, origin } = headers
  if (!isLocal || host === undefined || !isLoopback(hostName(host))) return false
  // What is left that asks so is proxies: it is what nginx does unless it is told otherwise.
  if (version === '1.0') return false
  const names = rawHeaders?.filter((_, i) => i % 2 === 0) ?? Object.keys(headers)
  if (names.some(isSignOfProxy)) return false
  // `none`: a person typed the address.
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  return origin === undefined || origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()
}
