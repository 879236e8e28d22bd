import { readFileSync, realpathSync, statSync } from 'node:fs'
import { type Fixed, fixFile } from '../../checks/fix.ts'
import { type CheckOptions, checkTogether, readConfigurations } from '../../checks/index.ts'
import { lintTemplates } from '../../checks/templates/index.ts'
import type { Env, ReadConfiguration } from '../../config/index.ts'
import { replaceFile } from '../../durable/file.ts'
import { type Finding, printableLines } from '../../findings/index.ts'
import type { ReportFlags } from './report.ts'

/** Result of `--fix`. */
export interface FixedFiles {
  /** A line for each fix. */
  lines: string
  /** The fixed text of standard input, if that was read. */
  stdin: string | undefined
}

/**
 * Fixes files in place if unambiguous: names one edit away from the only candidate, slashes of prefixes, quotes of
 * truth values. Comments and layout stay.
 * @param wanted findings that may be fixed
 */
export async function fixFiles(
  paths: readonly string[],
  env: Env,
  rules: CheckOptions,
  wanted: (findings: Finding[], read: ReadConfiguration) => Finding[],
): Promise<FixedFiles> {
  const find = (read: ReadConfiguration) =>
    wanted([...read.findings, ...checkTogether([read], rules), ...lintTemplates(read, env)], read)
  let lines = ''
  let stdin: string | undefined
  for (const read of (await readConfigurations(paths, env)).configurations) {
    const { read: now, fixed } = fixFile(read, env, find)
    lines += fixed.map(fixedLine).join('')
    if (read.file === '-') stdin = now.text
    else if (fixed.length > 0) await rewrite(read, now.text)
  }
  return { lines, stdin }
}

/**
 * Prints the fixes, then the report. If the fixed text goes to standard output, both go to standard error; a
 * machine-readable report stays complete.
 */
export function printFixed(
  report: string,
  { lines, stdin }: FixedFiles,
  format: ReportFlags['format'],
): void {
  if (stdin !== undefined) process.stdout.write(stdin)
  const out = stdin === undefined ? process.stdout : process.stderr
  const ofFixes = format === 'text' ? out : process.stderr
  ofFixes.write(lines)
  out.write(report)
}

/** `a.yaml:3:5: fixed: `/user/` → `/user``, with a line feed. */
function fixedLine({ finding: { file, fix }, was, now }: Fixed): string {
  const { line, column } = fix!.range.start
  const place = `${file === '-' ? '<stdin>' : file}:${line}:${column}`
  return `${printableLines(`${place}: fixed: \`${was}\` → \`${now}\``)}\n`
}

/**
 * Replaces the file atomically, keeping its mode and links.
 * @throws Error if it changed meanwhile, or cannot be written
 */
async function rewrite({ file, text }: ReadConfiguration, fixed: string): Promise<void> {
  const path = realpathSync(file)
  const before = readFileSync(path, 'utf8')
  // The reader removes a byte order mark.
  const mark = before.startsWith('\ufeff') ? '\ufeff' : ''
  if (before !== mark + text) throw new Error(`${file} changed in the meantime and was not written`)
  await replaceFile(path, `${path}.${process.pid}.tmp`, [mark + fixed], statSync(path).mode)
}
