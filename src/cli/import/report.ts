import { dirname } from 'node:path'
import type { Command } from 'commander'
import type { Source } from '../../config/index.ts'
import type { Finding } from '../../findings/index.ts'
import type { Variable } from '../../import/secret-variables.ts'
import { firstOf, printableLines, shellWord } from '../../text/index.ts'
import { formatOption } from '../options.ts'
import { columns, jsonText, printFindings, writeNew } from '../output.ts'
import { ownCommand } from '../own-command.ts'
import { type WrittenEnv, writeEnv } from './write-env.ts'

/** Where and how to write an import. */
export interface OutputFlags {
  /** Folder; undefined: standard output. */
  output?: string | undefined
  force?: boolean | undefined
  /** File for the secrets of the imported file. */
  writeEnv?: string | undefined
  format: 'text' | 'json'
}

/** Adds the options of `OutputFlags`, without `writeEnv`. */
export function withOutput(command: Command): Command {
  return command
    .option('-o, --output <folder>', 'folder for the files (default: standard output)')
    .option('--force', 'overwrite existing files')
    .addOption(formatOption())
}

/** The same for imports that find secrets. */
export function withEnv(command: Command): Command {
  return withOutput(command).option(
    '--write-env <file>',
    'add the secrets of the imported file to this file of variables, such as .env',
  )
}

/** A file to write: its text, and words about it. */
interface MadeFile {
  text: string
  about: string
}

/** The outcome of an import. */
export interface Report {
  code: number
  /** Lines about the import itself. */
  lines: string[]
  /** By path. */
  files: ReadonlyMap<string, MadeFile>
  variables: Variable[]
  /** Lines before the commands that follow. */
  advice?: string[]
  /** Arguments of `validate` and `serve`; default: the files. */
  next?: { validate: string; serve: string }
  /** Members of the JSON report beside `variables`. */
  json: object
}

/** Why nothing can be made of a file. */
type Unusable = { findings: Finding[]; fault?: undefined } | { fault: string; findings?: undefined }

/**
 * Prints why nothing was made of a file. @returns the exit code
 * @param what before the fault, such as `shop.har is not a HAR file`
 */
export function refuse({ findings, fault }: Unusable, { file, text }: Source, what: string): 1 {
  if (findings) printFindings(findings, new Map([[file, text]]))
  else process.stderr.write(`plantgw: ${what}: ${fault}\n`)
  return 1
}

/** Maximum reasons. */
const MAX_REASONS = 12

/**
 * Writes the files to a folder and the report to standard output, or the only file to standard output and the report to
 * standard error; the secrets to an environment file if one is named.
 * @returns the exit code
 * @throws Error if a file cannot be written
 */
export async function finish(report: Report, flags: OutputFlags): Promise<number> {
  const { output, force, format } = flags
  const { files, variables } = report
  const texts = new Map([...files].map(([path, { text }]) => [path, text]))
  if (output !== undefined) writeNew(texts, force)
  const env = flags.writeEnv === undefined ? undefined : await writeEnv(flags.writeEnv, variables)
  const text = `${printableLines(textLines(report, env, flags).join('\n'))}\n`
  if (format === 'json') {
    const listed = variables.map(({ value, ...one }) => ({ ...one, hadValue: value !== undefined }))
    process.stdout.write(jsonText({ ...report.json, variables: listed, ...(env && { env }) }))
  } else if (output !== undefined) process.stdout.write(text)
  else {
    for (const one of texts.values()) process.stdout.write(one)
    process.stderr.write(text)
  }
  return report.code
}

function textLines(
  { lines, files, variables, advice = [], next }: Report,
  env: WrittenEnv | undefined,
  flags: OutputFlags,
): string[] {
  const { output, writeEnv: file } = flags
  const isWritten = output !== undefined
  const known = new Set([...(env?.written ?? []), ...(env?.kept ?? []).map(({ name }) => name)])
  const written = [...files].map(([path, { about }]) => `  ${path}${about && `  ${about}`}`)
  return [
    ...lines,
    ...(isWritten && written.length > 0 ? ['', 'Written:', ...written] : []),
    ...(env ? envLines(env) : []),
    ...variableLines(
      variables.filter(({ name }) => !known.has(name)),
      file === undefined,
    ),
    ...(files.size > 0 ? [...advice, ...nextLines(files, isWritten, file, next)] : []),
  ]
}

function envLines({ file, written, kept, unwritable }: WrittenEnv): string[] {
  const section = (heading: string, names: string[]) =>
    names.length > 0 ? ['', heading, ...names.map((name) => `  ${name}`)] : []
  return [
    ...section(`Written to ${file}, which only you can read:`, written),
    ...section(
      `Already in ${file}, and not changed:`,
      kept.map(({ name, differs }) => name + (differs ? '  has another value than the imported file' : '')),
    ),
    ...section(`Not written to ${file}, because their values have line breaks and quotes:`, unwritable),
  ]
}

function variableLines(variables: readonly Variable[], canWrite: boolean): string[] {
  if (variables.length === 0) return []
  const rows = columns(
    variables.map(({ name, use, value }) => [
      `  ${name}`,
      value === undefined ? use : `${use}; its value is in the imported file`,
    ]),
  )
  const hint = canWrite && variables.some(({ value }) => value !== undefined)
  return [
    '',
    `Set these environment variables before you serve${hint ? ' (--write-env .env writes those of the imported file)' : ''}:`,
    ...rows,
  ]
}

/** The commands that follow. */
function nextLines(
  files: Report['files'],
  isWritten: boolean,
  env: string | undefined,
  next: Report['next'],
): string[] {
  const [first = ''] = files.keys()
  const path = files.size === 1 || !isWritten ? first : dirname(first)
  const command = ownCommand('.')
  const more = env === undefined || env === '.env' ? '' : ` --env-file ${shellWord(env)}`
  return [
    '',
    isWritten ? 'Next:' : `Next, with this file as ${first}:`,
    `  ${command} validate ${next?.validate ?? shellWord(path)}${more}`,
    `  ${command} serve ${next?.serve ?? shellWord(path)}${more}`,
  ]
}

/** Each reason once, the most frequent first. */
export function reasons(all: [reason: string, what: string][], verb: string): string[] {
  const byReason = new Map<string, string[]>()
  for (const [reason, what] of all) byReason.set(reason, [...(byReason.get(reason) ?? []), what])
  const sorted = [...byReason].sort((a, b) => b[1].length - a[1].length)
  const lines = sorted.slice(0, MAX_REASONS).flatMap(([reason, what]) => {
    return [`  ${what.length} ${verb}: ${reason}`, ...firstOf(what, 3).map((one) => `      ${one}`)]
  })
  if (sorted.length > MAX_REASONS)
    lines.push(`  and ${sorted.length - MAX_REASONS} more reasons: --format json lists all`)
  return lines
}
