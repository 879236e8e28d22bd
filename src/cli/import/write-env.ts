import { chmodSync, existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { notPlain } from '../../config/plain-file.ts'
import type { Variable } from '../../import/secret-variables.ts'
import { replaceFile } from '../../store/file.ts'
import { readEnvText } from '../env-text.ts'

/** Outcome of writing an environment file, by names of variables. */
export interface WrittenEnv {
  file: string
  written: string[]
  /** Names that the file already contains; `differs`: with another value. */
  kept: { name: string; differs: boolean }[]
  /** Names whose values no such file can hold. */
  unwritable: string[]
}

/**
 * Adds the variables with known values to an environment file that only its owner can read. Existing values stay.
 * @throws Error if the file cannot be read or written
 */
export async function writeEnv(file: string, variables: readonly Variable[]): Promise<WrittenEnv> {
  const path = existsSync(file) ? realpathSync(file) : file
  const fault = existsSync(path) ? notPlain(file, statSync(path)) : undefined
  if (fault) throw fault
  let text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const before = readEnvText(text, file)
  const made: WrittenEnv = { file, written: [], kept: [], unwritable: [] }
  for (const { name, value } of variables) {
    if (value === undefined || value === '') continue
    const line = lineOf(name, value)
    // A name without a value is a place to fill in.
    if (before.get(name)) made.kept.push({ name, differs: before.get(name) !== value })
    else if (line === undefined) made.unwritable.push(name)
    else {
      const empty = new RegExp(`^${name}=[ \\t]*$`, 'm')
      if (empty.test(text)) text = text.replace(empty, () => line)
      else text += `${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`
      made.written.push(name)
    }
  }
  if (made.written.length > 0) await replaceFile(path, `${path}.${process.pid}.tmp`, [text], 0o600)
  else if (made.kept.length > 0) chmodSync(path, 0o600)
  return made
}

/** A line that is read as this value; undefined: none. */
function lineOf(name: string, value: string): string | undefined {
  if (/^[\w./:=+@%,~-]+$/.test(value)) return `${name}=${value}`
  const lost = { "'": /'|\r\n/, '"': /"|\\n|\r\n/, '`': /`|\r\n/ }
  const quote = Object.entries(lost).find(([, pattern]) => !pattern.test(value))?.[0]
  return quote && `${name}=${quote}${value}${quote}`
}
