import { fixFile } from '../../checks/fix.ts'
import { type CheckOptions, checkTogether, readConfigurations } from '../../checks/index.ts'
import { lintTemplates } from '../../checks/templates/index.ts'
import type { Env, ReadConfiguration } from '../../config/index.ts'
import { fixedLine, type Mended, rewrite, withoutSilenced } from './mend.ts'
import type { Policy } from './policy.ts'

/**
 * Mends in place what leaves no doubt: names that are one edit away from what was meant, slashes of prefixes, and what
 * `lint-templates` mends. Comments and layout stay.
 */
export async function mendFiles(
  paths: readonly string[],
  env: Env,
  rules: CheckOptions,
  policy: Policy,
): Promise<Mended> {
  const find = (read: ReadConfiguration) => {
    const found = [...read.findings, ...checkTogether([read], rules), ...lintTemplates(read, env)]
    return withoutSilenced(found, read, policy)
  }
  let lines = ''
  let stdin: string | undefined
  for (const read of (await readConfigurations(paths, env)).configurations) {
    const mended = fixFile(read, env, find)
    lines += mended.fixed.map(fixedLine).join('')
    if (read.file === '-') stdin = mended.read.text
    else if (mended.fixed.length > 0) rewrite(read, mended.read.text)
  }
  return { lines, stdin }
}
