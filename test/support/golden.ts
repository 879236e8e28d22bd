import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const EXPECTED = '# ---- expected\n'

/**
 * The files of a folder: each holds an input and, below `# ---- expected`, the text that its findings print.
 * `UPDATE_GOLDEN=1` writes that text; read the difference before committing.
 */
export function goldenFiles(folder: URL) {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const file = new URL(name, folder)
      const [input, expected] = readFileSync(file, 'utf8').split(EXPECTED) as [string, string?]
      const compare = (actual: string) => {
        if (process.env.UPDATE_GOLDEN) writeFileSync(file, `${input}${EXPECTED}${actual}`)
        else assert.equal(actual, expected)
      }
      return { name, input, compare }
    })
}
