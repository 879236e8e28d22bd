import { join } from 'node:path'
import type { Imported, ImportedConfiguration } from '../../openapi/index.ts'
import { writeNew } from '../write-new.ts'
import { type Files, importJson, importText, tooManyText } from './import-text.ts'

/** Where and how to write an import. */
export interface OutputFlags {
  /** Folder; undefined: standard output. */
  output?: string | undefined
  force?: boolean | undefined
  format: 'text' | 'json'
}

export function filesOf(configurations: readonly ImportedConfiguration[], output: string | undefined): Files {
  return new Map(configurations.map((one) => [join(output ?? '', `${one.name}.yaml`), one]))
}

/**
 * Writes configurations to a folder and the report to standard output, or the only configuration to standard output and
 * the report to standard error.
 * @returns the exit code
 */
export function writeImported(
  files: Files,
  { output, force, format }: OutputFlags,
  report: { code: number; text: string; json: () => string },
): number {
  if (output !== undefined) writeNew(new Map([...files].map(([path, { text }]) => [path, text])), force)
  if (format === 'json') process.stdout.write(report.json())
  else if (output !== undefined) process.stdout.write(report.text)
  else {
    for (const { text } of files.values()) process.stdout.write(text)
    process.stderr.write(report.text)
  }
  return report.code
}

/**
 * Writes imported configurations, with a report of omissions.
 * @throws Error if several configurations would go to standard output
 */
export function reportImported(made: Imported, from: string, flags: OutputFlags): number {
  const files = filesOf(made.configurations, flags.output)
  const written = flags.output !== undefined
  if (!written && flags.format === 'text' && files.size > 1) throw new Error(tooManyText(made, files))
  return writeImported(files, flags, {
    code: made.imported > 0 ? 0 : 1,
    text: importText(made, files, from, written),
    json: () => importJson(made, files, written),
  })
}
