import type { Limits } from '../../config/index.ts'
import type { Path, Reporter } from '../../findings/index.ts'

/** The longest that a timer of Node can wait: nearly 25 days. */
export const MAX_DURATION = 2 ** 31 - 1

/** `0` must not mean "without end" by chance. */
export function checkLimits(limits: Partial<Limits> | undefined, path: Path, report: Reporter) {
  for (const [key, value] of Object.entries(limits ?? {})) {
    if (/timeout$/i.test(key)) checkDuration(value, [...path, key], report)
    else if (!(value >= 1 && value <= Number.MAX_SAFE_INTEGER))
      outOfRange(value, [...path, key], 'Write a size of at least 1', report)
  }
}

/** @param value milliseconds */
export function checkDuration(value: number, path: Path, report: Reporter) {
  if (!(value >= 1 && value <= MAX_DURATION))
    outOfRange(value, path, 'Write a duration from 1ms to 24d', report)
}

function outOfRange(value: number, path: Path, hint: string, report: Reporter) {
  const message = `\`${path.at(-1)}\` is too ${value < 1 ? 'small' : 'large'}`
  report({ code: 'invalid-value', path, message, hint })
}

/**
 * Two equal tokens; the finding never shows them.
 * @param seen tokens that must not be used again, with their places; the new ones are added
 */
export function checkTokens(
  tokens: readonly { token: string }[],
  path: Path,
  report: Reporter,
  seen = new Map<string, Path>(),
) {
  for (const [k, { token }] of tokens.entries()) {
    const own = [...path, k, 'token']
    const first = seen.get(token)
    if (!first) seen.set(token, own)
    else
      report({
        code: 'duplicate-token',
        path: own,
        message: 'this token is used twice',
        hint: 'Give every caller its own token',
        related: { path: first, message: 'first used here' },
      })
  }
}
