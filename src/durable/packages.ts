/** Optional packages by what they are for: loaded only where a setting names it, and installed beside plantgw. */
const PACKAGES = {
  postgres: ['pg', 'kysely'],
  mysql: ['mysql2', 'kysely'],
  redis: ['ioredis'],
} as const

export type PackageUse = keyof typeof PACKAGES

/** `npm install …` with the packages that are missing for it; undefined when all are installed. */
export function installCommand(what: PackageUse): string | undefined {
  const missing = PACKAGES[what].filter((name) => !isInstalled(name))
  return missing.length > 0 ? `npm install ${missing.join(' ')}` : undefined
}

/** @throws Error that says what to install */
export function requirePackages(what: PackageUse): void {
  const command = installCommand(what)
  if (command !== undefined)
    throw new Error(`${what} needs packages that are not installed beside plantgw: run \`${command}\``)
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
