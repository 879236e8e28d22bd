import { createRequire } from 'node:module'

type Undici = typeof import('undici')

const load = createRequire(import.meta.url)

/**
 * Pools of connections, loaded for the first request: commands that only look at configurations make none. The rest of
 * undici, such as `fetch`, takes 14 MiB on Node 24, 8 on Node 20. Its version is pinned, as these paths are its own.
 */
export const pools = () => ({
  Pool: load('undici/lib/dispatcher/pool.js') as Undici['Pool'],
  buildConnector: load('undici/lib/core/connect.js') as Undici['buildConnector'],
})

/** Agents of proxies, which ask pools for methods that the package as a whole adds to them. */
export const agents = () => load('undici') as Pick<Undici, 'ProxyAgent' | 'Socks5ProxyAgent'>
