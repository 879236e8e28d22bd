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

interface Rule extends Demands {
  globs: Readonly<Record<Usable, readonly Glob[]>>
}

const URI_KINDS: ReadonlySet<Usable> = new Set(['resources'])

/** @param needed scopes that every request needs; @param challenge tells a client which scopes to ask for */
export function createAuthorize(
  authorize: AuthorizeRules,
  needed: readonly string[],
  challenge: ScopeChallenge,
): Authorize {
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

  return ({ identity, path }) => {
    const suited = rules.filter((rule) => suits(rule, identity))
    const own = suited.filter(({ scopes = [] }) => scopes.every((scope) => identity?.scopes.has(scope)))
    const find = (among: readonly Rule[], kind: Usable, name: string) =>
      among.find(({ globs }) => globs[kind].some((glob) => glob.matches(name)))
    return {
      allowsUnknown: isOpen,
      allows: (kind, name) => find(own, kind, name) !== undefined || (isOpen && !isNamed(kind, name)),
      lacks(kind, name) {
        const rule = identity && find(suited, kind, name)
        if (!rule?.scopes) return undefined
        const scopes = [...new Set([...needed, ...rule.scopes])]
        return { scopes, headers: { 'www-authenticate': challenge(path, scopes) } }
      },
    }
  }
}

/** Whether a caller is one of those whom a rule means, whatever its scopes. */
function suits({ callers, claims = {} }: Rule, identity: Identity | undefined): boolean {
  if (callers && !(identity && callers.includes(identity.callerName ?? identity.caller))) return false
  return Object.entries(claims).every(([name, values]) => {
    const claim = identity && Object.hasOwn(identity.claims, name) ? identity.claims[name] : undefined
    return [claim].flat().some((one) => SCALARS.has(typeof one) && values.includes(String(one)))
  })
}

const SCALARS = new Set(['string', 'number', 'boolean'])
