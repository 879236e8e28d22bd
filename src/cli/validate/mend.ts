import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { Fixed } from '../../checks/fix.ts'
import type { ReadConfiguration } from '../../config/index.ts'
import { printableLines } from '../../findings/frame.ts'
import type { Finding } from '../../findings/index.ts'
import type { Policy } from './policy.ts'
import type { ReportFlags } from './report.ts'

/** What `--fix` did. */
export interface Mended {
  /** A line for each thing that was mended. */
  lines: string
  /** The text of standard input as it is now, where that was read. */
  stdin: string | undefined
}

/**
 * Prints the report, what was mended before it. Where the mended text goes to standard output, what is said of it does
 * not; a report for programs stays whole.
 */
export function printMended(report: string, { lines, stdin }: Mended, format: ReportFlags['format']): void {
  if (stdin !== undefined) process.stdout.write(stdin)
  const told = stdin === undefined ? process.stdout : process.stderr
  const before = format === 'text' ? told : process.stderr
  before.write(lines)
  told.write(report)
}

/** What is silenced is not mended either: it loses its fix. */
export function withoutSilenced(
  findings: readonly Finding[],
  { file, text }: ReadConfiguration,
  policy: Policy,
): Finding[] {
  const told = policy.apply(findings, new Map([[file, text]]), new Set(), () => false)
  const isTold = ({ code, range, message }: Finding) =>
    told.some((one) => one.code === code && one.range === range && one.message === message)
  return findings.map((found) => {
    if (!found.fix || isTold(found)) return found
    const { fix: _, ...rest } = found
    return rest
  })
}

/** `a.yaml:3:5: fixed: `/user/` → `/user``, with a line feed. */
export function fixedLine({ finding: { file, fix }, was, now }: Fixed): string {
  const { line, column } = fix!.range.start
  const place = `${file === '-' ? '<stdin>' : file}:${line}:${column}`
  return `${printableLines(`${place}: fixed: \`${was}\` → \`${now}\``)}\n`
}

/**
 * Replaces the file in one step; its mode and links stay.
 * @throws Error when somebody else changed it meanwhile, or it cannot be written
 */
export function rewrite({ file, text }: ReadConfiguration, mended: string): void {
  const path = realpathSync(file)
  const before = readFileSync(path, 'utf8')
  // The reader drops a byte order mark.
  const mark = before.startsWith('\ufeff') ? '\ufeff' : ''
  if (before !== mark + text) throw new Error(`${file} has changed meanwhile and was left alone`)
  const temporary = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, mark + mended, { mode: statSync(path).mode, flag: 'wx' })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
