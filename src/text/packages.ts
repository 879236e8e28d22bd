/** Optional packages by purpose, some with a version range: loaded if a setting needs them, installed beside plantgw. */
const PACKAGES = {
  postgres: ['pg', 'kysely'],
  mysql: ['mysql2', 'kysely'],
  redis: ['ioredis'],
  'OTLP over http/protobuf': otlp('proto'),
  'OTLP over http/json': otlp('http'),
} as const

/** Versions that work together, and on each Node version that plantgw supports. */
function otlp(encoding: string): readonly string[] {
  const exporters = ['metrics', 'trace'].map((signal) => `exporter-${signal}-otlp-${encoding}@^0.223.0`)
  const sdk = ['sdk-metrics', 'sdk-trace', 'resources'].map((name) => `${name}@^2.12.0`)
  return [...sdk, ...exporters].map((name) => `@opentelemetry/${name}`)
}

type PackageUse = keyof typeof PACKAGES

/** `npm install …` with the packages that are missing for it; undefined when all are installed. */
export function installCommand(what: PackageUse): string | undefined {
  const missing = (PACKAGES[what] as readonly string[]).filter((name) => !isInstalled(name))
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
    import.meta.resolve(name.replace(/(?<=.)@.*/, ''))
    return true
  } catch {
    return false
  }
}
