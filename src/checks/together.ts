import { DEFAULT_TENANT, type ReadConfiguration, uniqueName } from '../config/index.ts'
import { type Finding, type FindingCode, type Path, sortFindings, toFinding } from '../findings/index.ts'
import { atOnce, quote, type Steps } from '../text/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { listingSteps } from './listings.ts'
import { prefixClaims } from './prefixes.ts'
import { REFERENCE_CHECKS } from './references.ts'

/** Something that only one may have, such as a name or a prefix. */
export interface Claim {
  /** Equal keys are the same claim. */
  key: string
  /** What the claim that comes too late says of this one. */
  value: string
  code: FindingCode
  path: Path
  /** @param first the `value` of the claim that came before */
  message: (first: string) => string
  hint: string
}

/** The first claim of each key. */
type Taken = Map<string, { claim: Claim; read: Read }>

/** What is wrong with names and references inside one configuration, and what it claims among all. */
export interface Alone {
  findings: readonly Finding[]
  claims: readonly (readonly Claim[])[]
}

export function checkAlone(read: Read, options: CheckOptions): Alone {
  return {
    findings: runChecks(REFERENCE_CHECKS, read, options),
    claims: [...nameClaims(read, options), ...prefixClaims(read)],
  }
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

/**
 * What is wrong with names and references, inside each configuration and among all of them; sorted. Those that
 * could not be read are passed over.
 */
export function checkTogether(
  configurations: readonly ReadConfiguration[],
  options: CheckOptions = {},
): Finding[] {
  return atOnce(togetherSteps(configurations, (read) => checkAlone(read, options)))
}

/**
 * The same, with pauses.
 * @param aloneOf gives the result of `checkAlone`
 */
export function* togetherSteps(
  configurations: readonly ReadConfiguration[],
  aloneOf: (read: Read) => Alone,
): Steps<Finding[]> {
  const reads = configurations.filter((each): each is Read => each.configuration !== undefined)
  const { findings, usedOf } = yield* listingSteps(reads)
  const taken: Taken = new Map()
  for (const read of reads) {
    const alone = aloneOf(read)
    for (const found of routedFindings(alone.findings, read, usedOf(read))) findings.push(found)
    for (const claims of alone.claims) take(taken, claims, read, findings)
    yield
  }
  return sortFindings(findings)
}

/** Without those of servers that no router of the same configuration names, where one of another does. */
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

/** Takes what one owner claims; of an owner that comes too late one place is reported. */
function take(taken: Taken, claims: readonly Claim[], read: Read, findings: Finding[]): void {
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
    return
  }
}
