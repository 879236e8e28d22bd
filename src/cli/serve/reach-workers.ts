import { type AddressInfo, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import type { DestinationStream } from 'pino'
import { connectionCount } from '../../access/connection-limits.ts'
import { networkOf } from '../../access/quota.ts'
import type { Settings } from '../../config/index.ts'
import type { Gateway } from '../../server/gateway.ts'
import type { Logger } from '../../telemetry/log.ts'
import { OWN_BIN } from '../own-command.ts'
import { type DrainLimits, shutServer } from './drain.ts'
import { bind } from './listener.ts'
import { watchOpenFiles } from './open-files.ts'
import { WORKER_COMMAND } from './worker.ts'
import { Pool } from './workers.ts'

/** How many processes serve. */
export function workerCount({ workers }: Pick<Settings, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : Number(workers)
}

export interface PoolParts {
  settings: Settings
  version: string
  log: Logger
  /** Takes what workers log, as lines of JSON. */
  stream: DestinationStream
}

/** The workers of a gateway, none of which is started yet. */
export function openPool({ settings, version, log, stream }: PoolParts): Pool {
  const count = workerCount(settings)
  return new Pool({
    count,
    settings: { ...settings, workers: String(count) },
    version,
    log,
    command: [OWN_BIN, WORKER_COMMAND],
    onLine(line) {
      // Lines of JSON are of the log; what else a process writes goes out as it is.
      if (line.startsWith('{"level":')) stream.write(`${line}\n`)
      else if (line) process.stderr.write(`${line}\n`)
    },
  })
}

/** What listens for clients. */
export interface Listening {
  address: AddressInfo
  port: number
  /** Resolves when what was under way has ended. */
  drain(limits: DrainLimits): Promise<void>
}

/** Takes connections for the workers at the address of the settings, within the limits of connections. */
export async function listenForPool(
  pool: Pool,
  gateway: Gateway,
  settings: Settings,
  what: string,
  log: Logger,
): Promise<Listening> {
  const { limits, tls } = settings
  const count = connectionCount(limits, tls !== undefined)
  let connections = 0
  let last = 0
  const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }, (socket) => {
    const address = networkOf(socket.remoteAddress ?? '')
    const place = count.add(address)
    connections++
    const id = ++last
    socket.on('error', () => {})
    const end = () => {
      connections--
      count.remove(address)
    }
    if (place === 'beyond') {
      end()
      socket.destroy()
    } else pool.give(socket, { id, surplus: place === 'surplus' }, end)
  })
  await bind(server, settings, limits, what)
  watchOpenFiles(server, () => connections, log)
  const address = server.address() as AddressInfo
  pool.ownAddress(address)
  const drainAll = (limits: DrainLimits) => {
    gateway.beginDrain()
    return pool.drain(limits)
  }
  pool.closeListener = async () => void (await shutServer(server))
  return { address, port: address.port, drain: drainAll }
}
