import { type Command, InvalidArgumentError, Option } from 'commander'
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
import { wantsColor, withoutSecrets } from '../print.ts'
import { VERSION } from '../version.ts'

export type Format = 'text' | 'json' | 'sarif' | 'github' | 'junit'

/** How findings are told, and what makes the command fail. */
export interface ReportFlags {
  format: Format
  quiet?: boolean
  maxWarnings?: number
  color?: boolean
}

/** Adds the options of `ReportFlags`. */
export function withReportOptions(command: Command): Command {
  const formats: Format[] = ['text', 'json', 'sarif', 'github', 'junit']
  return command
    .addOption(new Option('--format <format>', 'output format').choices(formats).default('text'))
    .option('-q, --quiet', 'print only errors, and nothing when there are none')
    .option('--max-warnings <number>', 'exit with 1 when there are more warnings than this', wholeNumber)
    .option('--color', 'force colored output')
    .option('--no-color', 'disable colored output')
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use a whole number, for example 0.')
  return Number(text)
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
  const tooMany =
    maxWarnings !== undefined && warnings > maxWarnings
      ? `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, and --max-warnings allows ${maxWarnings}`
      : undefined
  const told = quiet ? findings.filter(({ severity }) => severity === 'error') : findings
  const code = tooMany === undefined ? exitCode(findings) : 1
  return { text: body(), code }

  function body(): string {
    switch (format) {
      case 'json':
        return formatJson(told)
      case 'sarif':
        return formatSarif(told, VERSION)
      case 'github':
        return formatGithub(told) + (tooMany === undefined ? '' : `::error title=max-warnings::${tooMany}\n`)
      case 'junit':
        return formatJunit(told, { files: [...sources.keys()], failure: tooMany })
      default: {
        const last = tooMany === undefined ? '' : `${tooMany}\n`
        if (told.length > 0) return formatText(told, withoutSecrets(told, sources), { color }) + last
        return quiet ? last : `${sound}\n`
      }
    }
  }
}

/** `1 file`, `2 files`. */
export function fileCount(files: number): string {
  return `${files} ${files === 1 ? 'file' : 'files'}`
}
