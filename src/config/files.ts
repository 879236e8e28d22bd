import { type Dirent, readFileSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Finding, finding, hasErrors, sortFindings } from '../findings/index.ts'
import { readBytes } from './bytes.ts'
import type { FileReader } from './known-files.ts'
import { LINT_CONFIG_FILE } from './lint-config.ts'
import { leadsOutside, outsideFinding } from './outside.ts'
import { takeTurns } from './turns.ts'
import type { ReadConfiguration, Source } from './types.ts'
import { MAX_FILE_SIZE } from './yaml/document.ts'
import { expectFiles } from './yaml/late.ts'

/** Reads the same configurations time and again, with pauses; what is the same as the last time costs nothing. */
export interface Reader {
  /** As `readConfiguration`; the one of the last time where file and text are the same. */
  read(source: Source): ReadConfiguration | Promise<ReadConfiguration>
  /** As `checkTogether`; what is checked here is the last time for the next `read`. */
  together(configurations: readonly ReadConfiguration[]): Promise<readonly Finding[]>
}

export interface ReadFilesOptions {
  /** Bytes of standard input, for the path `-`. Default: reads file descriptor 0. */
  stdin?: () => Uint8Array
  /** Reads what are many files; absent: they are read as few are. */
  files?: FileReader
}

export interface ReadConfigurationsResult {
  /** In the order of their paths. */
  configurations: ReadConfiguration[]
  /** All of them, sorted: of files, of each configuration and of all together. */
  findings: Finding[]
  /** The text of each file that was read, for `formatText`; empty for one outside of the folder that links to it. */
  sources: Map<string, string>
}

/**
 * Reads files and folders, and checks all of them together. Never throws.
 * @param paths a folder stands for every `*.yaml` and `*.yml` in and below it, hidden ones and
 *   `plantgw.lint.yaml` apart; `-` is standard
 *   input; a file that is named twice is read once
 */
export async function readFiles(
  paths: readonly string[],
  reader: Reader,
  options: ReadFilesOptions = {},
): Promise<ReadConfigurationsResult> {
  const findings: Finding[] = []
  const files = new Map<string, string>()
  /** Those that a link of a folder leads to outside of it, and that nobody named. */
  const outside = new Set<string>()
  const named = new Set(paths.map((path) => resolve(path)))
  for (const path of paths) {
    for (const file of await filesOf(path, findings, undefined, outside)) {
      const identity = file === '-' ? file : resolve(file)
      if (!files.has(identity)) files.set(identity, file)
    }
  }
  for (const file of outside) if (named.has(resolve(file))) outside.delete(file)
  expectFiles(files.size)
  const configurations: ReadConfiguration[] = []
  const open = (file: string) => (file === '-' ? readStdin(options, findings) : readSource(file, findings))
  const names = [...files.values()]
  const isMany = names.length >= MANY && !files.has('-')
  const read = options.files && isMany ? options.files(names, findings) : inTurn(names, open)
  const turn = takeTurns()
  for await (const source of read) {
    if (source) configurations.push(shown(await reader.read(source), outside))
    await turn()
  }
  for (const read of configurations) findings.push(...read.findings)
  findings.push(...(await reader.together(configurations.filter((read) => !isHidden(read)))))
  const sources = new Map(configurations.map(({ file, text }) => [file, outside.has(file) ? '' : text]))
  return { configurations, findings: sortFindings(findings), sources }
}

/** Of a file outside of the folder, nothing but that it is not sound. */
function shown(read: ReadConfiguration, outside: ReadonlySet<string>): ReadConfiguration {
  if (!outside.has(read.file) || (read.configuration && !hasErrors(read.findings))) return read
  return { ...read, text: '', configuration: undefined, findings: [outsideFinding(read.file)] }
}

function isHidden({ findings }: ReadConfiguration): boolean {
  return findings[0]?.code === 'linked-file'
}

/** Fewer files than these are read before a thread has begun. */
const MANY = 100
/** So many files are opened at once: more are no faster. */
const AT_ONCE = 16

