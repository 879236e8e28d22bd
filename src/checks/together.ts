import type { ReadConfiguration } from '../config/index.ts'
import { atOnce, type Steps } from '../config/work-turns.ts'
import { type Finding, sortFindings } from '../findings/index.ts'
import { quote } from '../text/index.ts'
import { type CheckOptions, type Read, runChecks } from './check.ts'
import { type Claim, type Taken, take } from './claims.ts'
import { prefixClaims } from './prefixes.ts'
import { nameFindings, REFERENCE_CHECKS } from './references.ts'

/** What is wrong with names and references inside one configuration, and what it claims among all. */
export interface Alone {
  findings: readonly Finding[]
  claims: readonly (readonly Claim[])[]
}

export function checkAlone(read: Read, options: CheckOptions): Alone {
  const { name } = read.configuration
  const claim: Claim = {
    key: `name ${name}`,
    value: name,
    code: 'duplicate-configuration',
    path: ['name'],
    message: () => `two configurations have the name ${quote(name)}`,
    hint: 'Rename or remove one of the two',
  }
  return {
    findings: [...nameFindings(read), ...runChecks(REFERENCE_CHECKS, read, options)],
    claims: [...(read.doubtful(claim.path) ? [] : [[claim]]), ...prefixClaims(read)],
  }
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
  const findings: Finding[] = []
  const taken: Taken = new Map()
  for (const each of configurations) {
    if (!each.configuration) continue
    const read = each as Read
    const alone = aloneOf(read)
    for (const found of alone.findings) findings.push(found)
    for (const claims of alone.claims) take(taken, claims, read, findings)
    yield
  }
  return sortFindings(findings)
}
