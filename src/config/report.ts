import { type Finding, finding, type Severity } from '../findings/index.ts'
import type { Limits } from './model.ts'
import { scalarFix } from './scalar-fix.ts'
import type { Locate, Path } from './types.ts'

export type Report = (
  code: Finding['code'],
  path: Path,
  message: string,
  hint: string,
  related?: { path: Path; message: string },
  /** `now`: what is meant without a doubt. */
  more?: { now?: string; severity?: Severity },
) => void

/** Adds findings at paths of one file. */
export function reporter(file: string, locate: Locate, findings: Finding[], text = ''): Report {
  const at = (path: Path) => {
    const range = locate(path) ?? locate.key(path)
    return range ? { range } : {}
  }
  return (code, path, message, hint, related, { now, severity } = {}) => {
    const others = related && [{ file, ...at(related.path), message: related.message }]
    const place = at(path)
    const fix = now === undefined ? {} : scalarFix(text, place.range, now)
    findings.push(
      finding(code, file, message, {
        ...place,
        hint,
        ...(others && { related: others }),
        ...fix,
        ...(severity && { severity }),
      }),
    )
  }
}

/** The longest that a timer of Node can wait: nearly 25 days. */
export const MAX_DURATION = 2 ** 31 - 1

/** Nothing can be done in no time or with no bytes; that they would mean "without end" must not happen by chance. */
export function checkLimits(limits: Partial<Limits> | undefined, path: Path, report: Report) {
  for (const [key, value] of Object.entries(limits ?? {})) {
    const duration = /timeout$/i.test(key)
    if (value >= 1 && value <= (duration ? MAX_DURATION : Number.MAX_SAFE_INTEGER)) continue
    const message = `\`${key}\` is too ${value < 1 ? 'small' : 'large'}`
    const hint = duration ? 'Write a duration from 1ms to 24d' : 'Write a size of at least 1'
    report('invalid-value', [...path, key], message, hint)
  }
}

/** Two equal tokens; the finding never shows them. */
export function checkTokens(tokens: readonly { token: string }[], path: Path, report: Report) {
  const seen = new Map<string, number>()
  tokens.forEach(({ token }, k) => {
    const first = seen.get(token)
    if (first === undefined) seen.set(token, k)
    else {
      report(
        'duplicate-token',
        [...path, k, 'token'],
        'this token stands twice',
        'Give every caller a token of its own',
        {
          path: [...path, first, 'token'],
          message: 'the first one',
        },
      )
    }
  })
}
