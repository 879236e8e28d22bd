import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import type { DestinationStream } from 'pino'
import { connectionCount } from '../../access/connection-limits.ts'
import { networkOf } from '../../access/quota.ts'
import { changed, EMPTY_TABLE } from '../../build/table.ts'
import type { Prepared, Reload, Table } from '../../build/types.ts'
import { MAX_REPLICAS, sealSecretsOf } from '../../cluster/index.ts'
import type { Env, Settings } from '../../config/index.ts'
import { pauseOf } from '../../net/index.ts'
import type { Gateway } from '../../server/gateway.ts'
import { type ReloadedWorkers, TableRefused, type WorkerStatus, type Workers } from '../../server/workers.ts'
import { type Counted, folded, withoutGauges } from '../../telemetry/counted.ts'
import type { Logger } from '../../telemetry/log.ts'
import { OWN_BIN } from '../own-command.ts'
import {
  ANSWER_TIMEOUT,
  type Beginning,
  type Change,
  Channel,
  ChannelEnded,
  LATE,
  late,
  type ParentHandlers,
  type Served,
  type WorkerHandlers,
} from './channel.ts'
import { type DrainLimits, shutServer } from './drain.ts'
import { bind } from './listener.ts'
import { watchOpenFiles } from './open-files.ts'
import { answerPage, OpenBodies } from './passed-pages.ts'
import { WORKER_COMMAND } from './worker.ts'
import { WorkerCalls } from './worker-calls.ts'

/** Milliseconds until a worker that has ended is replaced for the first time, and at most. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000
/** Milliseconds of service after which the pauses are short again. */
const STEADY = 30_000
/** Milliseconds that a worker has to start, or to reload. */
const START_TIMEOUT = 120_000
/** Milliseconds between two questions whether a worker is well. */
const BEAT = 5_000
/** Milliseconds beyond the drain of a worker. */
const DRAIN_SPARE = 3_000

interface PoolOptions {
  settings: Settings
  version: string
  log: Logger
  /** Takes what workers log, as lines of JSON. */
  stream: DestinationStream
}

/** A listener for clients. */
export interface Listening {
  address: AddressInfo
  port: number
  /** Resolves when the calls under way have ended. */
  drain(limits: DrainLimits): Promise<void>
}

interface Connection {
  id: number
  /** Beyond a limit, and still to be answered. */
  surplus: boolean
}

/** How many processes serve. */
export function workerCount({ workers }: Pick<Settings, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : Number(workers)
}

/** The table that workers serve, and the environment that it was read with. */
interface InService {
  table: Table
  env: Env
}

type Refused = Pick<Reload, 'refused' | 'findings'>

/** A worker that the others can reach. */
interface Member {
  readonly number: number
  readonly child: ChildProcess
  readonly channel: Channel<WorkerHandlers>
  readonly origin: string
  /** Whether the worker takes connections. */
  serves: boolean
  /** The connections of the worker by number, each with a function that ends it here. */
  readonly connections: Map<number, () => void>
  /** Connections that the worker has not taken yet: they go to another one if it ends. */
  readonly given: Map<number, { socket: Socket; again(): void }>
  /** In milliseconds. */
  readonly since: number
  /** Grows with each connection that a worker is given. */
  turn: number
  counted: Counted | undefined
  /** Questions whether it is well since its last answer. */
  silent: number
  /** Kills it, as it cannot serve. */
  fail(error: Error): void
}

