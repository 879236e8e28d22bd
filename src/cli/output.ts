import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { maskSecrets, secretsIn } from '../checks/practice/leaked-secrets.ts'
import { type Finding, formatText } from '../findings/index.ts'
import { replaceFile } from '../store/file.ts'
import { firstOf, plural, printable, printableJson } from '../text/index.ts'

/** Whether a stream should be coloured: by `NO_COLOR` and `FORCE_COLOR`, else only on a terminal. */
export function wantsColor(stream: { isTTY?: boolean | undefined }, env = process.env): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0'
  return stream.isTTY === true
}

/** Prints findings on standard error. */
export function printFindings(findings: readonly Finding[], sources: ReadonlyMap<string, string>): void {
  process.stderr.write(
    formatText(findings, withoutSecrets(findings, sources), { color: wantsColor(process.stderr) }),
  )
}

/** Prints the errors among findings on standard error. @returns whether there are any */
export function printErrors(findings: readonly Finding[], sources: ReadonlyMap<string, string>): boolean {
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) printFindings(errors, sources)
  return errors.length > 0
}

/** The exit code for printed errors: 2 if a named path is missing, which is wrong use. */
export function failureOf(paths: readonly string[]): 1 | 2 {
  return paths.every((path) => path === '-' || isThere(path)) ? 1 : 2
}

/** The texts with secrets masked, for code frames, which may end up in a log. */
export function withoutSecrets(
  findings: readonly Finding[],
  sources: ReadonlyMap<string, string>,
): Map<string, string> {
  const shown = new Map<string, string>()
  const files = findings.flatMap(({ file, related = [] }) => [file, ...related.map((one) => one.file)])
  for (const file of new Set(files)) {
    const text = sources.get(file)
    if (text !== undefined) shown.set(file, maskSecrets(text, secretsIn({ file, text })))
  }
  return shown
}

/** A value as indented JSON without control characters, with a line feed. */
export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`
}

export function printJson(value: unknown): void {
  process.stdout.write(jsonText(value))
}

/** A table for people. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map((cell) => printable(cell.replace(/\s+/g, ' '))))
  return `${columns(lines).join('\n')}\n`
}

/**
 * A line for each row, with aligned cells; the last cell keeps its length.
 * @param widest maximum width of each column; longer cells shift the rest of their row
 */
export function columns(rows: readonly (readonly string[])[], widest: readonly number[] = []): string[] {
  const last = (rows[0]?.length ?? 0) - 1
  const widths = Array.from({ length: last }, (_, i) =>
    Math.min(widest[i] ?? Number.POSITIVE_INFINITY, Math.max(...rows.map((row) => row[i]!.length))),
  )
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/**
 * Writes new files, all or none.
 * @param force replaces existing files
 * @throws Error with the existing paths
 */
export function writeNew(files: ReadonlyMap<string, string>, force = false): void {
  const taken = [...files.keys()].filter((path) => isThere(path))
  if (taken.length > 0 && !force) {
    const verb = plural(taken.length, 'exists', 'exist')
    throw new Error(`${firstOf(taken, 5).join(', ')} already ${verb}; nothing was written`)
  }
  const done: string[] = []
  try {
    for (const [path, text] of files) {
      makeFolder(dirname(path), done)
      // Files created meanwhile are kept.
      writeFileSync(path, text, { flag: force ? 'w' : 'wx' })
      if (!taken.includes(path)) done.push(path)
    }
  } catch (error) {
    for (const path of done.reverse()) rmSync(path, { recursive: true, force: true })
    const { code, path, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || code === 'ENOTDIR') throw new Error(`${path} is in the way; nothing was written`)
    throw new Error(`cannot write: ${message}; nothing was written`)
  }
}

/**
 * Replaces a text file atomically, keeping its mode, links and byte order mark.
 * @param before its text as read, without a byte order mark
 * @throws Error if it changed meanwhile, or cannot be written
 */
export async function rewrite(file: string, before: string, text: string): Promise<void> {
  const path = realpathSync(file)
  const now = readFileSync(path, 'utf8')
  const mark = now.startsWith('\ufeff') && !before.startsWith('\ufeff') ? '\ufeff' : ''
  if (now !== mark + before) throw new Error(`${file} changed in the meantime and was not written`)
  await replaceFile(path, `${path}.${process.pid}.tmp`, [mark + text], statSync(path).mode)
}

/** Folder by folder: Node's recursive `mkdir` never ends where a file system takes no folder, such as /proc. */
function makeFolder(folder: string, done: string[]): void {
  if (existsSync(folder) && statSync(folder).isDirectory()) return
  makeFolder(dirname(folder), done)
  mkdirSync(folder)
  done.push(folder)
}

/** A dangling link exists too. */
function isThere(path: string): boolean {
  try {
    return existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR')
      throw new Error(`${dirname(path)} is not a folder; nothing was written`)
    throw error
  }
}
