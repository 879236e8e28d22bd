import { DEFAULT_TENANT, type ReadConfiguration, uniqueName } from '../config/index.ts'
import { type Finding, sortFindings, toFinding } from '../findings/index.ts'
import { atOnce, quote, type Steps } from '../text/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { listingSteps } from './listings.ts'
import { type Claim, prefixClaims } from './prefixes.ts'
import { REFERENCE_CHECKS } from './references.ts'

/** The first claim of each key, with its configuration. */
type Taken = Map<string, { claim: Claim; read: Read }>

/** The result for one configuration by itself: findings about its names and references, and its claims. */
export interface OwnResult {
  findings: readonly Finding[]
  claims: readonly (readonly Claim[])[]
}

export function checkOne(read: Read, options: CheckOptions): OwnResult {
  const findings = runChecks(REFERENCE_CHECKS, read, options)
  return { findings, claims: [...nameClaims(read, options), ...prefixClaims(read, options)] }
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
        : `the tenants ${quote(first)} and ${quote(tenant)} both have a configuration named ${quote(name)}, but only tenants listed in the settings may share a name`,
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
 * The same, with a pause after each configuration.
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
    const own = checkedOne(read)
    for (const found of routedFindings(own.findings, read, usedOf(read))) findings.push(found)
    for (const claims of own.claims) claimAll(taken, claims, read, findings)
    yield
  }
  return sortFindings(findings)
}

function isRead(read: ReadConfiguration): read is Read {
  return read.configuration !== undefined
}

/** Drops the findings about unrouted servers where a router of another configuration names them. */
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

/** Records the claims of a configuration, up to the first one that an earlier configuration has: that is reported. */
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
