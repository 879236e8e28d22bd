import { type Dirent, readFileSync, realpathSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { type Finding, finding, hasErrors, sortFindings } from '../findings/index.ts'
import { LINT_CONFIG_FILE } from './lint-config.ts'
import { createFileReader, decode, type FileReader, unreadable } from './loader.ts'
import type { ReadConfiguration, Source } from './types.ts'
import { takeTurns } from './work-turns.ts'

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
  /** Default: a new one, which knows of no earlier run. */
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
  const configurations: ReadConfiguration[] = []
  const { files: fileReader = createFileReader() } = options
  const turn = takeTurns()
  const read = async (source: Source | undefined) => {
    if (source) configurations.push(shown(await reader.read(source), outside))
    await turn()
  }
  const names = [...files.values()]
  const stdin = names.indexOf('-')
  for (const part of stdin < 0 ? [names] : [names.slice(0, stdin), ['-'], names.slice(stdin + 1)])
    if (part[0] === '-') await read(readStdin(options, findings))
    else for await (const source of fileReader(part, findings)) await read(source)
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
      const hint = 'Name a folder that contains `*.yaml` or `*.yml` files'
      findings.push(finding('no-files', path, 'the folder contains no configuration', { hint }))
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

/** Whether a link of the folder leads to a file that is not in or below it; one that leads nowhere does not. */
export function leadsOutside(link: string, folder: string): boolean {
  try {
    const way = relative(realpathSync(folder), realpathSync(link))
    return way === '..' || way.startsWith(`..${sep}`)
  } catch {
    return false
  }
}

/**
 * Stands for all that is wrong with such a file. Whoever may write to the folder may not be allowed to read what the
 * link leads to, so nothing of it is shown: no line, no key, no place.
 */
export function outsideFinding(file: string): Finding {
  return finding(
    'linked-file',
    file,
    'the link leads out of the folder, to a file that is not a valid configuration',
    {
      hint: 'Check the target file by its own path',
    },
  )
}
