import { createRequire } from 'node:module'
import type { Dispatcher } from 'undici'
import type { Proxy as UpstreamProxy } from '../config/model.ts'
import { errorCode } from './failure.ts'
import type { Pools } from './types.ts'

/** Loaded for the first call: commands that only look at configurations make none. */
const undici = () => createRequire(import.meta.url)('undici') as typeof import('undici')

/** Origins may come from templates, so their number is bounded; the one longest unused is closed. */
const MAX_POOLS = 256
/**
 * Sockets of one origin; further calls wait for one, each within its own time-out. More than one caller may have calls
 * under way by default, so that the hung calls of one do not keep the others waiting.
 */
const MAX_SOCKETS = 1_200

/**
 * Connections to upstreams, kept alive between calls: one undici `Pool` for each origin, connect time-out and
 * proxy. They outlive a reload. At most 256 pools of 256 sockets; a pool that makes room finishes its calls.
 */
export function createPools(): Pools {
  const pools = new Map<string, { dispatcher: Dispatcher; used: number }>()
  const closing = new Set<Promise<void>>()
  let clock = 0

  function retire(key: string, dispatcher: Dispatcher): void {
    pools.delete(key)
    const closed = dispatcher.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  function makeRoom(): void {
    let oldest: [string, { dispatcher: Dispatcher; used: number }] | undefined
    for (const entry of pools) if (!oldest || entry[1].used < oldest[1].used) oldest = entry
    if (oldest) retire(oldest[0], oldest[1].dispatcher)
  }

  return {
    get(origin, connectTimeout, proxy) {
      const key = `${origin} ${connectTimeout}${proxy ? ` ${proxyUrl(proxy)}` : ''}`
      let entry = pools.get(key)
      if (!entry) {
        if (pools.size >= MAX_POOLS) makeRoom()
        entry = { dispatcher: open(origin, connectTimeout, proxy), used: 0 }
        pools.set(key, entry)
      }
      entry.used = ++clock
      return entry.dispatcher
    },
    async close() {
      for (const [key, { dispatcher }] of pools) retire(key, dispatcher)
      await Promise.all(closing)
    },
  }
}

function proxyUrl({ type, host, port }: UpstreamProxy): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return `${type}://${name}:${port}`
}

function open(origin: string, connectTimeout: number, proxy?: UpstreamProxy): Dispatcher {
  const { buildConnector, Pool, ProxyAgent, Socks5ProxyAgent } = undici()
  // The deadline of the call bounds headers and body together.
  const options = { connections: MAX_SOCKETS, headersTimeout: 0, bodyTimeout: 0 }
  const connect = { timeout: connectTimeout }
  if (!proxy) return new Pool(origin, { ...options, connect })
  const uri = proxyUrl(proxy)
  if (proxy.type !== 'socks5')
    return new ProxyAgent({ ...options, uri, proxyTls: connect, clientFactory: tunnelClient })
  return new Socks5ProxyAgent(uri, { ...options, connect: buildConnector(connect) })
}

/**
 * What asks a proxy for tunnels. One that hangs up looks to undici like an upstream that closed a kept-alive socket:
 * it would ask again at once, a thousand times a second, until the time of the call is over.
 */
function tunnelClient(proxy: URL, options: object): Dispatcher {
  const { Pool } = undici()
  const pool = new Pool(proxy, options)
  const connect = pool.connect.bind(pool) as (
    how: Dispatcher.ConnectOptions,
  ) => Promise<Dispatcher.ConnectData>
  return Object.assign(pool, {
    connect: async (how: Dispatcher.ConnectOptions) => {
      try {
        return await connect(how)
      } catch (error) {
        if (errorCode(error) !== 'UND_ERR_SOCKET') throw error
        throw new Error('The proxy closed the connection')
      }
    },
  }) as Dispatcher
}
