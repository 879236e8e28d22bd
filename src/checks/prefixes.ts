import type { Finding } from '../findings/index.ts'
import { quote } from '../text/index.ts'
import { type At, type Read, report } from './at.ts'

/** What only one router of all may have: `/mcp` below its prefix, or `/sse` and `/message` below that or another. */
export interface Claim {
  key: string
  at: At
  prefix: string
}

/** What each router claims; adds what is wrong with its prefixes by themselves. */
export function prefixClaims(read: Read, reserved: readonly string[], findings: Finding[]): Claim[][] {
  const claims: Claim[][] = []
  for (const [i, { prefix, ssePrefix }] of read.configuration.routers.entries()) {
    const own: At = { read, path: ['routers', i, 'prefix'] }
    const sse: At = { read, path: ['routers', i, 'ssePrefix'] }
    const places =
      ssePrefix === undefined
        ? [{ at: own, path: prefix }]
        : [
            { at: own, path: prefix },
            { at: sse, path: ssePrefix },
          ]
    if (read.doubtful(own.path) || read.doubtful(sse.path)) continue
    for (const { at, path } of places) {
      const fault = prefixFault(path)
      if (fault)
        findings.push(
          report(
            at,
            'prefix-form',
            `the prefix ${quote(path)} ${fault}`,
            `Write it like \`${mended(path)}\``,
          ),
        )
      const taken = reserved.find((one) => isBelow(comparable(path), comparable(one)))
      if (taken !== undefined) {
        findings.push(
          report(
            at,
            'reserved-prefix',
            `the prefix ${quote(path)} meets the gateway's own path ${quote(taken)}`,
            'Choose another prefix',
          ),
        )
      }
    }
    claims.push([
      claimOf('mcp', own, prefix),
      claimOf('sse', ssePrefix === undefined ? own : sse, ssePrefix ?? prefix),
    ])
  }
  return claims
}

function claimOf(kind: string, at: At, prefix: string): Claim {
  return { key: `${kind} ${comparable(prefix)}`, at, prefix }
}

/** Takes what one router claims; of a router that comes too late one place is told. */
export function take(taken: Map<string, Claim>, claims: readonly Claim[], findings: Finding[]): void {
  for (const claim of claims) {
    const first = taken.get(claim.key)
    if (!first) {
      taken.set(claim.key, claim)
      continue
    }
    const { at, prefix } = claim
    const same = first.prefix === prefix
    const message = same
      ? `two routers have the prefix ${quote(prefix)}`
      : `the prefix ${quote(prefix)} differs from ${quote(first.prefix)} only by case or slashes`
    findings.push(report(at, 'duplicate-prefix', message, 'Give one of the two another prefix', first.at))
    return
  }
}

function comparable(prefix: string): string {
  return `/${prefix.toLowerCase().split('/').filter(Boolean).join('/')}`
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`)
}

function prefixFault(prefix: string): string | undefined {
  if (prefix === '') return 'is empty'
  if (!prefix.startsWith('/')) return 'does not begin with a slash'
  if (prefix.endsWith('/')) return 'ends with a slash'
  if (prefix.includes('//')) return 'has two slashes in a row'
  if (prefix.split('/').some((segment) => segment === '.' || segment === '..')) return 'has a dot segment'
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/.test(prefix)) return 'holds characters that a URL path cannot'
  if (/[*:]/.test(prefix)) return 'holds `*` or `:`'
  return undefined
}

function mended(prefix: string): string {
  const segments = prefix.split('/').map((segment) => segment.replace(/[^A-Za-z0-9\-._~]/g, ''))
  const kept = segments.filter((segment) => segment && segment !== '.' && segment !== '..')
  return kept.length ? `/${kept.join('/')}` : '/name'
}
