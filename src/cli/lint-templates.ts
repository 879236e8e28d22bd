import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { type ReadConfiguration, readConfigurations } from '../config/index.ts'
import { exitCode, type Finding, sortFindings } from '../findings/index.ts'
import { type Fixed, fixTemplates } from '../lint/fix.ts'
import { lintTemplates } from '../lint/index.ts'
import { type Format, fileCount, formatOption, report } from './report.ts'

interface LintFlags {
  format: Format
  fix?: boolean
}

export function lintTemplatesCommand(exit: (code: number) => void): Command {
  return new Command('lint-templates')
    .description('Find mistakes in templates: names, operators, quotes, bodies that are not JSON.')
    .argument('<paths...>', 'configuration files, and folders of them; - for standard input')
    .addOption(formatOption())
    .option(
      '--fix',
      'mend what leaves no doubt, such as the case of a header; - is written to standard output',
    )
    .action(async (paths: string[], flags: LintFlags) => exit(await lint(paths, flags)))
}

/** What the reader finds belongs here where it is about templates, or keeps them from being read. */
const OF_TEMPLATES = new Set<Finding['code']>(['form-data-with-body', 'env-unset'])

async function lint(paths: readonly string[], { format, fix = false }: LintFlags): Promise<number> {
  const { env } = process
  const { configurations, findings, sources } = await readConfigurations(paths, env)
  const unread = new Set(configurations.filter(({ configuration }) => !configuration).map(({ file }) => file))
  const ofReading = findings.filter(
    ({ code, file, severity }) =>
      OF_TEMPLATES.has(code) || (severity === 'error' && (unread.has(file) || !sources.has(file))),
  )
  const left: Finding[] = []
  const texts = new Map(sources)
  const fixed: Fixed[] = []
  let stdin: string | undefined
  for (const read of configurations) {
    if (!fix) {
      left.push(...lintTemplates(read, env))
      continue
    }
    const result = fixTemplates(read, env)
    left.push(...result.findings)
    fixed.push(...result.fixed)
    texts.set(read.file, result.read.text)
    if (read.file === '-') stdin = result.read.text
    else if (result.fixed.length > 0) rewrite(read, result.read.text)
  }
  const all = sortFindings([...ofReading, ...left])
  const text =
    fixed.map(fixedLine).join('') + report(all, texts, format, `${fileCount(sources.size)}, nothing wrong`)
  // Where the mended text goes to standard output, what is said of it does not.
  if (stdin === undefined) process.stdout.write(text)
  else {
    process.stdout.write(stdin)
    process.stderr.write(text)
  }
  return exitCode(all)
}

function fixedLine({ finding: { file, fix }, was, now }: Fixed): string {
  const { line, column } = fix!.range.start
  return `${file === '-' ? '<stdin>' : file}:${line}:${column}: fixed: \`${was}\` → \`${now}\`\n`
}

/** Replaces the file in one step, unless somebody else changed it meanwhile; its mode and links stay. */
function rewrite({ file, text }: ReadConfiguration, mended: string): void {
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
