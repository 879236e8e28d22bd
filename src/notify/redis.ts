import { isIP } from 'node:net'
import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { parseAddresses, type RedisServer, type RedisSettings } from '../config/index.ts'
import { type Guard, judgedAddress } from '../net/index.ts'
import { requirePackages } from '../text/packages.ts'

/** Maximum milliseconds to connect, and to wait for the answer to a command. */
const TIMEOUT = 5_000

/** A broker cannot be reached. The message holds its address and the reason, no credentials. */
class BrokerError extends Error {
  override name = 'BrokerError'
}

/** Such as `redis://localhost:6379`, without credentials. */
export function brokerLabel({ addr, tls }: RedisServer | RedisSettings): string {
  return `${tls ? 'rediss' : 'redis'}://${addr.replaceAll(/\s/g, '')}`
}

interface ConnectOptions {
  /** Index of the address to try first, modulo their number. Default 0. */
  attempt?: number
  /** Checks each address; absent: every address is allowed. */
  guard?: Guard | undefined
  /** Ends the connection, or the attempt to connect. */
  signal?: AbortSignal
}

/**
 * One connection, which does not reconnect. It suffices for messages in a Redis Cluster, because each node forwards
 * them to all others (https://redis.io/docs/latest/develop/pubsub/).
 * @throws BrokerError; NetFault for an address that `guard` refuses; Error when ioredis is not installed
 */
export async function connectRedis(
  settings: RedisServer | RedisSettings,
  { attempt = 0, guard, signal }: ConnectOptions = {},
): Promise<Redis> {
  requirePackages('redis')
  const { Redis } = await import('ioredis')
  const named = parseAddresses(settings.addr) ?? []
  const turn = attempt % named.length
  const first = named[turn]
  if (!first) throw new BrokerError(`${settings.addr} is not \`host:port\``)
  const { tls } = settings
  const options: RedisOptions = {
    ...optionsOf(settings),
    lazyConnect: true,
    retryStrategy: () => null,
    enableOfflineQueue: true,
    autoResubscribe: false,
    ...(tls && { tls: { servername: first.host } }),
  }
  const addresses = guard ? await Promise.all(named.map((one) => judgedAddress(guard, one))) : named
  const redis =
    settings.cluster_type === 'sentinel'
      ? new Redis({
          ...options,
          sentinels: [...addresses.slice(turn), ...addresses.slice(0, turn)],
          name: settings.master_name,
          sentinelRetryStrategy: () => null,
          sentinelCommandTimeout: TIMEOUT,
          ...(guard && { natMap: judgingMasters(guard) }),
          ...(tls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
        })
      : new Redis({ ...options, ...addresses[turn] })
  return connected(redis, settings, signal)
}

/**
 * Connections to the nodes of a Redis Cluster, for reading and writing keys, as each node holds a part of them.
 * @throws BrokerError; Error when ioredis is not installed
 */
export async function connectCluster(settings: RedisServer, signal?: AbortSignal): Promise<Cluster> {
  requirePackages('redis')
  const { Cluster } = await import('ioredis')
  const nodes = parseAddresses(settings.addr) ?? []
  const cluster = new Cluster(nodes, {
    lazyConnect: true,
    clusterRetryStrategy: () => null,
    slotsRefreshTimeout: TIMEOUT,
    // Certificates may hold the name that a node announces, not its address.
    dnsLookup: (address, callback) => callback(null, address),
    redisOptions: { ...optionsOf(settings), ...(settings.tls && { tls: {} }) },
  })
  return connected(cluster, settings, signal)
}

async function connected<Client extends Redis | Cluster>(
  redis: Client,
  settings: RedisServer | RedisSettings,
  signal?: AbortSignal,
): Promise<Client> {
  const end = () => redis.disconnect()
  let broken: Error | undefined
  redis.on('error', (error: Error & { lastNodeError?: Error }) => {
    broken = error.lastNodeError ?? error
  })
  try {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', end)
    await redis.connect()
    // Only the first command reports a wrong password.
    await redis.ping()
    return redis
  } catch (error) {
    signal?.removeEventListener('abort', end)
    redis.disconnect()
    throw brokerError(settings, broken ?? (error as Error))
  }
}

/** Checks the masters that sentinels name. @throws NetFault for a refused one */
function judgingMasters(guard: Guard): (at: string) => null {
  return (at) => {
    const [, host = '', port = ''] = /^(.*):(\d+)$/s.exec(at) ?? []
    const denied = isIP(host) ? guard.judge(host, host, Number(port)) : guard.judgeLocal(host, Number(port))
    if (denied) throw guard.refuse(denied, host, at)
    return null
  }
}

/** Options of every connection. */
function optionsOf({ username, password }: RedisServer | RedisSettings): RedisOptions {
  return {
    connectionName: 'plantgw',
    connectTimeout: TIMEOUT,
    commandTimeout: TIMEOUT,
    // Milliseconds to wait until the server closes the connection as well, which a hanging server never does.
    disconnectTimeout: 100,
    // The check sends INFO, which an ACL may forbid.
    enableReadyCheck: false,
    disableClientInfo: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  }
}

export function brokerError(settings: RedisServer | RedisSettings, error: Error): BrokerError {
  if (error instanceof BrokerError) return error
  const cause = error instanceof AggregateError ? (error.errors[0] as Error) : error
  return new BrokerError(`${brokerLabel(settings)}: ${cause.message || error.name}`, { cause: error })
}

/**
 * Publishes a message to the current subscribers.
 * @param guard checks each address; absent: every address is allowed
 * @throws BrokerError when no address answers; NetFault for an address that `guard` refuses
 */
export async function publish(settings: RedisSettings, text: string, guard?: Guard): Promise<void> {
  const addresses = settings.cluster_type === 'cluster' ? (parseAddresses(settings.addr) ?? []).length : 1
  for (let attempt = 0; ; attempt++) {
    let redis: Redis
    try {
      redis = await connectRedis(settings, { attempt, guard })
    } catch (error) {
      if (attempt + 1 < addresses) continue
      throw error
    }
    try {
      await redis.publish(settings.topic, text)
      return
    } catch (error) {
      throw brokerError(settings, error as Error)
    } finally {
      redis.disconnect()
    }
  }
}

/**
 * Connects, logs in and subscribes to the topic for a moment. Publishes nothing.
 * @throws BrokerError
 */
export async function pingRedis(settings: RedisSettings): Promise<void> {
  const redis = await connectRedis(settings)
  try {
    await redis.subscribe(settings.topic)
  } catch (error) {
    throw brokerError(settings, error as Error)
  } finally {
    redis.disconnect()
  }
}
