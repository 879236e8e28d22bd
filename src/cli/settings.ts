import { readFileSync } from 'node:fs'
import type { Source } from '../config/index.ts'

/**
 * The settings file of `--settings`, when it is given.
 * @throws Error that says why it cannot be read
 */
export function settingsSource(file: string | undefined): Source | undefined {
  return namedSource(file, 'settings file')
}

/**
 * A file that an option names, when it is given.
 * @param what it is, in the message
 * @throws Error that says why it cannot be read
 */
export function namedSource(file: string | undefined, what: string): Source | undefined {
  if (file === undefined) return undefined
  try {
    return { file, text: readFileSync(file, 'utf8') }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : message
    throw new Error(`cannot read the ${what} ${file}: ${why}`)
  }
}
