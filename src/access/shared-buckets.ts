import type { RedisServer } from '../config/index.ts'
import { lastingConnection } from '../net/index.ts'
import { brokerError, brokerLabel, connectCluster, connectRedis } from '../notify/redis.ts'
import type { Logger } from '../telemetry/log.ts'
import { requirePackages } from '../text/packages.ts'
import type { SharedBuckets, Take } from './rate.ts'

/** Milliseconds allowed for a count, as the request waits for it. */
const ANSWER = 250
/** A Redis Cluster keeps keys with the same text in braces on one node, as a script requires. */
const PREFIX = '{plantgw:rate}:'

/**
 * `Buckets` in Redis, by the server's clock. KEYS store when each bucket is full again, in milliseconds; ARGV has
 * `interval` and `burst` of each. Redis writes numbers with 14 digits by default.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local full, waits, over = {}, {}, false
for i, key in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  full[i] = math.max(now, tonumber(redis.call('GET', key) or '0')) + interval
  local wait = full[i] - now - interval * burst
  if wait > 0.001 then over = true else wait = 0 end
  waits[i] = string.format('%.3f', wait)
end
if not over then
  for i, key in ipairs(KEYS) do
    redis.call('SET', key, string.format('%.3f', full[i]), 'PX', string.format('%.0f', full[i] - now + 1))
  end
end
return waits`

/** Counters that replicas share in Redis. It holds a connection, so close it. */
interface RedisBuckets extends SharedBuckets {
  close(): void
}

/**
 * Connects and reconnects automatically; meanwhile counts are unknown.
 * @throws Error if ioredis is not installed
 */
export function redisBuckets(settings: RedisServer, log: Logger): RedisBuckets {
  requirePackages('redis')
  const line = { redis: brokerLabel(settings) }
  const connection = lastingConnection({
    name: 'the Redis of rates',
    async connect(attempt, signal, lose) {
      const redis = await (settings.cluster_type === 'cluster'
        ? connectCluster(settings, signal)
        : connectRedis(settings, { attempt, signal }))
      redis.once('end', () => lose(new Error('the connection was closed')))
      return { redis, lose }
    },
    onUp: () => log.info(line, 'rates are counted together with the other replicas'),
    onDown: (error) =>
      log.error(
        { ...line, reason: brokerError(settings, error).message, ...(isMoved(error) && MOVED) },
        'rates are counted by this gateway alone: Redis does not answer; trying again',
      ),
  })

  async function take(takes: readonly Take[]): Promise<readonly number[] | undefined> {
    const own = connection.current()
    if (!own) return undefined
    const { redis, lose } = own
    const keys = takes.map(({ key }) => PREFIX + key)
    const flows = takes.flatMap(({ interval, burst }) => [interval, burst])
    let late: NodeJS.Timeout | undefined
    try {
      const silence = new Promise<never>((_, reject) => {
        late = setTimeout(() => reject(new Error(`no answer within ${ANSWER} ms`)), ANSWER)
      })
      const waits = await Promise.race([redis.eval(SCRIPT, keys.length, ...keys, ...flows), silence])
      return (waits as string[]).map(Number)
    } catch (error) {
      lose(error as Error)
      return undefined
    } finally {
      clearTimeout(late)
    }
  }

  return { take, close: connection.close }
}

const MOVED = { hint: 'This is a node of a Redis Cluster: write `cluster_type: cluster` in `redis`' }

/** Whether a Redis Cluster node refused keys of another node. */
function isMoved({ message }: Error): boolean {
  return message.startsWith('MOVED ')
}
