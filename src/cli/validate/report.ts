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
import { counted } from '../../text/index.ts'
import { formatOption, wholeNumber } from '../options.ts'
import { wantsColor, withoutSecrets } from '../output.ts'
import { VERSION } from '../own-command.ts'

/** Output of a checking command. */
interface Output {
  findings: readonly Finding[]
  /** The text of each checked file. */
  sources: ReadonlyMap<string, string>
  color: boolean
  /** Why the command fails although no finding is an error. */
  failure: string | undefined
  /** Text without findings. */
  sound: string
}

/** Output formats of findings; add a row for a new one. */
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

type Format = keyof typeof FORMATS

/** Output flags, and flags that make the command fail. */
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
 * Report on standard output, and exit code, of a checking command.
 * @param sources the text of each checked file
 * @param sound text without findings
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
      ? `${counted(warnings, 'warning')}, and --max-warnings allows ${maxWarnings}`
      : undefined
  const shown = quiet ? findings.filter(({ severity }) => severity === 'error') : findings
  const output = { findings: shown, sources, color, failure, sound: quiet ? '' : `${sound}\n` }
  return { text: FORMATS[format](output), code: failure === undefined ? exitCode(findings) : 1 }
}
