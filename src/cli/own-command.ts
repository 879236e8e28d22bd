import { existsSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The package as it is installed in a project, or above it; undefined: it runs from somewhere else. */
export function installedFor(root: string): string | undefined {
  // The folder is at the same place seen from src/cli, dist/cli and dist/bin.
  const own = fileURLToPath(new URL('../..', import.meta.url))
  if (!own.includes(`${sep}node_modules${sep}`)) return undefined
  for (let base = resolve(root); ; base = resolve(base, '..')) {
    const path = join(base, 'node_modules/plantgw')
    if (existsSync(join(path, 'schemas'))) return path
    if (base === resolve(base, '..')) return undefined
  }
}

/** How people run this command again: `npx plantgw` where it belongs to a project, or to one run of npx. */
export function ownCommand(root: string): string {
  const isOnPath = installedFor(root) === undefined && process.env.npm_command !== 'exec'
  return isOnPath ? 'plantgw' : 'npx plantgw'
}
