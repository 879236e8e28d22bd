import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Guarded } from '../../access/connection-limits.ts'
import { HOP_HEADER } from '../../cluster/index.ts'
import type { Settings } from '../../config/index.ts'
import { hasErrors } from '../../findings/index.ts'
import { createGateway, type Gateway } from '../../server/gateway.ts'
import type { Made } from '../../server/live.ts'
import { createLog } from '../../telemetry/log.ts'
import { watchEventLoop } from '../../telemetry/loop-delay.ts'
import { catchUnexpected, unexpected } from '../../telemetry/unexpected.ts'
import { followGroups } from '../../upstream/index.ts'
import type { Beginning, ParentHandlers, WorkerHandlers } from '../../workers/channel-messages.ts'
import { WorkerSources } from '../../workers/served-sources.ts'
import { Channel } from '../../workers/worker-channel.ts'
import { type WorkerParts, workerParts } from '../../workers/worker-parts.ts'
import { type DrainLimits, drain } from './drain.ts'
import { answerBy, serveApp } from './listener.ts'
import { watchOpenFiles } from './open-files.ts'
import { type ListenerTls, openTls } from './tls.ts'

/** Milliseconds between two counts that the process that started it gets, in case this one ends without a word. */
const REPORT = 1_000
/** Milliseconds between two looks whether the last connection has ended. */
const LOOK = 20

/** Signals to the group of the process are for the one that has started it. */
const NOT_FOR_WORKERS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const

/** Serves for the process that has started it, until that one lets go. @returns the exit code */
export async function work(): Promise<number> {
  if (!process.send) throw new Error('only `plantgw serve` starts workers')
  for (const signal of NOT_FOR_WORKERS) process.on(signal, () => {})
  return new Worker().over
}

/** One of several processes that serve as one gateway. */
class Worker {
  readonly over: Promise<number>
  private readonly channel: Channel<ParentHandlers>
  private running: Running | undefined
  private isEnding = false

  constructor() {
    this.channel = new Channel(process, this.handlers())
    this.over = new Promise((resolve) => {
      process.once('disconnect', () => (this.isEnding ? resolve(0) : this.endAtOnce()))
    })
    this.channel.note('hello', undefined)
  }

  /** Nobody takes a gateway that is gone for one that lives: its connections end first. */
  private endAtOnce(): void {
    for (const socket of this.running?.guarded.connections.keys() ?? []) socket.destroy()
    // Earlier listeners have killed the children. SIGKILL skips what Node clears up, which takes longer than a call.
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'))
    process.exit(1)
  }

  private get serving(): Running {
    if (!this.running) throw new Error('the worker has not begun')
    return this.running
  }

  private handlers(): WorkerHandlers {
    return {
      begin: async (beginning) => {
        this.running = await begin(this.channel, beginning)
        return this.running.origin
      },
      peers: (workers) => this.serving.parts.peers()?.follow(workers),
      listChanged: (change) => this.running?.parts.listChanged(change),
      met: (address) => this.running?.parts.peers()?.learn(address),
      startServers: () => this.serving.gateway.startServers(),
      ownAddress: (address) => this.serving.gateway.ownAddresses.add(address),
      beat: () => {},
      prepare: async (change) => {
        const { sources, gateway } = this.serving
        sources.change(change)
        // What the others depend on beside their texts may have changed, too: that is for a reload of theirs.
        const made = await gateway.prepare(new Set([...change.changed.keys(), ...change.removed]))
        refuse(made)
        this.serving.made = { ...made, generation: change.generation }
      },
      commit: (generation) => {
        const { made, sources } = this.serving
        if (made?.generation !== generation) throw new Error('the table was not made')
        made.commit()
        sources.commit()
        this.serving.committed = made
        this.serving.made = undefined
      },
      follow: () => {
        this.running?.committed?.follow()
        if (this.running) this.running.committed = undefined
      },
      discard: () => {
        this.serving.sources.discard()
        this.serving.made = undefined
      },
      connection: ({ id, surplus }, handle) => this.serving.take(id, surplus, handle as Socket | undefined),
      counted: () => this.serving.gateway.counted(),
      status: () => {
        const { gateway, guarded, number, startedAt } = this.serving
        const { pid } = process
        return { worker: number, pid, startedAt, connections: guarded.connections.size, ...gateway.serving() }
      },
      recall: (question) => this.serving.parts.recall(question),
      renewTls: () => this.serving.tls?.refresh(),
      drain: async ({ grace, timeout }) => {
        this.isEnding = true
        await this.serving.drain({ grace, timeout })
      },
      end: () => this.serving.end(),
    }
  }
}

interface Running {
  number: number
  /** ISO 8601, UTC. */
  startedAt: string
  origin: string
  gateway: Gateway
  guarded: Guarded
  parts: WorkerParts
  sources: WorkerSources
  tls: ListenerTls | undefined
  /** The next table, until it is committed. */
  made?: (Made & { generation: number }) | undefined
  /** The table that is served, until clients may hear of it. */
  committed?: Made | undefined
  take(id: number, surplus: boolean, socket: Socket | undefined): void
  drain(limits: DrainLimits): Promise<void>
  end(): Promise<void>
}

