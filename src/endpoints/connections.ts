import type { Path, ReadConfiguration, RedisSettings } from '../config/index.ts'
import { type DatabaseType, ping } from '../durable/database.ts'
import type { Finding } from '../findings/index.ts'
import { askRedis } from '../notify/redis.ts'
import { at, type PlacedSettings } from './pid.ts'

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

function messageOf(error: unknown): string {
  return (error as Error).message
}
