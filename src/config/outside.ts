import { realpathSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { type Finding, finding } from '../findings/index.ts'

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
 * link leads to, so nothing of that is shown: no line, no key, no place.
 */
export function outsideFinding(file: string): Finding {
  return finding(
    'linked-file',
    file,
    'the link leads out of the folder, to a file that is not a sound configuration',
    { hint: 'Check the file that it leads to by its own path' },
  )
}
