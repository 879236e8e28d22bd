import { type Finding, formatText } from '../findings/index.ts'
import { withoutSecrets } from './secrets.ts'

/** Whether a stream wants colour: `NO_COLOR` and `FORCE_COLOR` first, else only a terminal. */
export function wantsColor(stream: { isTTY?: boolean | undefined }, env = process.env): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0'
  return stream.isTTY === true
}

/** Prints findings on standard error. */
export function printFindings(findings: readonly Finding[], sources: ReadonlyMap<string, string>): void {
  process.stderr.write(
    formatText(findings, withoutSecrets(findings, sources), { color: wantsColor(process.stderr) }),
  )
}
