import type { Locate, Notifier, Path, ReadConfiguration, Settings, StorageSettings } from '../config/index.ts'
import { type Finding, type FindingCode, finding } from '../findings/index.ts'
import { readTls } from '../net/index.ts'
import { pidFault } from '../notify/pidfile.ts'
import { pingRedis } from '../notify/redis.ts'
import { faultHint } from '../store/fault-hint.ts'
import { installCommand } from '../text/packages.ts'

/** A text with the positions of its values. */
interface Place {
  file: string
  locate: Locate
}

/** Settings with the positions of their values. */
interface PlacedSettings extends Place {
  settings: Settings
}

/** A store or notifier, which may need packages and a server. */
interface Used {
  place: Place
  path: Path
  use: StorageSettings | NonNullable<Settings['plants']>['storage'] | Notifier
}

function usedOf(placed: PlacedSettings | undefined, configurations: readonly ReadConfiguration[]) {
  const { storage, plants, notifier } = placed?.settings ?? {}
  const used = (place: Place | undefined, path: Path, use: Used['use'] | undefined): Used[] =>
    place && use ? [{ place, path, use }] : []
  return [
    ...used(placed, ['storage'], storage),
    ...used(placed, ['plants', 'storage'], plants?.storage),
    ...used(placed, ['notifier'], notifier),
    ...configurations.flatMap((read) => used(read, ['notifier'], read.configuration?.notifier)),
  ]
}

const PID_HINT = 'Choose another path, or give the user of the gateway the right to write there'

/** Findings about this machine: the location of the pid file, and optional packages. */
export function machineFindings(
  placed: PlacedSettings | undefined,
  configurations: readonly ReadConfiguration[],
): Finding[] {
  const pid = placed?.settings.pid
  const fault = pid === undefined ? undefined : pidFault(pid)
  return [
    ...(placed && fault !== undefined ? [at(placed, 'pid-not-writable', ['pid'], fault, PID_HINT)] : []),
    ...(placed?.settings.tls
      ? readTls(placed.settings.tls).faults.map(({ member, message, hint }) =>
          at(placed, 'tls-file', ['tls', member], message, hint),
        )
      : []),
    ...otlpFindings(placed),
    ...usedOf(placed, configurations).flatMap(({ place, path, use: { type } }) => {
      const command = missing(type)
      return command === undefined ? [] : [missingPackage(place, [...path, 'type'], `\`${type}\``, command)]
    }),
  ]
}

function otlpFindings(placed: PlacedSettings | undefined): Finding[] {
  const { otlp } = placed?.settings.telemetry ?? {}
  if (!placed || !otlp) return []
  const json = process.env.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/json'
  const what = json ? 'OTLP over http/json' : 'OTLP over http/protobuf'
  const command = installCommand(what)
  return command === undefined ? [] : [missingPackage(placed, ['telemetry', 'otlp'], what, command)]
}

function missingPackage(place: Place, path: Path, what: string, command: string): Finding {
  const message = `${what} needs packages that are not installed beside plantgw`
  return at(place, 'missing-package', path, message, `Run \`${command}\``)
}

function missing(type: Used['use']['type']): string | undefined {
  return type === 'postgres' || type === 'mysql' || type === 'redis' ? installCommand(type) : undefined
}

/** Checks whether a server or file is usable, and names the member at fault. */
interface Question {
  /** Equal for the same server. */
  key: string
  code: FindingCode
  member: Path
  ask(): Promise<void>
}

/**
 * Checks that the database servers and brokers of settings and configurations accept connections from this machine.
 * Each is connected to once, with login and a harmless request; nothing is written.
 */
export async function connectionFindings(
  placed: PlacedSettings | undefined,
  configurations: readonly ReadConfiguration[],
): Promise<Finding[]> {
  const asked = new Map<string, Promise<Error | undefined>>()
  const readable = configurations.filter(({ isRepaired }) => !isRepaired(['notifier']))
  const found = usedOf(placed, readable).map(async ({ place, path, use }) => {
    const question = questionOf(use, path)
    // Missing packages are reported as `missing-package`.
    if (!question || missing(use.type) !== undefined) return []
    const { key, code, member, ask } = question
    const answer = asked.get(key) ?? ask().then(() => undefined, asError)
    asked.set(key, answer)
    const fault = await answer
    if (fault === undefined) return []
    const hint = faultHint(fault) ?? 'Try it by hand from this machine, with the same address and user'
    return [at(place, code, [...path, ...member], fault.message, 'file' in use ? undefined : hint)]
  })
  return (await Promise.all(found)).flat()
}

function questionOf(use: Used['use'], path: Path): Question | undefined {
  if ('redis' in use && use.redis && use.type === 'redis') {
    const { redis } = use
    const ask = () => pingRedis(redis)
    return { key: JSON.stringify(redis), code: 'broker-unreachable', member: ['redis', 'addr'], ask }
  }
  const code = 'database-unreachable'
  if ('url' in use && use.url !== undefined) {
    const { type, url } = use
    const ask = async () => (await import('../store/database.ts')).ping(type, url)
    return { key: `${type} ${url}`, code, member: ['url'], ask }
  }
  if (!('file' in use) || path.length > 1) return undefined
  return { key: JSON.stringify(use), code, member: ['file'], ask: () => readFileStore(use) }
}

/** A missing file is not created. */
async function readFileStore(storage: StorageSettings): Promise<void> {
  const { openStore } = await import('../store/index.ts')
  const store = await openStore(storage, {})
  try {
    await store.revision()
  } finally {
    await store.close()
  }
}

function asError(error: unknown): Error {
  return error as Error
}

/** A finding at a position of settings or of a configuration. */
function at({ file, locate }: Place, code: FindingCode, path: Path, message: string, hint?: string): Finding {
  const range = locate(path) ?? locate.key(path)
  return finding(code, file, message, { ...(range && { range }), ...(hint !== undefined && { hint }) })
}
