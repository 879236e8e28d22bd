import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Imported } from '../../openapi/index.ts'
import { type EditedFile, type Updated, updateImport } from '../../openapi/update.ts'
import { counted, notText, printableLines, shellWord } from '../../text/index.ts'
import { jsonText, rewrite } from '../output.ts'

interface UpdateFlags {
  dryRun: boolean
  format: 'text' | 'json'
}

/**
 * Merges a new version of a description into files of an earlier import, and prints the changes.
 * @param path a file, or a folder with files
 * @returns the exit code: 1 for conflicting changes
 */
export async function updateFiles(
  path: string,
  before: Imported,
  after: Imported,
  { dryRun, format }: UpdateFlags,
): Promise<number> {
  const given = filesAt(path)
  const made = updateImport(before, after, given)
  if (!dryRun)
    for (const { file, text } of made.files)
      await rewrite(file, given.find((one) => one.file === file)!.text, text)
  const { files, ...rest } = made
  const names = files.map(({ file }) => file)
  process.stdout.write(
    format === 'json' ? jsonText({ ...rest, files: names, dryRun }) : updateText(made, path, dryRun),
  )
  return made.conflicts.length > 0 ? 1 : 0
}

/** @throws Error if there is none */
function filesAt(path: string): EditedFile[] {
  if (!statSync(path, { throwIfNoEntry: false }))
    throw new Error(`cannot read ${path}: no such file or folder`)
  const isFolder = statSync(path).isDirectory()
  const names = isFolder ? readdirSync(path).filter((name) => /\.ya?ml$/.test(name)) : []
  const all = names.sort().map((name) => join(path, name))
  const paths = isFolder ? all.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile()) : [path]
  return paths.map((file) => ({ file, text: readEdited(file) }))
}

/** Only regular text files can be rewritten. @throws Error */
function readEdited(file: string): string {
  if (!statSync(file).isFile()) throw new Error(`cannot update ${file}: it is not a regular file`)
  const bytes = readFileSync(file)
  const fault = notText(bytes)
  if (fault) throw new Error(`cannot update ${file}: it is ${fault.what}`)
  return bytes.toString()
}

function updateText(
  { files, added, changed, removed, conflicts }: Updated,
  path: string,
  dryRun: boolean,
): string {
  const counts = `${added.length} added, ${changed.length} changed, ${removed.length} removed, ${counted(conflicts.length, 'conflict')}`
  const line = ({
    operation,
    tool,
    file,
    parts = [],
  }: Updated['changed'][number] | (Updated['added'][number] & { parts?: string[] })) =>
    `  ${file}: ${tool} (${operation})${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`
  const section = (heading: string, all: Parameters<typeof line>[0][]) =>
    all.length > 0 ? ['', heading, ...all.map(line)] : []
  const next = dryRun
    ? ['', 'Nothing was written: omit --dry-run to write it.']
    : files.length > 0
      ? ['', `Check the result: plantgw validate ${shellWord(path)}`]
      : []
  const lines = [
    `${path}: ${counts}`,
    ...section('Added:', added),
    ...section('Changed:', changed),
    ...section('Removed:', removed),
    ...section('Changed in the file and in the description; the file keeps what it has:', conflicts),
    ...next,
  ]
  return `${printableLines(lines.join('\n'))}\n`
}
