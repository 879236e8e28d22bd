import { type Dirent, realpathSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { type Finding, finding } from '../findings/index.ts'
import { LINT_CONFIG_FILE } from './lint-config.ts'
import { unreadable } from './loader.ts'

/**
 * The files that a path stands for: for a folder every `*.yaml` and `*.yml` in and below it, hidden ones and
 * `plantgw.lint.yaml` apart. Adds a finding where there are none.
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
