import { valueAt } from '../json/index.ts'
import { createGlob, type Glob } from './glob.ts'
import type { Identity } from './identity.ts'

/** What rules name. */
export type Usable = 'tools' | 'prompts' | 'resources'

/** `authorize` of a router, as a configuration gives it. */
export interface AuthorizeRules {
  default: 'allow' | 'deny'
  rules: readonly (Partial<Record<Usable, readonly string[]>> & Demands)[]
}

/** What a rule demands of callers; what is absent is not demanded. */
interface Demands {
  scopes?: readonly string[]
  /** Values by claim, one of which it must have. */
  claims?: Readonly<Record<string, readonly string[]>>
  callers?: readonly string[]
}

/** What one caller may use of a route. */
export interface Permissions {
  /** Whether what no rule can name may be used. */
  readonly allowsUnknown: boolean
  /** Equal for callers who may use the same. */
  key(): string
  allows(kind: Usable, name: string): boolean
  /** Headers that ask for a token with more scopes, and those scopes, where nothing else is missing. */
  lacks(kind: Usable, name: string): Lacking | undefined
}

export interface Lacking {
  /** All that the operation needs. */
  scopes: readonly string[]
  headers: Record<string, string>
}

/** Makes what the caller of a request may use. */
export type Authorize = (request: { identity: Identity | undefined; path: string }) => Permissions

/** The `WWW-Authenticate` value for a token that lacks scopes, at the endpoint of that path. */
export type ScopeChallenge = (path: string, scopes: readonly string[]) => string

/** Rules that a caller must meet. */
export interface Bound {
  authorize: AuthorizeRules
  /** What of an identity counts for these rules; absent: all. */
  trusted?: (identity: Identity) => Identity | undefined
}

interface Rule extends Demands {
  globs: Readonly<Record<Usable, readonly Glob[]>>
}

/** Sets of rules so far. */
let made = 0

const URI_KINDS: ReadonlySet<Usable> = new Set(['resources'])

/**
 * @param bounds all of which have to allow what is used
 * @param needed scopes that every request needs
 * @param challenge tells a client which scopes to ask for
 */
export function createAuthorize(
  bounds: readonly Bound[],
  needed: readonly string[],
  challenge: ScopeChallenge,
): Authorize {
  const judges = bounds.map(judgeOf)
  // Other rules have the same numbers after a reload.
  const own = ++made
  const known = new WeakMap<Identity, { path: string; permissions: Permissions }>()
  const permissionsOf = (identity: Identity | undefined, path: string): Permissions => {
    const judged = judges.map((one) => one(identity))
    return {
      key: () => [own, ...judged.map(({ key }) => key())].join(';'),
      allowsUnknown: judged.every(({ allowsUnknown }) => allowsUnknown),
      allows: (kind, name) => judged.every(({ allows }) => allows(kind, name)),
      lacks(kind, name) {
        const wanted = new Set(needed)
        for (const { allows, scopesOf } of judged) {
          const scopes = scopesOf(kind, name)
          if (!scopes.length && !allows(kind, name)) return undefined
          for (const scope of scopes) wanted.add(scope)
        }
        const scopes = [...wanted]
        if (!identity || scopes.every((scope) => identity.scopes.has(scope))) return undefined
        return { scopes, headers: { 'www-authenticate': challenge(path, scopes) } }
      },
    }
  }
  return ({ identity, path }) => {
    if (!identity) return permissionsOf(identity, path)
    // The rules for whoever has a token are the same with each of its requests, which nearly all have one path.
    const last = known.get(identity)
    if (last?.path === path) return last.permissions
    const permissions = permissionsOf(identity, path)
    known.set(identity, { path, permissions })
    return permissions
  }
}

/** What one of the bounds says of a caller. */
interface Judged {
  /** The rules that allow it something, by number. */
  key(): string
  allowsUnknown: boolean
  allows(kind: Usable, name: string): boolean
  /** That the caller needs, or has, by the first rule that names the thing and means the caller. */
  scopesOf(kind: Usable, name: string): readonly string[]
}

function judgeOf({
  authorize,
  trusted = (identity) => identity,
}: Bound): (identity: Identity | undefined) => Judged {
  const isOpen = authorize.default === 'allow'
  const rules = authorize.rules.map((rule): Rule => {
    const globs = (kind: Usable) =>
      (rule[kind] ?? []).map((source) => createGlob(source, URI_KINDS.has(kind) ? 'uri' : 'name'))
    const { scopes, claims, callers } = rule
    return {
      globs: { tools: globs('tools'), prompts: globs('prompts'), resources: globs('resources') },
      ...(scopes && { scopes }),
      ...(claims && { claims }),
      ...(callers && { callers }),
    }
  })
  const isNamed = (kind: Usable, name: string) =>
    rules.some(({ globs }) => globs[kind].some((glob) => glob.mayMean(name)))

  return (given) => {
    const identity = given && trusted(given)
    const suited = rules.filter((rule) => suits(rule, identity))
    const own = suited.filter(({ scopes = [] }) => scopes.every((scope) => identity?.scopes.has(scope)))
    const find = (among: readonly Rule[], kind: Usable, name: string) =>
      among.find(({ globs }) => globs[kind].some((glob) => glob.matches(name)))
    return {
      key: () => rules.flatMap((rule, i) => (own.includes(rule) ? i : [])).join(),
      allowsUnknown: isOpen,
      allows: (kind, name) => find(own, kind, name) !== undefined || (isOpen && !isNamed(kind, name)),
      scopesOf: (kind, name) =>
        (find(own, kind, name) ?? (identity && find(suited, kind, name)))?.scopes ?? [],
    }
  }
}

/** Whether a caller is one of those whom a rule means, whatever its scopes. */
function suits({ callers, claims = {} }: Rule, identity: Identity | undefined): boolean {
  if (callers && !(identity && callers.includes(identity.callerName ?? identity.caller))) return false
  return Object.entries(claims).every(([name, values]) => {
    const claim = identity && valueAt(identity.claims, pathOf(name))
    return [claim].flat().some((one) => SCALARS.has(typeof one) && values.includes(String(one)))
  })
}

const SCALARS = new Set(['string', 'number', 'boolean'])

/** The keys that lead to a claim: a name that begins with a slash is a JSON Pointer (RFC 6901) into the claims. */
function pathOf(name: string): string[] {
  if (!name.startsWith('/')) return [name]
  const keys = name.slice(1).split('/')
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}
