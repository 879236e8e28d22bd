import type { Command } from 'commander'
import {
  countFindings,
  exitCode,
  type Finding,
  formatGithub,
  formatJson,
  formatJunit,
  formatSarif,
  formatText,
} from '../../findings/index.ts'
import { formatOption, wholeNumber } from '../options.ts'
import { wantsColor, withoutSecrets } from '../output.ts'
import { VERSION } from '../version.ts'

/** What a command that checks has to print. */
interface Output {
  findings: readonly Finding[]
  /** The text of each file that was looked at. */
  sources: ReadonlyMap<string, string>
  color: boolean
  /** Why the command fails although no finding is an error. */
  failure: string | undefined
  /** What text says without findings. */
  sound: string
}

/** How findings are printed; a further format is a row. */
export const FORMATS = {
  text({ findings, sources, color, failure, sound }: Output) {
    const last = failure === undefined ? '' : `${failure}\n`
    return findings.length > 0
      ? formatText(findings, withoutSecrets(findings, sources), { color }) + last
      : last || sound
  },
  json: ({ findings, sources }: Output) => formatJson(findings, sources.keys()),
  sarif: ({ findings }: Output) => formatSarif(findings, VERSION),
  github: ({ findings, failure }: Output) =>
    formatGithub(findings) + (failure === undefined ? '' : `::error title=max-warnings::${failure}\n`),
  junit: ({ findings, sources, failure }: Output) =>
    formatJunit(findings, { files: [...sources.keys()], failure }),
} satisfies Record<string, (output: Output) => string>

export type Format = keyof typeof FORMATS

/** How findings are printed, and what makes the command fail. */
export interface ReportFlags {
  format: Format
  quiet?: boolean
  maxWarnings?: number
  color?: boolean
}

/** Adds the options of `ReportFlags`. */
export function withReportOptions(command: Command): Command {
  return command
    .addOption(formatOption(Object.keys(FORMATS)))
    .option('-q, --quiet', 'print only errors, and nothing when there are none')
    .option(
      '--max-warnings <number>',
      'exit with 1 when there are more warnings than this',
      wholeNumber(0, 999_999_999),
    )
    .option('--color', 'force colored output')
    .option('--no-color', 'disable colored output')
}

/**
 * What a command that checks prints on standard output, and its exit code.
 * @param sources the text of each file that was looked at
 * @param sound what text says when there are no findings
 */
export function report(
  findings: readonly Finding[],
  sources: ReadonlyMap<string, string>,
  flags: ReportFlags,
  sound: string,
): { text: string; code: 0 | 1 } {
  const { format, quiet, maxWarnings, color = wantsColor(process.stdout) } = flags
  const warnings = countFindings(findings).warning
  const failure =
    maxWarnings !== undefined && warnings > maxWarnings
      ? `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, and --max-warnings allows ${maxWarnings}`
      : undefined
  const shown = quiet ? findings.filter(({ severity }) => severity === 'error') : findings
  const output = { findings: shown, sources, color, failure, sound: quiet ? '' : `${sound}\n` }
  return { text: FORMATS[format](output), code: failure === undefined ? exitCode(findings) : 1 }
}

/** `1 file`, `2 files`. */
export function fileCount(files: number): string {
  return `${files} ${files === 1 ? 'file' : 'files'}`
}
