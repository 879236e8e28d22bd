import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'

/** Milliseconds to install the packages of one file. */
const TIMEOUT = 600_000

/** `@scope/name` of `@scope/name@1.2.3`. */
export const packageOf = (spec: string) => spec.slice(0, spec.lastIndexOf('@'))

/** A folder for packages of npm, for the tests of one file. They never become dependencies of the project. */
export function npmFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-reality-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return {
    folder,
    /** @param specs `name@version` each @returns why npm cannot install them, `''` otherwise */
    async install(specs: readonly string[]): Promise<string> {
      writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps']
      return promisify(execFile)('npm', ['install', ...options, ...specs], {
        cwd: folder,
        timeout: TIMEOUT,
      }).then(
        () => '',
        (error: Error & { stderr?: string }) =>
          `npm cannot install the packages: ${(error.stderr || error.message).slice(0, 300)}`,
      )
    },
    /** The file of the first program that a package names. */
    programOf(spec: string): string {
      const root = join(folder, 'node_modules', packageOf(spec))
      const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      const program = typeof bin === 'string' ? bin : Object.values(bin)[0]
      return join(root, String(program))
    },
  }
}
