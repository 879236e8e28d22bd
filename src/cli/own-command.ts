import { existsSync, readFileSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellWord } from '../text/index.ts'

/** The folder of this package, at the same relative path from src/cli, dist/cli and dist/bin. */
const OWN = fileURLToPath(new URL('../..', import.meta.url))
/** The script that starts another process of this package. */
export const OWN_BIN = join(OWN, 'bin/plantgw.js')
const isInstalled = OWN.includes(`${sep}node_modules${sep}`)

/** The package as installed in a project or above it; undefined: it runs from elsewhere. */
export function installedFor(root: string): string | undefined {
  if (!isInstalled) return undefined
  for (let base = resolve(root); ; base = resolve(base, '..')) {
    const path = join(base, 'node_modules/plantgw')
    if (existsSync(join(path, 'schemas'))) return path
    if (base === resolve(base, '..')) return undefined
  }
}

/**
 * How users run this command again: `npx plantgw` in a project or with npx; `node bin/plantgw.js` in a clone, unless
 * linked by `npm link`.
 */
export function ownCommand(root: string): string {
  if (installedFor(root) !== undefined || process.env.npm_command === 'exec') return 'npx plantgw'
  if (isInstalled || basename(process.argv[1] ?? '') === 'plantgw') return 'plantgw'
  const here = relative('.', OWN_BIN)
  return `node ${shellWord(here.startsWith('..') ? OWN_BIN : here)}`
}

export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version
