import { DEFAULT_TENANT, type ReadConfiguration, uniqueName } from '../config/index.ts'
import { type Finding, sortFindings, toFinding } from '../findings/index.ts'
import { atOnce, quote, type Steps } from '../text/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { listingSteps } from './listings.ts'
import { type Claim, prefixClaims } from './prefixes.ts'
import { REFERENCE_CHECKS } from './references.ts'

/** The first claim of each key. */
type Taken = Map<string, { claim: Claim; read: Read }>

/** Findings about names and references inside one configuration, and its claims to unique values. */
export interface OwnResult {
  findings: readonly Finding[]
  claims: readonly (readonly Claim[])[]
}

export function checkOne(read: Read, options: CheckOptions): OwnResult {
  const findings = runChecks(REFERENCE_CHECKS, read, options)
  return { findings, claims: [...nameClaims(read, options), ...prefixClaims(read)] }
}

function nameClaims({ configuration, isRepaired }: Read, { tenants }: CheckOptions): Claim[][] {
  if (isRepaired(['name']) || isRepaired(['tenant'])) return []
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
  return atOnce(togetherSteps(configurations, (read) => checkOne(read, options)))
}

/**
 * The same, yielding in between.
 * @param checkedOne returns the result of `checkOne`
 */
export function* togetherSteps(
  configurations: readonly ReadConfiguration[],
  checkedOne: (read: Read) => OwnResult,
): Steps<Finding[]> {
  const reads = configurations.filter(isRead)
  const { findings, usedOf } = yield* listingSteps(reads)
  const taken: Taken = new Map()
  for (const read of reads) {
    const alone = checkedOne(read)
    for (const found of routedFindings(alone.findings, read, usedOf(read))) findings.push(found)
    for (const claims of alone.claims) claimAll(taken, claims, read, findings)
    yield
  }
  return sortFindings(findings)
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

/** Takes an owner's claims; reports one conflict if it comes too late. */
function claimAll(taken: Taken, claims: readonly Claim[], read: Read, findings: Finding[]): void {
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
