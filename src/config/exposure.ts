import { isLoopback } from '../net/index.ts'
import {
  type Auth,
  asksForLogin,
  type Configuration,
  type Router,
  type Settings,
  type TenantSettings,
} from './model.ts'

/** The settings that decide who can reach the gateway. */
export type Listening = Pick<Settings, 'host' | 'allowUnauthenticated' | 'tls'>

/**
 * The address at which a router without authentication would be open to other machines; undefined: no other machine
 * reaches it, clients have certificates, or the settings allow it. A host name other than `localhost` counts as
 * reachable.
 */
export function exposedAt({ host, allowUnauthenticated, tls }: Listening): string | undefined {
  return isLoopback(host) || allowUnauthenticated || tls?.clientCa !== undefined ? undefined : host
}

/**
 * Whether a token's issuer is proven independently of the router's author: the keys are those that the issuer
 * publishes. With `jwksUrl` or an introspection endpoint, the author vouches for them.
 */
export function provesIssuers({ type, issuers }: Auth): boolean {
  return type === 'jwt' && issuers.every(({ jwksUrl }) => jwksUrl === undefined)
}

/** Whether everyone may use a router: neither `auth` nor tokens of its tenant protect it. */
export function isOpen(
  router: Router,
  { tenant }: Pick<Configuration, 'tenant'>,
  tenants: readonly TenantSettings[] = [],
): boolean {
  return !asksForLogin(router) && !tenants.find(({ name }) => name === tenant)?.tokens.length
}
