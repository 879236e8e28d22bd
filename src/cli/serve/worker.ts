import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Command } from 'commander'
import type { Guarded } from '../../access/connection-limits.ts'
import { HOP_HEADER } from '../../cluster/index.ts'
import { createWorkerCluster, type WorkerCluster } from '../../cluster/workers.ts'
import type { Settings } from '../../config/index.ts'
import { isPlantsPath } from '../../plants/index.ts'
import { isAdminRoute } from '../../server/admin-routes.ts'
import { createGateway, type Gateway } from '../../server/gateway.ts'
import type { Shared } from '../../server/workers.ts'
import { createLog } from '../../telemetry/log.ts'
import { watchEventLoop } from '../../telemetry/loop-delay.ts'
import { catchUnexpected } from '../../telemetry/unexpected.ts'
import type { ListChange } from '../../upstream/index.ts'
import { type Beginning, batched, Channel, type ParentHandlers, type WorkerHandlers } from './channel.ts'
import { drain } from './drain.ts'
import { answerBy, serveApp } from './listener.ts'
import { watchOpenFiles } from './open-files.ts'
import { askPage } from './passed-pages.ts'
import { ServedSources } from './served-sources.ts'
import { openTls } from './tls.ts'
import { callHandlers } from './worker-calls.ts'

/** Arguments of the command with which `serve` starts a worker. */
export const WORKER_COMMAND = 'worker'

/** Milliseconds between two looks whether the last connection has ended. */
const LOOK = 20

/** Signals to the process group are for the parent. */
const NOT_FOR_WORKERS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const

export function workerCommand(): Command {
  return (
    new Command(WORKER_COMMAND)
      .description('Serve as one of the workers of `plantgw serve`, which starts it.')
      // Calls that are under way would keep the process running.
      .action(async () => process.exit(await work()))
  )
}

type Running = Awaited<ReturnType<typeof begin>>

/** Serves until the parent closes the channel. @returns the exit code */
async function work(): Promise<number> {
  if (!process.send) throw new Error('only `plantgw serve` starts workers')
  for (const signal of NOT_FOR_WORKERS) process.on(signal, () => {})
  let running: Running | undefined
  let isEnding = false
  const handlers: Pick<WorkerHandlers, 'begin' | 'beat' | 'drain'> = {
    async begin(beginning) {
      running = await begin(channel, beginning)
      // From now on, the gateway answers the parent.
      Object.assign(handlers, running.handlers)
      return running.origin
    },
    beat: () => {},
    async drain(limits) {
      isEnding = true
      await running?.drain(limits)
    },
  }
  const channel: Channel<ParentHandlers> = new Channel(process, handlers)
  const ended = new Promise<number>((resolve) => {
    process.once('disconnect', () => (isEnding ? resolve(0) : endAtOnce(running)))
  })
  channel.note('hello', undefined)
  return ended
}

/** The parent is gone: clients must not take this process for a gateway, so its connections end first. */
function endAtOnce(running: Running | undefined): void {
  for (const socket of running?.connections.keys() ?? []) socket.destroy()
  // Earlier listeners have killed the children. SIGKILL skips what Node clears up, which takes longer than a call.
  process.once('exit', () => process.kill(process.pid, 'SIGKILL'))
  process.exit(1)
}

async function begin(channel: Channel<ParentHandlers>, beginning: Beginning) {
  const { worker, version, served } = beginning
  const settings = settingsOf(beginning.settings)
  const log = (await createLog({ ...settings.logger, format: 'json' })).child({ worker })
  catchUnexpected(log)
  const tls = settings.tls && openTls(settings.tls, log)
  const inner = await listenForWorkers()
  const { shared, cluster, listChanged } = sharedParts(channel, beginning, inner.origin)
  const sources = new ServedSources(served)
  const { gateway, findings } = await createGateway({
    paths: sources.source,
    settings,
    env: served.env,
    readEnv: () => sources.served.env,
    log,
    version,
    shared,
  })
  const [fault] = findings.filter(({ severity }) => severity === 'error')
  if (!gateway) throw new Error(`${fault?.file}: ${fault?.message}`)
  inner.serve(gateway, cluster())
  const unwatch = watchEventLoop(log, gateway.onLoopDelay)
  const surplus = new WeakSet<Socket>()
  const guarded = serveApp(gateway.app, settings.limits, tls, surplus)
  const { server, connections } = guarded
  // Node counts the time of requests from then on; connections come through the channel.
  server.emit('listening')
  watchOpenFiles(server, () => connections.size, log)
  const startedAt = new Date().toISOString()
  const handlers: Omit<WorkerHandlers, 'begin' | 'beat' | 'drain'> = {
    ...gatewayHandlers(gateway, sources),
    ...callHandlers(gateway.console.source, channel),
    peers: (workers) => cluster().follow(workers),
    met: (address) => cluster().learn(address),
    listChanged,
    connection: taker(channel, server, surplus),
    status: () => ({
      worker,
      pid: process.pid,
      startedAt,
      connections: connections.size,
      ...gateway.serving(),
    }),
    renewTls: () => tls?.refresh(),
    async end() {
      await gateway.close()
      unwatch()
      inner.close()
      log.flush?.()
      return gateway.counted()
    },
  }
  const shut = async () => {
    await channel.ask('closeListener', undefined)
    return { closed: noneLeft(connections) }
  }
  return {
    origin: inner.origin,
    connections,
    handlers,
    drain: (limits: Parameters<WorkerHandlers['drain']>[0]) => drain(guarded, gateway, limits, shut),
  }
}

