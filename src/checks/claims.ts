import { type Finding, type FindingCode, type Path, toFinding } from '../findings/index.ts'
import type { Read } from './check.ts'

/** Something that only one may have, such as a name or a prefix. */
export interface Claim {
  /** Equal keys are the same claim. */
  key: string
  /** As the file writes it. */
  value: string
  code: FindingCode
  path: Path
  /** @param first the value of the claim that came before */
  message: (first: string) => string
  hint: string
}

/** The first claim of each key. */
export type Taken = Map<string, { claim: Claim; read: Read }>

/** Takes what one owner claims; of an owner that comes too late one place is reported. */
export function take(taken: Taken, claims: readonly Claim[], read: Read, findings: Finding[]): void {
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
