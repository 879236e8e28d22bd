import { CHECKS, CODES, type Finding, hasErrors, type Report, suggest, toFinding } from '../findings/index.ts'
import { quote } from '../text/index.ts'
import { filled } from './build.ts'
import type { Env, LintConfig, Source } from './model.ts'
import { limited, readSchemaFile } from './read.ts'

/** The name under which the file is looked for; no folder of configurations takes it for one. */
export const LINT_CONFIG_FILE = 'plantgw.lint.yaml'

/**
 * Reads a `plantgw.lint.yaml`. Never throws.
 * @param source undefined: there is none
 * @returns undefined for `config` when there is an error
 */
export function readLintConfig(
  source: Source | undefined,
  env: Env,
): { config: LintConfig | undefined; findings: Finding[] } {
  if (!source) return { config: { severity: {}, limits: {} }, findings: [] }
  const { file } = source
  const { findings, locate, sound, value } = readSchemaFile(source, env, 'lint')
  const { severity, limits } = filled('lint', sound ? value : {}) as unknown as LintConfig
  const known = [...Object.keys(CHECKS), ...Object.keys(CODES)]
  for (const name of Object.keys(severity)) {
    if (known.includes(name)) continue
    const { suggestion } = suggest(name, known)
    const advice = suggestion === undefined ? { hint: '`plantgw explain` lists the codes' } : { suggestion }
    const message = `there is no finding and no check ${quote(name)}`
    const found: Report = { code: 'unknown-key', path: ['severity', name], isKey: true, message, ...advice }
    findings.push(toFinding(found, { ...source, locate }))
  }
  return { config: hasErrors(findings) ? undefined : { severity, limits }, findings: limited(findings, file) }
}