function gatewayHandlers(
  gateway: Gateway,
  sources: ServedSources,
): Pick<WorkerHandlers, 'startServers' | 'ownAddress' | 'reload' | 'announce' | 'counted'> {
  let announce: (() => void) | undefined
  return {
    startServers: () => gateway.startServers(),
    ownAddress: (address) => gateway.ownAddresses.add(address),
    async reload(change) {
      const before = sources.served
      sources.change(change)
      try {
        // Other configurations stay, even if files that they name have changed: the parent has not read them again.
        const made = await gateway.prepare(new Set([...change.changed.keys(), ...change.removed]))
        made.commit()
        announce = made.follow
        const { refused, findings } = made.result
        return { refused, findings }
      } catch (error) {
        sources.served = before
        throw error
      }
    },
    announce() {
      announce?.()
      announce = undefined
    },
    counted: () => gateway.counted(),
  }
}

/** A worker opens nothing that the parent has for all of them. */
function settingsOf(all: Settings): Settings {
  const { storage: _, notifier: __, pid: ___, ...rest } = all
  const { telemetry } = rest
  // A collector takes metrics of several processes of one name for one that restarts, so the parent sends their sum.
  const signals = telemetry?.otlp.signals.filter((signal) => signal !== 'metrics')
  return {
    ...rest,
    ...(telemetry && signals && { telemetry: { ...telemetry, otlp: { ...telemetry.otlp, signals } } }),
  }
}

/** State that a worker shares with the others. */
function sharedParts(
  channel: Channel<ParentHandlers>,
  { worker, settings, sealSecrets, secret, run }: Beginning,
  origin: string,
) {
  const { cluster: replicas, limits, plants } = settings
  let cluster: WorkerCluster | undefined
  let listener: (change: ListChange) => void = () => {}
  const isPlants = plants ? isPlantsPath(plants.basePath) : () => false
  const shared: Shared = {
    cluster(onForeign) {
      const { connectTimeout } = limits
      const onMet = (address: string) => channel.ask('met', address)
      const of = { origin, secret, run, sealSecrets, cluster: replicas, connectTimeout, onForeign, onMet }
      cluster = createWorkerCluster(of)
      return cluster
    },
    sealSecrets,
    share: { worker, workers: Number(settings.workers) },
    otherWorkers: {
      tell: (change) => channel.note('listChanged', change),
      follow(then) {
        listener = then
      },
    },
    elsewhere: async (c) =>
      isAdminRoute(c.req.path) || isPlants(c.req.path) ? askPage(c, channel) : undefined,
  }
  return {
    shared,
    /** Once there is a gateway. */
    cluster: () => cluster as WorkerCluster,
    listChanged: (change: ListChange) => listener(change),
  }
}

/** Takes connections that the parent has accepted. */
function taker(
  channel: Channel<ParentHandlers>,
  server: Guarded['server'],
  surplus: WeakSet<Socket>,
): WorkerHandlers['connection'] {
  const end = batched((ended: number[]) => channel.note('closed', ended))
  return ({ id, surplus: isSurplus }, handle) => {
    const socket = handle as Socket | undefined
    // The connection ended on the way, or this process has no file descriptor left.
    if (!socket) return end(id)
    // Accepted before it is read, as the parent gives unaccepted connections to another worker.
    channel.note('taken', id)
    // A client may end its side after the request, as at a listener.
    socket.allowHalfOpen = true
    socket.once('close', () => end(id))
    if (isSurplus) surplus.add(socket)
    server.emit('connection', socket)
  }
}

async function noneLeft(connections: Guarded['connections']): Promise<void> {
  while (connections.size) await pause(LOOK)
}

/** Listens on the loopback interface for signed requests of the other workers. */
async function listenForWorkers() {
  let serve: RequestListener = (_, response) => response.destroy()
  const server: Server = createServer((request, response) => serve(request, response))
  server.keepAliveTimeout = 75_000
  server.requestTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: 0, host: '127.0.0.1' }, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    serve({ app }: Gateway, cluster: WorkerCluster) {
      const handle = answerBy(app)
      serve = (request, response) => {
        const { headers, method = '', url = '' } = request
        const received = cluster.receive(String(headers[HOP_HEADER] ?? ''), method, url)
        if (received?.by === 'worker') handle(request, response)
        else response.writeHead(403).end()
      }
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
