import { valueAt } from '../json/index.ts'
import { hasDotSegment } from '../template/index.ts'
import { fold, wildcards } from '../text/index.ts'
import type { Identity } from './identity.ts'

/** Kinds of items in rules. */
export type Usable = 'tools' | 'prompts' | 'resources'

/** `authorize` of a router, as configured. */
export interface AuthorizeRules {
  default: 'allow' | 'deny'
  rules: readonly (Partial<Record<Usable, readonly string[]>> & Demands)[]
}

/** Conditions of a rule for callers; absent ones always hold. */
interface Demands {
  scopes?: readonly string[]
  /** Accepted values by claim. */
  claims?: Readonly<Record<string, readonly string[]>>
  callers?: readonly string[]
}

/** The tools, prompts and resources of a route that one caller may use. */
export interface Permissions {
  /** Whether items that rules cannot name may be used. */
  readonly allowsUnknown: boolean
  /** Equal for callers with the same permissions. */
  key(): string
  /** Whether the caller may use anything at all. */
  readonly allowsSome: boolean
  allows(kind: Usable, name: string): boolean
  /** The missing scopes and the challenge headers, if only scopes are missing. */
  lacks(kind: Usable, name: string): Lacking | undefined
}

interface Lacking {
  /** All scopes that the operation requires. */
  scopes: readonly string[]
  headers: Record<string, string>
}

/** Determines the permissions of a request's caller. */
export type Authorize = (request: { identity: Identity | undefined; path: string }) => Permissions

/** The `WWW-Authenticate` value for a token that lacks scopes, at the endpoint of that path. */
export type ScopeChallenge = (path: string, scopes: readonly string[]) => string

/** Rules that must allow a request. */
export interface Bound {
  authorize: AuthorizeRules
  /** The part of an identity that these rules trust; absent: all. */
  trusted?: (identity: Identity) => Identity | undefined
}

interface Rule extends Demands {
  globs: Readonly<Record<Usable, readonly Glob[]>>
}

/** Number of rule sets created. */
let made = 0

const URI_KINDS: ReadonlySet<Usable> = new Set(['resources'])

/**
 * @param bounds must all allow an item
 * @param needed scopes that every request requires
 * @param challenge tells a client which scopes to request
 */
export function createAuthorize(
  bounds: readonly Bound[],
  needed: readonly string[],
  challenge: ScopeChallenge,
): Authorize {
  const judges = bounds.map(judgeOf)
  // Distinguishes rule sets before and after a reload.
  const own = ++made
  const known = new WeakMap<Identity, { path: string; permissions: Permissions }>()
  const permissionsOf = (identity: Identity | undefined, path: string): Permissions => {
    const judged = judges.map((one) => one(identity))
    return {
      key: () => [own, ...judged.map(({ key }) => key())].join(';'),
      allowsUnknown: judged.every(({ allowsUnknown }) => allowsUnknown),
      allowsSome: judged.every(({ allowsSome }) => allowsSome),
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
    // Permissions are cached for each identity, as most of its requests have the same path.
    const last = known.get(identity)
    if (last?.path === path) return last.permissions
    const permissions = permissionsOf(identity, path)
    known.set(identity, { path, permissions })
    return permissions
  }
}

/** The decision of one set of rules about a caller. */
interface Judged {
  /** The matching rules, by number. */
  key(): string
  allowsUnknown: boolean
  allowsSome: boolean
  allows(kind: Usable, name: string): boolean
  /** Scopes that the caller needs or has, by the first rule for the item and the caller. */
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
      allowsSome: isOpen || own.length > 0,
      allows: (kind, name) => find(own, kind, name) !== undefined || (isOpen && !isNamed(kind, name)),
      scopesOf: (kind, name) =>
        (find(own, kind, name) ?? (identity && find(suited, kind, name)))?.scopes ?? [],
    }
  }
}

/** Whether a rule applies to a caller, apart from scopes. */
function suits({ callers, claims = {} }: Rule, identity: Identity | undefined): boolean {
  if (callers && !(identity && callers.includes(identity.callerName ?? identity.caller))) return false
  return Object.entries(claims).every(([name, values]) => {
    const claim = identity && valueAt(identity.claims, pathOf(name))
    return [claim].flat().some((one) => SCALARS.has(typeof one) && values.includes(String(one)))
  })
}

const SCALARS = new Set(['string', 'number', 'boolean'])

/** The keys that lead to a claim: a name that begins with a slash is a JSON Pointer (RFC 6901). */
function pathOf(name: string): string[] {
  if (!name.startsWith('/')) return [name]
  const keys = name.slice(1).split('/')
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** A name with wildcards, matched in bounded time. */
interface Glob {
  /** Whether it matches exactly this name. */
  matches(name: string): boolean
  /** Whether a lenient server could read this name as one that it matches. */
  mayMean(name: string): boolean
}

/** Maximum characters of a checked name; longer ones match nothing, and may mean anything. */
const MAX_NAME = 2_048
/** How often a chain of servers may decode a URI. */
const DECODINGS = 3

/** @param kind in a URI, `*` does not match `/` unless it stands alone; in a name it does */
function createGlob(source: string, kind: 'name' | 'uri'): Glob {
  const isUri = kind === 'uri'
  const exact = wildcards(source, isUri && source !== '*')
  if (!isUri) {
    const lenient = wildcards(fold(source))
    return {
      matches: (name) => name.length <= MAX_NAME && exact(name),
      mayMean: (name) => name.length > MAX_NAME || lenient(fold(name)),
    }
  }
  const lenient = [source, asUrl(source)].map((one) => wildcards(canonicalUri(one)))
  return {
    matches: (name) => name.length <= MAX_NAME && exact(name) && !hasDotSegment(name),
    mayMean(name) {
      if (name.length > MAX_NAME || hasDotSegment(name) || isRespelt(name)) return true
      const text = canonicalUri(name)
      return lenient.some((means) => means(text) || means(text.replace(/[?#].*$/s, '')))
    },
  }
}

/** Whether a URL parser writes a URI differently, so that readers may disagree about its meaning. */
function isRespelt(uri: string): boolean {
  const [own, other] = [uri, asUrl(uri)].map((one) => canonicalUri(one).replace(/\/$/, ''))
  return own !== other
}

/** A URI as URL parsers write it, without user and trailing dot of the host; unchanged if it is not a URL. */
function asUrl(uri: string): string {
  if (!URL.canParse(uri)) return uri
  const url = new URL(uri)
  url.username = ''
  url.password = ''
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  return url.href
}

/** Canonical form of a URI for comparison: without case, encoding, and repeated or backward slashes. */
function canonicalUri(uri: string): string {
  let text = uri
  for (let i = 0; i < DECODINGS && text.includes('%'); i++)
    text = text.replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
    )
  return fold(text).replace(/[/\\]+/g, '/')
}