/** The workers of a gateway, which are replicas of each other. It holds processes: close it. */
export class Pool implements Workers {
  private readonly members = new Set<Member>()
  private readonly children = new Set<ChildProcess>()
  private readonly begins: Omit<Beginning, 'worker' | 'served'>
  private served: InService = { table: EMPTY_TABLE, env: {} }
  private ended: Counted | undefined
  private readonly timers = new Set<NodeJS.Timeout>()
  private beat: NodeJS.Timeout | undefined
  private turns = 0
  private readonly ownAddresses: AddressInfo[] = []
  /** Addresses of other replicas, the oldest first. */
  private readonly met = new Set<string>()
  /** Workers that have ended before they were steady, and starts that have failed one after another. */
  private failed = 0
  private unstarted = 0
  private closing = false
  private started = false
  private fail!: (error: Error) => void
  private app: Gateway['app'] | undefined
  private closeListener: () => Promise<unknown> = async () => {}
  private listenerClosed: Promise<unknown> | undefined
  /** Connections that came while no worker served; the limits bound them. */
  private waiting: Parameters<Pool['give']>[] = []
  /** Rejects when no worker can be started any more. */
  readonly failure = new Promise<undefined>((_, reject) => {
    this.fail = reject
  })

  constructor(private readonly options: PoolOptions) {
    const { settings: given, version } = options
    const settings = { ...given, workers: String(workerCount(given)) }
    const secret = randomBytes(32).toString('base64url')
    const run = randomBytes(6).toString('base64url')
    this.begins = { settings, version, secret, run, sealSecrets: sealSecretsOf(settings.cluster) }
    this.failure.catch(() => {})
  }

  /** Starts them. @param gateway answers its own pages @throws Error when one of them does not start */
  async start({ app, table }: Gateway, env: Env): Promise<void> {
    this.app = app
    this.served = { table: table(), env }
    const count = Number(this.begins.settings.workers)
    await Promise.all(Array.from({ length: count }, (_, i) => this.spawn(i + 1)))
    this.started = true
    this.tell('startServers', undefined)
    this.beat = setInterval(() => {
      for (const member of this.serving()) lookAt(member)
    }, BEAT)
  }

  /** The configurations' tools cannot connect there. */
  ownAddress(address: AddressInfo): void {
    this.ownAddresses.push(address)
    this.tell('ownAddress', address)
  }

  /** Has them read the certificate of the listener again. */
  refresh(): void {
    this.tell('renewTls', undefined)
  }