/** What `work` makes of each item, in their order; the next ones are under way meanwhile. */
async function* inTurn<T, R>(items: readonly T[], work: (item: T) => R | Promise<R>): AsyncGenerator<R> {
  const ahead: (R | Promise<R>)[] = []
  for (const [i, item] of items.entries()) {
    ahead.push(work(item))
    if (i >= AT_ONCE - 1) yield await ahead.shift()!
  }
  for (const each of ahead) yield await each
}

/**
 * The files that a path stands for, as `readFiles` reads them; adds a finding where there are none.
 * @param folders takes the folders in which these files are, those behind symbolic links too
 * @param outside takes the files that are links to somewhere else than in or below the folder
 */
export async function filesOf(
  path: string,
  findings: Finding[],
  folders?: Set<string>,
  outside?: Set<string>,
): Promise<string[]> {
  if (path === '-') return [path]
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const onLink = (link: string) => {
      if (outside && leadsOutside(link, path)) outside.add(link)
    }
    const files = await yamlFiles(path, findings, folders, onLink)
    if (files.length === 0) {
      const hint = 'Name a folder that holds `*.yaml` or `*.yml` files'
      findings.push(finding('no-files', path, 'the folder holds no configuration', { hint }))
    }
    return files
  } catch (error) {
    findings.push(unreadable(path, error))
    return []
  }
}

async function yamlFiles(
  folder: string,
  findings: Finding[],
  folders: Set<string> | undefined,
  onLink: (link: string) => void,
): Promise<string[]> {
  folders?.add(folder)
  const entries = await readdir(folder, { withFileTypes: true })
  const files: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || entry.name === LINT_CONFIG_FILE) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      try {
        files.push(...(await yamlFiles(path, findings, folders, onLink)))
      } catch (error) {
        findings.push(unreadable(path, error))
      }
    } else if (/\.ya?ml$/i.test(entry.name) && (await isReadable(entry, path))) {
      files.push(path)
      if (entry.isSymbolicLink()) onLink(path)
      if (folders && entry.isSymbolicLink()) folders.add(dirname(await realpath(path).catch(() => path)))
    }
  }
  return files
}

/** Pipes and devices are no files of a folder; nor is a link to a folder, which could lead back up. */
async function isReadable(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile()
  const target = await stat(path).catch(() => undefined)
  // A link that leads nowhere is told when it is read.
  return target === undefined || target.isFile()
}

/** The same of a file that is not read yet. */
export async function readSource(file: string, findings: Finding[]): Promise<Source | undefined> {
  try {
    return await readBytes(file, (bytes) => decode(file, bytes, findings))
  } catch (error) {
    findings.push(unreadable(file, error))
    return undefined
  }
}

function readStdin(
  { stdin = () => readFileSync(0) }: ReadFilesOptions,
  findings: Finding[],
): Source | undefined {
  try {
    return decode('-', stdin(), findings)
  } catch (error) {
    findings.push(unreadable('-', error))
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a file, or undefined with a finding of why there is none. */
export function decode(file: string, bytes: Uint8Array, findings: Finding[]): Source | undefined {
  if (bytes.byteLength > MAX_FILE_SIZE) {
    findings.push(tooLarge(file))
    return undefined
  }
  try {
    return { file, text: UTF8.decode(bytes) }
  } catch {
    const hint = 'Save the file as UTF-8'
    findings.push(finding('unreadable-file', file, 'the file is not UTF-8 text', { hint }))
    return undefined
  }
}

function tooLarge(file: string): Finding {
  return finding('file-too-large', file, 'the file is larger than 4 MiB', { hint: 'Split it' })
}

const REASONS: Record<string, [string, string]> = {
  ENOENT: ['there is no such file or folder', 'Check the path and its spelling'],
  EACCES: ['the file may not be read', 'Give this user permission to read it'],
  EPERM: ['the file may not be read', 'Give this user permission to read it'],
  EISDIR: ['this is a folder, not a file', 'Name a file'],
  ENOTDIR: ['a part of the path is not a folder', 'Check the path and its spelling'],
  ELOOP: ['the links of this path lead in a circle', 'Mend the link'],
}

export function unreadable(file: string, error: unknown): Finding {
  const { code = '', message } = error as NodeJS.ErrnoException
  const [reason, hint] = REASONS[code] ?? [`the file cannot be read: ${message}`, 'Check the path']
  return finding('unreadable-file', file, reason, { hint })
}
