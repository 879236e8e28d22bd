import type { IssuerParts } from '../access/authorization-server.ts'
import { bearerAuthentication, bearerCallers, bearerScopeChallenge } from '../access/bearer.ts'
import type { Judge } from '../access/grant.ts'
import type { Identity } from '../access/identity.ts'
import { introspectionJudge } from '../access/introspection.ts'
import { IssuerKeys, type KeySource } from '../access/issuer-keys.ts'
import { jwtJudge } from '../access/jwt.ts'
import { oauthAuthentication, protectedResource, resourceMetadata, scopeChallenge } from '../access/oauth.ts'
import { type Bound, createAuthorize, type ScopeChallenge } from '../access/permissions.ts'
import {
  asksForLogin,
  type Configuration,
  endpointPath,
  isOpen,
  type OAuth,
  oauthOf,
  provesIssuers,
  type Router,
  type TenantSettings,
} from '../config/index.ts'
import type { Guards } from '../net/index.ts'
import { RecentMap } from '../text/index.ts'
import type { Route } from './types.ts'

/** Keys of issuers, so that all routers fetch those of one issuer once, and reloads keep them. */
export class KnownIssuers {
  /** Routes hold those that they use. */
  private readonly keys = new RecentMap<string, IssuerKeys>(1_000)

  readonly parts: IssuerParts

  constructor(
    { http, log }: Pick<IssuerParts, 'http' | 'log'>,
    clocks: Pick<IssuerParts, 'now' | 'steady'> = { now: Date.now, steady: () => performance.now() },
  ) {
    this.parts = { http, log, ...clocks }
  }

  /** @param guards of the tenant whose router trusts the issuer */
  keysOf({ issuer, jwksUrl }: KeySource, guards?: Guards): IssuerKeys {
    const name = JSON.stringify([issuer, jwksUrl, guards?.named.key])
    const known = this.keys.get(name)
    if (known) return known
    const keys = new IssuerKeys(
      { issuer, ...(jwksUrl !== undefined && { jwksUrl }) },
      { ...this.parts, guards },
    )
    this.keys.set(name, keys)
    return keys
  }
}

interface AuthContext {
  tenants?: readonly TenantSettings[]
  /** `publicUrl` of the settings. Absent only where nothing is served: a check requires it. */
  publicUrl?: string
  issuers: KnownIssuers
  /** Guards of connections to issuers. */
  guards?: Guards | undefined
}

/** Callers admitted by a router: its own and its tenant's; if neither has any: everyone. */
export function routeAuth(
  { name, tenant }: Configuration,
  router: Router,
  { tenants = [], publicUrl = '', issuers, guards }: AuthContext,
): Pick<Route, 'access' | 'authenticate' | 'documents' | 'authorize'> {
  const owner = tenants.find((one) => one.name === tenant)
  const shared = (owner?.tokens ?? []).map((token) => ({ ...token, bySettings: true }))
  const auth = oauthOf(router)
  if (!auth) {
    const rules = rulesOf(router, owner, [], bearerScopeChallenge)
    if (isOpen(router, { tenant }, tenants)) return { access: 'open', ...rules }
    const own = asksForLogin(router) ? (router.auth?.tokens ?? []) : []
    return { access: 'token', authenticate: bearerAuthentication([...own, ...shared]), ...rules }
  }
  const { prefix, ssePrefix = prefix } = router
  const mcp = protectedResource(publicUrl, endpointPath(prefix, 'mcp'))
  const sse = protectedResource(publicUrl, endpointPath(ssePrefix, 'sse'))
  const { scopes } = auth
  const names = auth.issuers.map(({ issuer }) => issuer)
  const documents = new Map(
    [mcp, sse].map((one) => [
      one.path,
      { text: resourceMetadata(one, { name, issuers: names, scopes }), type: 'application/json' },
    ]),
  )
  const judge = judgeOf(auth, [mcp.url, sse.url], issuers, guards)
  return {
    access: 'oauth',
    authenticate: oauthAuthentication({ mcp, sse, scopes, judge, known: bearerCallers(shared) }),
    documents,
    ...rulesOf(router, owner, scopes, scopeChallenge({ mcp, sse })),
  }
}

/**
 * For the rules of its tenant nothing counts that the author of a router may say of callers at will.
 * @param scopes that every request needs
 */
function rulesOf(
  { auth, authorize }: Router,
  owner: TenantSettings | undefined,
  scopes: readonly string[],
  challenge: ScopeChallenge,
): Pick<Route, 'authorize'> {
  const isProven = auth !== undefined && provesIssuers(auth)
  // Which claim is the caller's name is up to the author as well.
  const proven = (identity: Identity) =>
    isProven ? { ...identity, callerName: identity.subject } : undefined
  const trusted = (identity: Identity) => (identity.bySettings ? identity : proven(identity))
  const bounds: Bound[] = [
    ...(owner?.authorize ? [{ authorize: owner.authorize, trusted }] : []),
    ...(authorize ? [{ authorize }] : []),
  ]
  return bounds.length ? { authorize: createAuthorize(bounds, scopes, challenge) } : {}
}

/** @param endpoints their URLs, for which tokens are issued unless `audience` says otherwise */
function judgeOf(auth: OAuth, endpoints: readonly string[], issuers: KnownIssuers, guards?: Guards): Judge {
  const parts = { ...issuers.parts, guards }
  const rules = { ...auth, audience: auth.audience === undefined ? endpoints : [auth.audience].flat() }
  const [issuer = { issuer: '' }] = auth.issuers
  switch (auth.type) {
    case 'jwt': {
      const trusted = auth.issuers.map((one) => ({ ...one, keys: issuers.keysOf(one, guards) }))
      return jwtJudge(trusted, { ...rules, now: parts.now })
    }
    case 'introspection':
      return introspectionJudge(issuer, rules, parts)
  }
}
