import { maskSecrets, secretsIn } from '../checks/practice/leaked-secrets.ts'
import { type Finding, formatText } from '../findings/index.ts'

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

/** The texts without secrets, for code frames, which may end in a log. */
export function withoutSecrets(
  findings: readonly Finding[],
  sources: ReadonlyMap<string, string>,
): Map<string, string> {
  const shown = new Map<string, string>()
  const files = findings.flatMap(({ file, related = [] }) => [file, ...related.map((one) => one.file)])
  for (const file of new Set(files)) {
    const text = sources.get(file)
    if (text !== undefined) shown.set(file, maskSecrets(text, secretsIn({ file, text })))
  }
  return shown
}
