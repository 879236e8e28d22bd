import { DEFAULT_TENANT, type ReadConfiguration, uniqueName } from '../config/index.ts'
import { type Finding, type FindingCode, type Path, sortFindings, toFinding } from '../findings/index.ts'
import { atOnce, quote, type Steps } from '../text/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { hasListing, listingSteps } from './listings.ts'
import { prefixClaims } from './prefixes.ts'
import { REFERENCE_CHECKS } from './references.ts'

/** Something that only one configuration may have, such as a name or a prefix. */
export interface Claim {
  /** Equal keys conflict. */
  key: string
  /** Text about this claim in the finding of a later one. */
  value: string
  code: FindingCode
  path: Path
  /** @param first `value` of the earlier claim */
  message: (first: string) => string
  hint: string
}

/** The first claim of each key. */
type Taken = Map<string, { claim: Claim; read: Read }>

/** Findings about names and references inside one configuration, and its claims among all. */
export interface Alone {
  findings: readonly Finding[]
  claims: readonly (readonly Claim[])[]
}

export function checkAlone(read: Read, options: CheckOptions): Alone {
  const findings = runChecks(REFERENCE_CHECKS, read, options)
  return { findings, claims: [...nameClaims(read, options), ...prefixClaims(read)] }
}

function nameClaims({ configuration, doubtful }: Read, { tenants }: CheckOptions): Claim[][] {
  if (doubtful(['name']) || doubtful(['tenant'])) return []
  const { name, tenant } = configuration
  const ofTenant = tenant === DEFAULT_TENANT ? '' : ` of the tenant ${quote(tenant)}`
  const claim = {
    key: `name ${uniqueName(configuration, tenants)}`,
    value: tenant,
    code: 'duplicate-configuration' as const,
    path: ['name'],
    message: (first: string) =>
      first === tenant
        ? `two configurations${ofTenant} have the name ${quote(name)}`
        : `configurations of the tenants ${quote(first)} and ${quote(tenant)} have the name ${quote(name)}, which only tenants of the settings may share`,
    hint: 'Rename or remove one of the two',
  }
  return [[claim]]
}

/** Findings about names and references, inside and among configurations; sorted. Unreadable ones are skipped. */
export function checkTogether(
  configurations: readonly ReadConfiguration[],
  options: CheckOptions = {},
): Finding[] {
  return atOnce(togetherSteps(configurations, (read) => checkAlone(read, options))).findings
}

/** Findings about all, and the keys of all claims if configurations are independent. */
export interface Together {
  findings: Finding[]
  /** Absent: claims conflict, or a router lists servers, possibly of other configurations. */
  keys?: Set<string>
}

/**
 * The same, yielding in between.
 * @param aloneOf returns the result of `checkAlone`
 */
export function* togetherSteps(
  configurations: readonly ReadConfiguration[],
  aloneOf: (read: Read) => Alone,
): Steps<Together> {
  const reads = configurations.filter(isRead)
  const { findings, usedOf } = yield* listingSteps(reads)
  const taken: Taken = new Map()
  let isApart = !reads.some(hasListing)
  for (const read of reads) {
    const alone = aloneOf(read)
    for (const found of routedFindings(alone.findings, read, usedOf(read))) findings.push(found)
    for (const claims of alone.claims) if (!take(taken, claims, read, findings)) isApart = false
    yield
  }
  return { findings: sortFindings(findings), ...(isApart && { keys: new Set(taken.keys()) }) }
}

/**
 * The same after a few configurations were added or removed, in proportional time; undefined if all must be checked
 * again.
 * @param keys of the previous claims; updated in place
 */
export function togetherAgain(
  { keys, findings: before }: Together,
  { came, gone }: { came: readonly ReadConfiguration[]; gone: readonly ReadConfiguration[] },
  aloneOf: (read: Read) => Alone,
): Together | undefined {
  const fresh = came.filter(isRead)
  if (!keys || fresh.some(hasListing)) return undefined
  const keysOf = (reads: readonly Read[]) =>
    reads.flatMap((read) => aloneOf(read).claims.flatMap((claims) => claims.map(({ key }) => key)))
  const [released, wanted] = [new Set(keysOf(gone.filter(isRead))), keysOf(fresh)]
  const isFree = (key: string, i: number) =>
    (released.has(key) || !keys.has(key)) && wanted.indexOf(key) === i
  if (!wanted.every(isFree)) return undefined
  for (const key of released) keys.delete(key)
  for (const key of wanted) keys.add(key)
  // Without conflicts, each finding belongs to one configuration.
  const files = new Set(gone.map(({ file }) => file))
  const others = before.filter(({ file }) => !files.has(file))
  return { findings: sortFindings([...others, ...fresh.flatMap((read) => aloneOf(read).findings)]), keys }
}

function isRead(read: ReadConfiguration): read is Read {
  return read.configuration !== undefined
}

/** Drops findings about unrouted servers that another configuration's router names. */
function routedFindings(
  findings: readonly Finding[],
  { configuration: { servers, mcpServers }, locate }: Read,
  used: ReadonlySet<string>,
): readonly Finding[] {
  if (!used.size) return findings
  const places = Object.entries({ servers, mcpServers }).flatMap(([key, all]) =>
    all.flatMap(({ name }, i) => (used.has(name) ? [locate([key, i, 'name'])?.start.offset] : [])),
  )
  return findings.filter(
    ({ code, range }) =>
      code !== 'no-router' && !(code === 'unrouted-server' && places.includes(range?.start.offset)),
  )
}

/** Takes an owner's claims; reports one conflict if it comes too late. @returns whether it got all */
function take(taken: Taken, claims: readonly Claim[], read: Read, findings: Finding[]): boolean {
  for (const claim of claims) {
    const first = taken.get(claim.key)
    if (!first) {
      taken.set(claim.key, { claim, read })
      continue
    }
    const { code, path, hint } = claim
    const message = claim.message(first.claim.value)
    const related = { path: first.claim.path, place: first.read, message: 'the first one' }
    findings.push(toFinding({ code, path, message, hint, related }, read))
    return false
  }
  return true
}
