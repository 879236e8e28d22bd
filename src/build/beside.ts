import type { Configuration, Source } from '../config/index.ts'

/** With more prefixes than these, reading all is no slower than looking for each. */
const MOST = 50

/**
 * Of configurations that are there already those that may claim a prefix of the new ones: whose text holds the last
 * segment of one, or writes a prefix in a way that text does not show. Reading ten thousand takes long.
 */
export function mayClash<T extends Source>(
  configurations: readonly Configuration[],
  beside: readonly T[],
): readonly T[] {
  const prefixes = configurations.flatMap(({ routers }) =>
    routers.flatMap(({ prefix, ssePrefix }) => (ssePrefix === undefined ? [prefix] : [prefix, ssePrefix])),
  )
  const segments = [...new Set(prefixes.map(lastSegment))]
  if (segments.length > MOST || segments.includes('')) return beside
  return beside.filter(({ text }) => {
    const lower = text.toLowerCase()
    return segments.some((segment) => lower.includes(segment)) || isHidden(lower)
  })
}

/** Prefixes are compared without regard to case and slashes. */
function lastSegment(prefix: string): string {
  return prefix.toLowerCase().split('/').filter(Boolean).at(-1) ?? ''
}

/** Variables, escapes and aliases may give any prefix, and an escape any key. */
function isHidden(text: string): boolean {
  return /prefix\W{0,20}(?:(?!prefix)[^\n])*[\\$*]/.test(text) || /"[^"\\\n]*\\[^"\n]*"\s*:/.test(text)
}