  /** Takes connections at the address of the settings, within the limits of connections. @param what names it, for people */
  async listen({ beginDrain }: Gateway, what: string): Promise<Listening> {
    const { settings, log } = this.options
    const { limits, tls } = settings
    const count = connectionCount(limits, tls !== undefined)
    let connections = 0
    let last = 0
    const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: true }, (socket) => {
      const address = networkOf(socket.remoteAddress ?? '')
      const place = count.add(address)
      connections++
      socket.on('error', () => {})
      const end = () => {
        connections--
        count.remove(address)
      }
      if (place !== 'beyond') return this.give(socket, { id: ++last, surplus: place === 'surplus' }, end)
      end()
      socket.destroy()
    })
    await bind(server, settings, limits, what)
    watchOpenFiles(server, () => connections, log)
    const address = server.address() as AddressInfo
    this.ownAddress(address)
    this.closeListener = () => shutServer(server)
    const drain = (limits: DrainLimits) => {
      beginDrain()
      return this.drain(limits)
    }
    return { address, port: address.port, drain }
  }

  /** Gives a connection to the worker that has the fewest; while none serves, to the next. @param end runs once it is over */
  private give(socket: Socket, connection: Connection, end: () => void): void {
    const [best] = this.serving().sort(byConnections)
    if (!best) {
      this.waiting.push([socket, connection, end])
      return
    }
    best.turn = ++this.turns
    const { connections, given, channel } = best
    connections.set(connection.id, end)
    given.set(connection.id, { socket, again: () => this.give(socket, connection, end) })
    channel.note('connection', connection, socket)
  }

  /** For the console. */
  readonly calls = new WorkerCalls(() => this.serving().map(({ channel }) => channel))

  isServing = (): boolean => this.serving().length > 0

  /** One worker serves the change first; if it fails, all keep the current table. */
  handOn = async (table: Table, env: Env): Promise<ReloadedWorkers> => {
    const change = changeOf(this.served, { table, env })
    const left = this.serving()
    const first = await this.reloadOne(left, change)
    this.served = { table, env }
    const others = left.map((one) => this.reload(one, change).catch(one.fail))
    const results = [first, ...(await Promise.all(others))].filter((one) => one !== undefined)
    return {
      refused: results.flatMap(({ refused }) => refused),
      findings: results.flatMap(({ findings }) => findings),
      announce: () => this.tell('announce', undefined),
    }
  }

  counted = async (): Promise<readonly Counted[]> => {
    // A worker that ends while it is asked is in `all`, and must not be counted twice.
    const { ended } = this
    const all = this.serving().map(async (one) => {
      one.counted = await late(ANSWER_TIMEOUT, one.channel.ask('counted', undefined)).catch(() => one.counted)
      return one.counted ?? []
    })
    return [...(await Promise.all(all)).flat(), ...(ended ? [ended] : [])]
  }

  statuses = async (): Promise<readonly WorkerStatus[]> => {
    const all = this.serving().map((one) =>
      late(ANSWER_TIMEOUT, one.channel.ask('status', undefined)).catch(() => []),
    )
    return (await Promise.all(all)).flat().sort((a, b) => a.worker - b.worker)
  }

  /** From now on no worker is replaced; resolves when the calls in each of them have ended. */
  private async drain(limits: DrainLimits): Promise<void> {
    this.stop()
    const patience = limits.grace + limits.timeout + DRAIN_SPARE
    const members = this.serving()
    await Promise.allSettled(members.map(({ channel }) => late(patience, channel.ask('drain', limits))))
    const ends = members.map(async (one) => {
      one.counted = await late(DRAIN_SPARE, one.channel.ask('end', undefined))
    })
    await Promise.allSettled(ends)
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    this.stop()
    clearInterval(this.beat)
    const ends = [...this.children].map((child) => new Promise((resolve) => child.once('exit', resolve)))
    for (const child of this.children) if (child.connected) child.disconnect()
    await late(2_000, Promise.all(ends)).catch(() => {
      for (const child of this.children) child.kill('SIGKILL')
    })
  }

  /** Passes JSON lines to the log, and other output to standard error. */
  private onLine = (line: string): void => {
    if (line.startsWith('{"level":')) this.options.stream.write(`${line}\n`)
    else if (line) process.stderr.write(`${line}\n`)
  }

  private stop(): void {
    this.closing = true
    for (const timer of this.timers) clearTimeout(timer)
  }

  private serving(): Member[] {
    return [...this.members].filter(({ serves }) => serves).sort((a, b) => a.number - b.number)
  }

  private tell: Channel<WorkerHandlers>['note'] = (name, value) => {
    for (const { channel } of this.members) channel.note(name, value)
  }

  /**
   * @param left the workers; those tried are removed
   * @throws TableRefused when a worker cannot serve the change, or too many end while they try
   */
  private async reloadOne(left: Member[], change: Change): Promise<Refused | undefined> {
    let fault: TableRefused | undefined
    // Workers that may end while they try a change before the others: the change may be the cause.
    for (const one of left.slice(0, 2)) {
      left.shift()
      try {
        return await this.reload(one, change)
      } catch (error) {
        fault = new TableRefused(`worker ${one.number} cannot serve it: ${(error as Error).message}`)
        if (!(error instanceof ChannelEnded)) break
      }
    }
    if (fault) throw fault
    return undefined
  }

  /** @throws ChannelEnded also when it did not answer, and is killed */
  private async reload({ channel, fail }: Member, change: Change): Promise<Refused> {
    return late(START_TIMEOUT, channel.ask('reload', change)).catch((error) => {
      if (error !== LATE) throw error
      fail(error)
      throw new ChannelEnded()
    })
  }

  /** Starts a process; resolves once it serves, or rejects when it ends before. */
  private spawn(number: number): Promise<void> {
    const child = fork(OWN_BIN, [WORKER_COMMAND], {
      // The debugger's address belongs to this process.
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
      serialization: 'advanced',
      // The audit log keeps its lines whole by itself, and must learn when they cannot be written.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      // A signal to the process group, such as Ctrl-C's, is for this process, which drains its workers.
      detached: true,
    })
    this.children.add(child)
    // Node makes no pipe if the process has no file descriptor left.
    if (child.stderr) createInterface({ input: child.stderr, crlfDelay: Infinity }).on('line', this.onLine)
    return new Promise((resolve, reject) => {
      let member: Member | undefined
      let fault: string | undefined
      const fail = (error: Error) => {
        if (!(error instanceof ChannelEnded)) fault ??= error.message
        child.kill('SIGKILL')
      }
      const patience = setTimeout(() => fail(LATE), START_TIMEOUT)
      const hello = async () => {
        const before = this.served
        const begin: Beginning = { ...this.begins, worker: number, served: servedOf(before) }
        const origin = await channel.ask('begin', begin)
        const [connections, given] = [new Map(), new Map()]
        const since = performance.now()
        member = {
          number,
          child,
          channel,
          origin,
          serves: false,
          connections,
          given,
          since,
          counted: undefined,
          silent: 0,
          turn: 0,
          fail,
        }
        await this.join(member, before)
        clearTimeout(patience)
        resolve()
      }
      const bodies = new OpenBodies()
      const handlers = this.handlersFor(
        () => member,
        () => hello().catch(fail),
        bodies,
      )
      const channel = new Channel<WorkerHandlers>(child, handlers)
      const ended = (how: string) => {
        const why = fault ?? how
        clearTimeout(patience)
        this.children.delete(child)
        const gone = () => {
          channel.close()
          bodies.close()
          if (member) this.leave(member)
          const served = member?.serves === true
          if (!served) reject(new Error(fault ?? `worker ${number} did not start: ${why}`))
          if (this.closing || (!this.started && !served)) return
          this.replace(number, served ? member : undefined, why)
        }
        // All that it has said is read by then; while a connection is on its way there is no 'disconnect'.
        if (child.connected) child.once('close', gone)
        else gone()
      }
      child.once('exit', (code, signal) => ended(signal ?? `exit code ${code}`))
      child.on('error', (error) => {
        // There is no process, which does not exit.
        if (child.pid === undefined) ended(error.message)
      })
    })
  }

  /** @param before the change that the worker serves now */
  private async join(member: Member, before: InService): Promise<void> {
    const { number, child, channel } = member
    this.members.add(member)
    for (const address of this.ownAddresses) channel.note('ownAddress', address)
    for (const address of this.met) channel.note('met', address)
    // The others must know its address before it opens a session.
    const all = [...this.members]
    await Promise.allSettled(all.map((one) => late(ANSWER_TIMEOUT, one.channel.ask('peers', placesOf(all)))))
    for (let known = before; known !== this.served; ) {
      const next = this.served
      await this.reload(member, changeOf(known, next))
      channel.note('announce', undefined)
      known = next
    }
    // Its calls would have no client.
    if (this.closing) throw new ChannelEnded()
    member.serves = true
    this.calls.join(channel)
    this.unstarted = 0
    if (this.started) {
      channel.note('startServers', undefined)
      this.options.log.info({ worker: number, pid: child.pid }, 'worker started')
    }
    for (const parts of this.waiting.splice(0)) this.give(...parts)
  }

  private leave(member: Member): void {
    this.members.delete(member)
    this.tell('peers', placesOf([...this.members]))
    const { connections, given, counted } = member
    for (const [id, end] of connections) if (!given.has(id)) end()
    for (const { again } of given.values()) again()
    if (counted) this.ended = folded(this.ended, withoutGauges(counted))
  }

  /** @param before undefined: it has not served */
  private replace(number: number, before: Member | undefined, why: string): void {
    const { log } = this.options
    if (before && performance.now() - before.since > STEADY) this.failed = 0
    const again = pauseOf(this.failed, FIRST_PAUSE, LONGEST_PAUSE)
    this.failed++
    if (!before) this.unstarted++
    log.error(
      { worker: number, reason: why, again },
      before ? 'a worker has ended' : 'a worker did not start',
    )
    // Starts that may fail one after another while no worker serves.
    if (this.unstarted > 5 && !this.isServing()) {
      this.fail(new Error(`worker ${number} cannot be started: ${why}`))
      return
    }
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      // Its end is in the log.
      this.spawn(number).catch(() => {})
    }, again)
    this.timers.add(timer)
  }

  /** @param own the worker; undefined until it has begun */
  private handlersFor(own: () => Member | undefined, hello: () => void, bodies: OpenBodies): ParentHandlers {
    const others = () => [...this.members].filter((one) => one !== own())
    return {
      hello,
      page: (request) => {
        if (!this.app) throw new Error('the gateway is starting')
        return answerPage(this.app, request, bodies)
      },
      nextPiece: (body) => bodies.next(body),
      leaveBody: (body) => bodies.leave(body),
      ...this.calls.handlers,
      taken: (id) => {
        const given = own()?.given
        // The worker has it open.
        given?.get(id)?.socket.destroy()
        given?.delete(id)
      },
      closed: (connections) => {
        const member = own()
        for (const id of connections) if (member) forget(member, id)
      },
      listChanged: (change) => {
        for (const { channel } of others()) channel.note('listChanged', change)
      },
      met: async (address) => {
        this.met.add(address)
        if (this.met.size > MAX_REPLICAS) this.met.delete(this.met.values().next().value as string)
        await Promise.allSettled(
          others().map(({ channel }) => late(ANSWER_TIMEOUT, channel.ask('met', address))),
        )
      },
      closeListener: async () => {
        this.listenerClosed ??= this.closeListener()
        await this.listenerClosed
      },
    }
  }
}

