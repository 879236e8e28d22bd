import { Command } from 'commander'
import { checkOf, type Finding, type FindingCode } from '../../findings/index.ts'
import { type PolicyFlags, withLintConfig } from './policy.ts'
import { type ReportFlags, withReportOptions } from './report.ts'
import { validate } from './validate.ts'

/** `validate`, for templates only. */
export function lintTemplatesCommand(exit: (code: number) => void): Command {
  const command = new Command('lint-templates')
    .description('Find mistakes in templates: names, operators, quotes, and bodies that are not JSON.')
    .argument('<paths...>', 'configuration files or folders; - for standard input')
    .option('--fix', 'apply unambiguous fixes first; with "-", print the fixed file')
  return withReportOptions(withLintConfig(command)).action(
    async (paths: string[], flags: ReportFlags & PolicyFlags & { fix?: boolean }) =>
      exit(await validate(paths, flags, { has: isOfTemplates, hasFinding: isUnquoted })),
  )
}

/** Of other checks only what is about templates. */
function isOfTemplates(code: FindingCode): boolean {
  return code === 'form-data-with-body' || code === 'env-unset' || checkOf(code) === 'templates'
}

/** A template without quotes is a map to YAML: it stands on the lines below the key. */
function isUnquoted({ code, range }: Finding, text: string | undefined): boolean {
  if ((code !== 'wrong-type' && code !== 'not-json') || !range || text === undefined) return false
  const { offset, column } = range.start
  const [first = '', ...lines] = text.slice(offset - column + 1).split('\n')
  const end = lines.findIndex((line) => line.trim() !== '' && line.search(/\S/) < column)
  return [first, ...(end < 0 ? lines : lines.slice(0, end))].some((line) => line.includes('{{'))
}
