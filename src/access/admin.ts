import type { TenantSettings } from '../config/model.ts'
import { isLoopback } from '../net/index.ts'
import { bearerTable } from './bearer.ts'

/** Whose part of the gateway's own pages somebody may see; undefined tenant: all of it. */
export interface Overseer {
  tenant: string | undefined
}

/** The parts of a request that identify its sender. */
export interface Asker {
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  /** Address of the other end of the connection; undefined where there is none. */
  remoteAddress: string | undefined
}

/** Headers that proxies add: the client behind one may be on another machine (RFC 7239). */
export const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/**
 * Who may use `/_reload`, `/_status` and `/metrics`: the admin token opens all of them, a tenant's token that
 * tenant's part. Without a credential only requests from this machine that came through no proxy are let in.
 */
export function createAdminAccess(
  admin: { token: string } | undefined,
  tenants: readonly TenantSettings[] = [],
): (asker: Asker) => Overseer | undefined {
  const entries = tenants.flatMap(({ name, tokens }) => tokens.map(({ token }) => ({ token, tenant: name })))
  // Of equal tokens the first counts.
  const table = bearerTable<{ token: string } & Overseer>([
    ...(admin ? [{ token: admin.token, tenant: undefined }] : []),
    ...entries,
  ])
  return ({ headers, remoteAddress }) => {
    const { authorization } = headers
    if (authorization !== undefined) {
      const found = table(authorization)
      return found && { tenant: found.tenant }
    }
    if (remoteAddress === undefined || !isLoopback(remoteAddress.replace(/^::ffff:/i, ''))) return undefined
    return FORWARDED.some((name) => headers[name] !== undefined) ? undefined : { tenant: undefined }
  }
}
