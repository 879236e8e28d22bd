import type { Path, ReadConfiguration, RedisSettings, StorageSettings } from '../config/index.ts'
import type { DatabaseType } from '../durable/database.ts'
import { installCommand } from '../durable/packages.ts'
import type { Finding } from '../findings/index.ts'
import { askRedis } from '../notify/redis.ts'
import { openStore } from '../store/index.ts'
import { at, type PlacedSettings } from './pid.ts'

/**
 * Whether the database servers and brokers of the settings, and the brokers of the configurations, let this machine in.
 * Each is connected to once, logged in to, and asked something harmless; nothing is made or written.
 */
export async function connectionFindings(
  placed: PlacedSettings | undefined,
  configurations: readonly ReadConfiguration[],
): Promise<Finding[]> {
  const asked = new Map<string, Promise<Error | undefined>>()
  const once = (key: string, ask: () => Promise<void>) => {
    const known = asked.get(key) ?? ask().then(() => undefined, asError)
    asked.set(key, known)
    return known
  }
  const found: Promise<Finding[]>[] = []
  const database = (place: PlacedSettings, type: DatabaseType, url: string, path: Path) =>
    found.push(
      once(`${type} ${url}`, () => askDatabase(type, url)).then((fault) =>
        fault === undefined ? [] : [at(place, 'database-unreachable', path, fault.message, hintOf(fault))],
      ),
    )
  const broker = (place: Pick<PlacedSettings, 'file' | 'locate'>, redis: RedisSettings) =>
    found.push(
      once(JSON.stringify(redis), async () => {
        if (installCommand('redis') === undefined) await askRedis(redis)
      }).then((fault) =>
        fault === undefined
          ? []
          : [at(place, 'broker-unreachable', ['notifier', 'redis', 'addr'], fault.message, hintOf(fault))],
      ),
    )
  if (placed) {
    const { storage, plants, notifier } = placed.settings
    if (storage && 'url' in storage) database(placed, storage.type, storage.url, ['storage', 'url'])
    if (storage?.type === 'lowdb')
      found.push(
        readFileStore(storage).then(
          () => [],
          (error) => [at(placed, 'database-unreachable', ['storage', 'file'], asError(error).message)],
        ),
      )
    if (plants && 'url' in plants.storage)
      database(placed, plants.storage.type, plants.storage.url, ['plants', 'storage', 'url'])
    if (notifier?.redis && notifier.type === 'redis') broker(placed, notifier.redis)
  }
  for (const read of configurations) {
    const { type, redis } = read.configuration?.notifier ?? {}
    if (type === 'redis' && redis && !read.doubtful(['notifier'])) broker(read, redis)
  }
  return (await Promise.all(found)).flat()
}

async function askDatabase(type: DatabaseType, url: string): Promise<void> {
  // Reported as `missing-package`.
  if (installCommand(type) !== undefined) return
  const { ping } = await import('../durable/database.ts')
  await ping(type, url)
}

/** Nothing is made where there is no file yet. */
async function readFileStore(storage: StorageSettings): Promise<void> {
  const store = await openStore(storage, {})
  try {
    await store.revision()
  } finally {
    await store.close()
  }
}

/** What to look at first, by the code or the text of the system, the server or its client. */
const HINTS: readonly [RegExp, string][] = [
  [/ECONNREFUSED/, 'Start the server, or correct host and port: nothing listens there'],
  [/ENOTFOUND|EAI_AGAIN/, 'Check the spelling of the host, and the DNS and VPN of this machine'],
  [/database .{0,200}does not exist|Unknown database/i, 'Create the database, or correct its name'],
  [
    /\b(?:role|password|Access denied|authentication|WRONGPASS|NOAUTH|NOPERM|pg_hba)\b/i,
    'Check user, password and what the user may do',
  ],
  [
    /time-?out|timed out|ETIMEDOUT|in time/i,
    'Check host and port, firewalls on the way, and what listens there',
  ],
  [/certificate|SSL|TLS/i, 'Check whether the server speaks TLS, and that its certificate is trusted here'],
]

/** The text of the first cause is the system's, the server's or its driver's, and none of ours. */
function hintOf(fault: Error): string {
  const { message, code = '' } = firstCause(fault) as NodeJS.ErrnoException
  return (
    HINTS.find(([said]) => said.test(code) || said.test(message))?.[1] ??
    'Try it by hand from this machine, with the same address and user'
  )
}

function firstCause(error: Error): Error {
  return error.cause instanceof Error ? firstCause(error.cause) : error
}

function asError(error: unknown): Error {
  return error as Error
}