/** Asks a worker whether it is well; one that has not answered for long, such as a stopped process, is killed. */
function lookAt(member: Member): void {
  const { given, channel, fail } = member
  if (member.silent === 0) {
    const before = [...given.keys()]
    const heard = () => {
      member.silent = 0
      // A connection that was given before the question and not taken before the answer did not arrive, for want of a file.
      for (const id of before) if (given.has(id)) forget(member, id)
    }
    // Its end is noticed by itself.
    channel.ask('beat', undefined).then(heard, () => {})
  }
  // Counted in questions, as this process may have been the one that stood still.
  if (++member.silent > 6) fail(LATE)
}

/** The worker for the next connection comes first: one that answers, has the fewest, and waits for its turn longest. */
function byConnections(one: Member, other: Member): number {
  return (
    Number(one.silent > 1) - Number(other.silent > 1) ||
    one.connections.size - other.connections.size ||
    one.turn - other.turn
  )
}

/** A connection has ended, or could not be taken for want of a file. */
function forget({ given, connections }: Member, id: number): void {
  given.get(id)?.socket.destroy()
  given.delete(id)
  const end = connections.get(id)
  connections.delete(id)
  end?.()
}

function placesOf(members: readonly Member[]) {
  return members.map(({ number: worker, origin }) => ({ worker, origin }))
}

function servedOf({ table: { generation, prepared }, env }: InService): Served {
  return { generation, env, sources: sourcesOf(prepared) }
}

function changeOf(before: InService, { table: { prepared, generation }, env }: InService): Change {
  const old = before.table.prepared
  return {
    generation,
    ...(env !== before.env && { env }),
    changed: sourcesOf(changed(prepared, old)),
    removed: changed(old, prepared).flatMap(([id]) => (prepared.has(id) ? [] : [id])),
  }
}

/** @param prepared entries of a table, by `id` */
function sourcesOf(prepared: Iterable<[id: string, Prepared]>): Served['sources'] {
  return new Map([...prepared].map(([id, { file, text }]) => [id, { file, text }]))
}
