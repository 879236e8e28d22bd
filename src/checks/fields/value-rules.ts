import type { Limits, RateRule } from '../../config/index.ts'
import { tokenDigest, tokenExpiry } from '../../config/model.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { urlFault } from '../../net/index.ts'
import { quote, timeText } from '../../text/index.ts'
import { withoutEffect } from '../check.ts'

/** Maximum delay of a Node timer: nearly 25 days. */
export const MAX_DURATION = 2 ** 31 - 1

/** Minimum characters of a secret of the settings. */
export const SHORTEST_SECRET = 32

/**
 * Reports keys that only another type uses.
 * @param owner description of the owner
 */
export function reportIdle(
  keys: readonly string[],
  owner: string,
  type: string,
  path: Path,
  report: Reporter,
) {
  for (const key of keys)
    report(withoutEffect([...path, key], `for ${owner} of type \`${type}\``, 'Remove it, or change `type`'))
}

/** `0` must not accidentally mean "unlimited". */
export function checkLimits(limits: Partial<Limits> | undefined, path: Path, report: Reporter) {
  for (const [key, value] of Object.entries(limits ?? {})) {
    if (/timeout$/i.test(key)) checkDuration(value, [...path, key], report)
    else if (!(value >= 1 && value <= Number.MAX_SAFE_INTEGER))
      outOfRange(value, [...path, key], 'Write a size of at least 1', report)
  }
}

/** RFC 6749, 3.3. */
export const SCOPE = /^[!#-[\]-~]+$/

/** @param path of the list */
export function checkScopes(scopes: readonly string[], path: Path, report: Reporter) {
  for (const [i, scope] of scopes.entries())
    if (!SCOPE.test(scope))
      report({
        code: 'invalid-value',
        path: [...path, i],
        message: `${quote(scope)} is not a scope: those have no spaces, quotes and backslashes`,
        hint: 'Write one item for each scope',
      })
}

/** Rates of settings and routers. @param path of the list */
export function checkRates(rates: readonly RateRule[], path: Path, report: Reporter) {
  for (const [i, { limit, window, burst = limit }] of rates.entries()) {
    checkDuration(window, [...path, i, 'window'], report)
    if (window < 1 || (burst * window) / limit <= MAX_DURATION) continue
    report({
      code: 'invalid-value',
      path: [...path, i, 'burst'],
      message: `\`burst\` is so large that it takes ${timeText((burst * window) / limit)} to fill it again`,
      hint: 'Write a number that is not much larger than `limit`',
    })
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

/** Checks a URL that receives credentials or provides keys; it is not shown, as it may contain a password. */
export function reportUrl(url: string, path: Path, report: Reporter): boolean {
  const fault = urlFault(url)
  if (fault === 'form')
    report({
      code: 'invalid-value',
      path,
      message: `\`${path.at(-1)}\` is not an https URL without credentials and fragment`,
      hint: 'Write it like `https://name.example.com`',
    })
  if (fault === 'insecure')
    report({
      code: 'insecure-url',
      path,
      message: `\`${path.at(-1)}\` is not https`,
      hint: 'Write an https URL; http is accepted for this machine only, such as `http://localhost:8080`',
    })
  return fault !== 'form'
}

/** Equal for equal tokens, even if one is given by its digest. */
export function tokenKey(token: string): string {
  return tokenDigest(token)?.toString('hex') ?? token
}

/**
 * Faults of tokens, such as duplicates; findings never show them.
 * @param seen keys of tokens that must not be reused, with their paths; new ones are added
 */
export function checkTokens(
  tokens: readonly { token: string; expires?: string }[],
  path: Path,
  report: Reporter,
  seen = new Map<string, Path>(),
) {
  for (const [k, { token, expires }] of tokens.entries()) {
    const own = [...path, k, 'token']
    if (!tokenDigest(token))
      report({
        code: 'invalid-value',
        path: own,
        message: '`sha256:` is not followed by 64 hexadecimal digits',
        hint: 'Make the digest with `printf %s "$TOKEN" | sha256sum`',
      })
    if (expires !== undefined) checkExpiry(expires, [...path, k, 'expires'], report)
    const key = tokenKey(token)
    const first = seen.get(key)
    if (!first) seen.set(key, own)
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

function checkExpiry(expires: string, path: Path, report: Reporter) {
  const time = tokenExpiry(expires)
  if (Number.isNaN(time))
    report({
      code: 'invalid-value',
      path,
      message: `${quote(expires)} is neither a date nor a time`,
      hint: 'Write `2027-01-31`, or `2027-01-31T18:00:00Z`',
    })
  else if (time <= Date.now())
    report({
      code: 'expired-token',
      path,
      message: 'this token has expired',
      hint: 'Remove it, or give its caller a new one',
    })
}
