import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CORPUS = join(import.meta.dirname, 'corpus')

/** The inputs that are kept for a target, in the order of their file names. */
export function readCorpus(target: string): string[] {
  const folder = join(CORPUS, target)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map((name) => readInput(join(folder, name)))
}

/** An input of a file: its text, or the text that a `.string` file holds as one JSON string. */
export function readInput(file: string): string {
  const text = readFileSync(file, 'utf8')
  return file.endsWith('.string') ? JSON.parse(text) : text
}

/** Writes an input to a folder: as it is, or as a JSON string where UTF-8 cannot hold it. @returns the file */
export function writeInput(folder: string, input: string): string {
  mkdirSync(folder, { recursive: true })
  const name = createHash('sha256').update(JSON.stringify(input)).digest('hex').slice(0, 12)
  const plain = Buffer.from(input).toString() === input && !input.includes('\r')
  const file = join(folder, plain ? name : `${name}.string`)
  writeFileSync(file, plain ? input : JSON.stringify(input))
  return file
}