async function begin(channel: Channel<ParentHandlers>, beginning: Beginning): Promise<Running> {
  const { worker, version, served } = beginning
  const settings = settingsOf(beginning.settings)
  const log = (await createLog({ ...settings.logger, format: 'json' })).child({ worker })
  catchUnexpected(log)
  const tls = settings.tls && openTls(settings.tls, log)
  followGroups((change) => channel.note('group', change))
  const inner = await listenForWorkers()
  const parts = workerParts(channel, beginning, inner.origin)
  const sources = new WorkerSources(served)
  const { shared } = parts
  const { gateway, findings } = await createGateway({
    paths: sources.source,
    settings,
    env: served.env,
    readEnv: sources.env,
    log,
    version,
    shared,
  })
  const [fault] = findings.filter(({ severity }) => severity === 'error')
  if (!gateway) throw new Error(`${fault?.file}: ${fault?.message}`)
  sources.commit()
  inner.serve(gateway, parts)
  const unwatch = watchEventLoop(log, gateway.onLoopDelay)
  const surplus = new WeakSet<Socket>()
  const guarded = serveApp(gateway.app, settings.limits, tls, surplus)
  const { server, connections } = guarded
  // Node counts the time of requests from then on; connections come through the channel.
  server.emit('listening')
  watchOpenFiles(server, () => connections.size, log)
  const report = reporter(channel, gateway, guarded)
  return {
    number: worker,
    startedAt: new Date().toISOString(),
    origin: inner.origin,
    gateway,
    guarded,
    parts,
    sources,
    tls,
    take: taker(channel, server, surplus),
    drain: (limits) => drain(guarded, gateway, limits, () => shutBy(channel, guarded)),
    async end() {
      await gateway.close()
      report.stop()
      unwatch()
      channel.note('counted', await gateway.counted())
      inner.close()
      log.flush?.()
    },
  }
}

/** Of what the process opens that starts the workers, nothing. The store of plants is opened there, but tools call it. */
function settingsOf(all: Settings): Settings {
  const { storage: _, notifier: __, pid: ___, workers, ...rest } = all
  const { maxBuffered } = rest.limits
  const share = maxBuffered === undefined ? {} : { maxBuffered: Math.floor(maxBuffered / Number(workers)) }
  return { ...rest, ...spansOnly(all), workers, limits: { ...rest.limits, ...share } }
}

/** Metrics are sent by who adds them up: a collector takes those of several processes of one name for one that starts anew. */
function spansOnly({ telemetry }: Settings): Pick<Settings, 'telemetry'> {
  if (!telemetry) return {}
  const { otlp } = telemetry
  const signals = otlp.signals.filter((signal) => signal !== 'metrics')
  return { telemetry: { ...telemetry, otlp: { ...otlp, signals } } }
}

/** Takes what is wrong with a table for the reason not to serve it: it was read without an error elsewhere. */
function refuse({ result: { findings, refused } }: Made): void {
  const [fault] = findings.filter(({ severity }) => severity === 'error')
  if (refused.length || hasErrors(findings)) throw new Error(fault?.message ?? `${refused} cannot be served`)
}

/** Takes connections that were accepted for it. */
function taker(channel: Channel<ParentHandlers>, server: Guarded['server'], surplus: WeakSet<Socket>) {
  let ended: number[] = []
  const end = (id: number) => {
    ended.push(id)
    if (ended.length > 1) return
    setImmediate(() => {
      channel.note('closed', ended)
      ended = []
    })
  }
  return (id: number, isSurplus: boolean, socket: Socket | undefined) => {
    // It ended on the way, or there was no file for it.
    if (!socket) return end(id)
    // Before it is read: what nobody has taken is given to another.
    channel.note('taken', id)
    // A client may end its side after the request, as at a listener.
    socket.allowHalfOpen = true
    socket.once('close', () => end(id))
    if (isSurplus) surplus.add(socket)
    server.emit('connection', socket)
  }
}

/** Says from time to time what was counted, while there is something to count. */
function reporter(channel: Channel<ParentHandlers>, gateway: Gateway, { server }: Guarded): { stop(): void } {
  let isNew = false
  server.on('request', () => {
    isNew = true
  })
  const timer = setInterval(() => {
    if (!isNew) return
    isNew = false
    gateway
      .counted()
      .then((counted) => channel.note('counted', counted))
      .catch(unexpected('the counts of a worker'))
  }, REPORT)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

async function shutBy(channel: Channel<ParentHandlers>, { connections }: Guarded) {
  await channel.ask('closeListener', undefined)
  const closed = async () => {
    while (connections.size) await pause(LOOK)
  }
  return { closed: closed() }
}

interface InnerListener {
  origin: string
  serve(gateway: Gateway, parts: WorkerParts): void
  close(): void
}

/** Listens for the other workers, on this machine, and for nobody else: their requests are signed. */
async function listenForWorkers(): Promise<InnerListener> {
  let serve: RequestListener | undefined
  const server: Server = createServer((request, response) => {
    if (serve) serve(request, response)
    else response.destroy()
  })
  server.keepAliveTimeout = 75_000
  server.requestTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: 0, host: '127.0.0.1' }, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    serve(gateway, { peers }) {
      const handle = answerBy(gateway.app)
      serve = (request, response) => {
        const { headers, method = '', url = '' } = request
        const hop = headers[HOP_HEADER]
        if (peers()?.isOfWorker(typeof hop === 'string' ? hop : undefined, method, url))
          handle(request, response)
        else response.writeHead(403).end()
      }
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
