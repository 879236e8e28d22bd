import { maskSecrets, secretsIn } from '../checks/practice/secrets.ts'
import type { Finding } from '../findings/index.ts'

/** The texts as frames may show them: a secret, also one beside what a finding is about, is no one's to read in a log. */
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
