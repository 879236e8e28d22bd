import type { Locate, Path, ReadConfiguration, RedisSettings, Settings } from '../config/index.ts'
import { type DatabaseType, ping } from '../durable/database.ts'
import { type Finding, type FindingCode, finding } from '../findings/index.ts'
import { pidFault } from '../notify/pidfile.ts'
import { askRedis } from '../notify/redis.ts'

/** Settings that were read, and where what they say stands. */
export interface PlacedSettings {
  settings: Settings
  file: string
  locate: Locate
}

/** Whether the pid file of the settings can be written. Nothing is written. */
export function pidFindings(placed: PlacedSettings): Finding[] {
  const { pid } = placed.settings
  const fault = pid === undefined ? undefined : pidFault(pid)
  return fault === undefined ? [] : [at(placed, 'pid-not-writable', ['pid'], fault)]
}

/**
 * Whether the database servers and brokers of the settings, and the brokers of the configurations, let this machine in.
 * Each is connected to once, logged in to, and asked something harmless; nothing is made or written.
 */
export async function connectionFindings(
  placed: PlacedSettings | undefined,
  configurations: readonly ReadConfiguration[],
): Promise<Finding[]> {
  const asked = new Map<string, Promise<string | undefined>>()
  const once = (key: string, ask: () => Promise<void>) => {
    const known = asked.get(key) ?? ask().then(() => undefined, messageOf)
    asked.set(key, known)
    return known
  }
  const found: Promise<Finding[]>[] = []
  const database = (place: PlacedSettings, type: DatabaseType, url: string, path: Path) =>
    found.push(
      once(`${type} ${url}`, () => ping(type, url)).then((fault) =>
        fault === undefined ? [] : [at(place, 'database-unreachable', path, fault)],
      ),
    )
  const broker = (place: Pick<PlacedSettings, 'file' | 'locate'>, redis: RedisSettings) =>
    found.push(
      once(JSON.stringify(redis), () => askRedis(redis)).then((fault) =>
        fault === undefined ? [] : [at(place, 'broker-unreachable', ['notifier', 'redis', 'addr'], fault)],
      ),
    )
  if (placed) {
    const { storage, plants, notifier } = placed.settings
    if (storage && 'url' in storage) database(placed, storage.type, storage.url, ['storage', 'url'])
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

function at(
  { file, locate }: Pick<PlacedSettings, 'file' | 'locate'>,
  code: FindingCode,
  path: Path,
  message: string,
): Finding {
  const range = locate(path) ?? locate.key(path)
  return finding(code, file, message, range && { range })
}

function messageOf(error: unknown): string {
  return (error as Error).message
}
