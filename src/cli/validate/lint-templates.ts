import { Command } from 'commander'
import { type Fixed, fixFile } from '../../checks/fix.ts'
import { readConfigurations } from '../../checks/index.ts'
import { lintTemplates } from '../../checks/templates/index.ts'
import type { ReadConfiguration } from '../../config/index.ts'
import { checkOf, type Finding, type FindingCode } from '../../findings/index.ts'
import { fixedLine, printMended, rewrite, withoutSilenced } from './mend.ts'
import { type PolicyFlags, readPolicy, withLintConfig } from './policy.ts'
import { fileCount, type ReportFlags, report, withReportOptions } from './report.ts'

interface LintFlags extends ReportFlags, PolicyFlags {
  fix?: boolean
}

export function lintTemplatesCommand(exit: (code: number) => void): Command {
  const command = new Command('lint-templates')
    .description('Find mistakes in templates: names, operators, quotes, bodies that are not JSON.')
    .argument('<paths...>', 'configuration files, and folders of them; - for standard input')
    .option(
      '--fix',
      'mend what leaves no doubt, such as the case of a header; - is written to standard output',
    )
  return withReportOptions(withLintConfig(command)).action(async (paths: string[], flags: LintFlags) =>
    exit(await lint(paths, flags)),
  )
}

/** What the reader finds belongs here where it is about templates, or keeps them from being read. */
const OF_TEMPLATES = new Set<Finding['code']>(['form-data-with-body', 'env-unset'])

/** A template without quotes, which YAML reads as a map: what stands under the key holds one. */
function isUnquoted({ code, range }: Finding, text: string | undefined): boolean {
  if ((code !== 'wrong-type' && code !== 'not-json') || !range || text === undefined) return false
  const { offset, column } = range.start
  const [first = '', ...lines] = text.slice(offset - column + 1).split('\n')
  const end = lines.findIndex((line) => line.trim() !== '' && line.search(/\S/) < column)
  return [first, ...(end < 0 ? lines : lines.slice(0, end))].some((line) => line.includes('{{'))
}

const isOfTemplates = (code: FindingCode) => OF_TEMPLATES.has(code) || checkOf(code) === 'templates'

async function lint(paths: readonly string[], flags: LintFlags): Promise<number> {
  const { env } = process
  const policy = readPolicy(paths, flags)
  const { configurations, findings, sources } = await readConfigurations(paths, env)
  const unread = new Set(configurations.filter(({ configuration }) => !configuration).map(({ file }) => file))
  const ofReading = findings.filter(
    (one) =>
      OF_TEMPLATES.has(one.code) ||
      (one.severity === 'error' && (unread.has(one.file) || !sources.has(one.file))) ||
      isUnquoted(one, sources.get(one.file)),
  )
  const left: Finding[] = []
  const texts = new Map(sources)
  const fixed: Fixed[] = []
  let stdin: string | undefined
  for (const read of configurations) {
    if (!flags.fix) {
      left.push(...lintTemplates(read, env))
      continue
    }
    const find = (one: ReadConfiguration) => withoutSilenced(lintTemplates(one, env), one, policy)
    const result = fixFile(read, env, find)
    left.push(...result.findings)
    fixed.push(...result.fixed)
    if (texts.get(read.file)) texts.set(read.file, result.read.text)
    if (read.file === '-') stdin = result.read.text
    else if (result.fixed.length > 0) rewrite(read, result.read.text)
  }
  if (policy.source) texts.set(policy.source.file, policy.source.text)
  // Comments silence findings also in files whose text is not shown.
  const unshown = configurations.filter(({ file }) => texts.get(file) === '')
  const whole = new Map([...texts, ...unshown.map(({ file, text }) => [file, text] as const)])
  const all = policy.apply([...policy.findings, ...ofReading, ...left], whole, unread, isOfTemplates)
  const { text: told, code } = report(all, texts, flags, `${fileCount(sources.size)}, nothing wrong`)
  printMended(told, { lines: fixed.map(fixedLine).join(''), stdin }, flags.format)
  return code
}
