import { quote } from '../text/index.ts'
import type { Check, Read } from './check.ts'
import type { Claim } from './claims.ts'

export const PREFIX_CHECKS: readonly Check[] = [
  {
    codes: ['prefix-form', 'reserved-prefix'],
    on: 'router',
    check({ prefix, ssePrefix }, report, { doubtful, path, options: { reserved = [] } }) {
      const given = { prefix, ssePrefix }
      if (Object.keys(given).some((key) => doubtful([...path, key]))) return
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
        const taken = reserved.find((one) => isBelow(value, one))
        if (taken !== undefined)
          report({
            code: 'reserved-prefix',
            path: [key],
            message: `the prefix ${quote(value)} overlaps the gateway's own path ${quote(taken)}`,
            hint: 'Choose another prefix',
          })
      }
    },
  },
]

/** For each router what no other may have: `/mcp` below its prefix, or `/sse` and `/message` below that or another. */
export function prefixClaims({ configuration, doubtful }: Read): Claim[][] {
  return configuration.routers.flatMap(({ prefix, ssePrefix }, i) => {
    const path = ['routers', i]
    if (doubtful([...path, 'prefix']) || doubtful([...path, 'ssePrefix'])) return []
    const claim = (kind: string, key: string, value: string): Claim => ({
      key: `${kind} ${comparable(value)}`,
      value,
      code: 'duplicate-prefix',
      path: [...path, key],
      message: (first) =>
        first === value
          ? `two routers have the prefix ${quote(value)}`
          : `the prefix ${quote(value)} differs from ${quote(first)} only by case or slashes`,
      hint: 'Give one of the two another prefix',
    })
    const sse =
      ssePrefix === undefined ? claim('sse', 'prefix', prefix) : claim('sse', 'ssePrefix', ssePrefix)
    return [[claim('mcp', 'prefix', prefix), sse]]
  })
}

function comparable(prefix: string): string {
  return `/${plain(prefix.toLowerCase())}`
}

/** Without slashes at its ends and in a row. */
function plain(prefix: string): string {
  return prefix.split('/').filter(Boolean).join('/')
}

/** Whether a prefix is another one or below it; case and slashes make no difference. */
export function isBelow(prefix: string, root: string): boolean {
  const [path, top] = [comparable(prefix), comparable(root)]
  return path === top || path.startsWith(`${top}/`)
}

function prefixFault(prefix: string): string | undefined {
  if (prefix === '') return 'is empty'
  if (!prefix.startsWith('/')) return 'does not begin with a slash'
  if (prefix.endsWith('/')) return 'ends with a slash'
  if (prefix.includes('//')) return 'has two slashes in a row'
  if (prefix.split('/').some((segment) => segment === '.' || segment === '..')) return 'has a dot segment'
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
