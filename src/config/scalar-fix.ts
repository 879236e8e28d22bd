import type { Finding, Range } from '../findings/index.ts'

/** What needs no quotes, wherever it stands. */
const PLAIN = /^[A-Za-z/][\w./~@-]*(?::\/\/[\w.-]+(?::\d+)?)?$/

/** Writes another value in place of a scalar, in the quotes that it has; none for blocks, aliases and variables. */
export function scalarFix(text: string, range: Range | undefined, now: string): Pick<Finding, 'fix'> {
  if (!range || !PLAIN.test(now)) return {}
  const was = text.slice(range.start.offset, range.end.offset)
  const [, quote = '', inner = ''] = /^(["']?)([^"'\\{}$&*!|>\n]+)\1$/.exec(was) ?? []
  return inner === '' ? {} : { fix: { range, text: `${quote}${now}${quote}` } }
}

/** Takes the quotes of a scalar away. */
export function bareFix(text: string, range: Range | undefined, now: string): Pick<Finding, 'fix'> {
  if (!range) return {}
  const was = text.slice(range.start.offset, range.end.offset)
  return /^(["'])[\w.-]+\1$/.test(was) ? { fix: { range, text: now } } : {}
}
