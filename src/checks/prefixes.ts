import type { Router, TenantSettings } from '../config/index.ts'
import type { FindingCode, Path, Reporter } from '../findings/index.ts'
import { quote, withoutEndSlashes } from '../text/index.ts'
import type { CheckOptions, Context, Read } from './check.ts'

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

export function checkPrefixes(
  { prefix, ssePrefix }: Router,
  report: Reporter,
  { isRepaired, path, options: { reserved = [] } }: Context,
) {
  const given = { prefix, ssePrefix }
  if (Object.keys(given).some((key) => isRepaired([...path, key]))) return
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue
    const fault = prefixFault(value)
    if (fault) {
      const valid = validPrefix(value)
      const onlySlashes = plain(value) === plain(valid)
      report({
        code: 'prefix-form',
        path: [key],
        message: `the prefix ${quote(value)} ${fault}`,
        ...(onlySlashes
          ? { suggestion: valid, fix: { was: value, now: valid } }
          : { hint: `Write it like \`${valid}\`` }),
      })
    }
    const [, last] = /.\/(mcp|sse|message)$/.exec(value) ?? []
    if (!fault && last !== undefined)
      report({
        code: 'prefix-form',
        path: [key],
        severity: 'warning',
        message: `the prefix ${quote(value)} ends with \`/${last}\`, so clients need the URL \`${value}/mcp\``,
        hint: `Write ${quote(value.slice(0, -last.length - 1))}: the gateway adds \`/mcp\` and \`/sse\``,
      })
    const taken = reserved.find((one) => isBelow(value, one))
    if (taken !== undefined)
      report({
        code: 'reserved-prefix',
        path: [key],
        message: `the prefix ${quote(value)} overlaps the gateway's own path ${quote(taken)}`,
        hint: 'Choose another prefix',
      })
  }
}

/** Exclusive paths of each router: `/mcp` below its prefix, and `/sse` and `/message` below that or another. */
export function prefixClaims({ configuration, isRepaired }: Read, { tenants }: CheckOptions): Claim[][] {
  return configuration.routers.flatMap(({ prefix, ssePrefix }, i) => {
    const path = ['routers', i]
    if (isRepaired([...path, 'prefix']) || isRepaired([...path, 'ssePrefix'])) return []
    // A tenant must not learn of the prefixes of others.
    if (isForbidden(prefix, configuration.tenant, tenants)) return []
    const claim = (kind: string, key: string, value: string): Claim => ({
      key: `${kind} ${comparable(value)}`,
      value,
      code: 'duplicate-prefix',
      path: [...path, key],
      message: (first) =>
        first === value
          ? `two routers have the prefix ${quote(value)}`
          : `the prefix ${quote(value)} differs from ${quote(first)} only by case, slashes or encoding`,
      hint: 'Give one of the two another prefix',
    })
    const sse =
      ssePrefix === undefined ? claim('sse', 'prefix', prefix) : claim('sse', 'ssePrefix', ssePrefix)
    return [[claim('mcp', 'prefix', prefix), sse]]
  })
}

/** Whether the settings give a prefix to another tenant. */
function isForbidden(prefix: string, tenant: string, tenants: readonly TenantSettings[] = []): boolean {
  const own = tenants.find(({ name }) => name === tenant)
  return own ? !isBelow(prefix, own.prefix) : tenants.some((other) => isBelow(prefix, other.prefix))
}

function comparable(prefix: string): string {
  return `/${plain(unencoded(prefix).toLowerCase())}`
}

/** Decodes characters that need no percent-encoding: RFC 3986, 6.2.2.2. */
function unencoded(prefix: string): string {
  return prefix.replace(/%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/gi, decodeURIComponent)
}

/** Without leading, trailing and repeated slashes. */
function plain(prefix: string): string {
  return prefix.split('/').filter(Boolean).join('/')
}

/** Whether a prefix equals another or is below it, regardless of case, slashes and encoding. */
export function isBelow(prefix: string, root: string): boolean {
  const [path, top] = [comparable(prefix), comparable(root)]
  return path === top || path.startsWith(`${top}/`)
}

/** A path of the settings; a slash at its end is ignored. */
export function checkPath(value: string, path: Path, report: Reporter) {
  const fault = prefixFault(withoutEndSlashes(value) || '/')
  if (!fault) return
  const message = `the path ${quote(value)} ${fault}`
  report({ code: 'invalid-value', path, message, hint: `Write it like \`${validPrefix(value)}\`` })
}

function prefixFault(prefix: string): string | undefined {
  if (prefix === '/') return undefined
  if (prefix === '') return 'is empty'
  if (!prefix.startsWith('/')) return 'does not begin with a slash'
  if (prefix.endsWith('/')) return 'ends with a slash'
  if (prefix.includes('//')) return 'has two slashes in a row'
  // Servers in front decode them, and then see another path than the gateway.
  if (/%(?:2f|5c)/i.test(prefix)) return 'has an encoded slash'
  if (
    unencoded(prefix)
      .split('/')
      .some((segment) => segment === '.' || segment === '..')
  )
    return 'has a dot segment'
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/.test(prefix))
    return 'contains characters that are not allowed in a URL path'
  if (/[*:]/.test(prefix)) return 'contains `*` or `:`'
  return undefined
}

function validPrefix(prefix: string): string {
  const segments = prefix.split('/').map((segment) => segment.replace(/[^A-Za-z0-9\-._~]/g, ''))
  const kept = segments.filter((segment) => segment && segment !== '.' && segment !== '..')
  return kept.length ? `/${kept.join('/')}` : '/name'
}
