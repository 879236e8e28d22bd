import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import type { Hono } from 'hono'
import type { Logins } from '../access/failed-logins.ts'
import { changed } from '../build/revision.ts'
import { EMPTY_TABLE } from '../build/table.ts'
import type { Prepared, Table } from '../build/types.ts'
import { MAX_REPLICAS, secretsOf } from '../cluster/index.ts'
import type { Env, Settings } from '../config/index.ts'
import { pauseOf } from '../net/index.ts'
import { TableRefused, type WorkerStatus, type Workers } from '../server/shared-parts.ts'
import { type Counted, folded, withoutGauges } from '../telemetry/counted.ts'
import type { Logger } from '../telemetry/log.ts'
import { endGroups } from '../upstream/index.ts'
import type { Beginning, Change, ParentHandlers, ServedSources, WorkerHandlers } from './channel-messages.ts'
import { Ledger } from './ledger.ts'
import { answerPage } from './passed-pages.ts'
import type { WorkerPlace } from './peers.ts'
import { SharedCounts } from './shared-counts.ts'
import { passLines } from './whole-lines.ts'
import { Channel, ChannelEnded } from './worker-channel.ts'

/** Milliseconds until one that has ended is replaced for the first time, and at most. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000
/** Milliseconds of service after which the next one is replaced as if it were the first. */
const STEADY = 30_000
/** Starts that may fail one after another. */
const MAX_FAILED = 5
/** Milliseconds that a worker has to start, to make the next table, or to serve it. */
const PATIENCE = 120_000
/** Milliseconds between two questions whether a worker is well, and how many of these may pass without its answer. */
const BEAT = 5_000
const MAX_SILENT = 6
/** Milliseconds beyond the drain of a worker, and those for an unneeded one to end. */
const DRAIN_SPARE = 3_000
const END = 2_000
/** Milliseconds for the metrics and the status of a worker. */
const ANSWER = 5_000

export interface PoolOptions {
  count: number
  settings: Settings
  version: string
  log: Logger
  /** The module and the arguments that make a process a worker. */
  command: readonly [module: string, ...args: string[]]
  /** Takes whole lines of what workers write to standard error. */
  onLines(lines: string): void
}

/** What the process has that answers for its workers. */
export interface Answering {
  app: Hono
  logins: Logins
}

export interface Connection {
  id: number
  /** Beyond a limit, and still to be answered. */
  surplus: boolean
}

interface Member {
  readonly number: number
  readonly channel: Channel<WorkerHandlers>
  /** Where the others reach it. */
  origin: string
  /** The connections that it has, by number. */
  readonly connections: Map<number, () => void>
  /** Those that it has not taken yet: they go to another if it ends. */
  readonly given: Map<number, { socket: Socket; again(): void }>
  /** When it began to serve, in milliseconds. */
  readonly since: number
  counted: Counted | undefined
  /** Questions whether it is well since its last answer. */
  silent: number
  /** Ends it: it cannot serve. */
  fail(error: Error): void
}

/** What workers serve, and what it was read with. */
interface Served {
  table: Table
  env: Env
}

/** The workers of a gateway. It holds processes: close it. */
export class Pool implements Workers {
  private readonly members = new Map<ChildProcess, Member>()
  /** The members, and those that are about to be: workers that start together have to know of each other. */
  private readonly reachable = new Map<ChildProcess, Member>()
  private readonly children = new Set<ChildProcess>()
  private readonly ledger = new Ledger(() => [...this.members.values()].map((one) => this.lesseeOf(one)))
  private readonly lessees = new WeakMap<Member, Parameters<Ledger['forget']>[0]>()
  private readonly counts = new SharedCounts()
  private readonly begins: Omit<Beginning, 'worker' | 'served'>
  private served: Served = { table: EMPTY_TABLE, env: {} }
  private ended: Counted | undefined
  private readonly timers = new Set<NodeJS.Timeout>()
  private beat: NodeJS.Timeout | undefined
  private readonly ownAddresses: AddressInfo[] = []
  /** Addresses of other replicas, the oldest first. */
  private readonly met = new Set<string>()
  /** Those that have ended too soon, and of them starts one after another. */
  private failed = 0
  private unstarted = 0
  private closing = false
  private started = false
  private fail!: (error: Error) => void
  private listenerClosed: Promise<void> | undefined
  private answering: Answering | undefined
  /** Connections that came when there was no worker; limits bound them. */
  private waiting: Parameters<Pool['give']>[] = []
  /** Rejects when a worker cannot be replaced. */
  readonly failure = new Promise<undefined>((_, reject) => {
    this.fail = reject
  })
  /** Set by who listens: closes the listener once connections do not come in quick succession. */
  closeListener: () => Promise<void> = async () => {}

  constructor(private readonly options: PoolOptions) {
    const { settings, version } = options
    const secret = randomBytes(32).toString('base64url')
    const run = randomBytes(6).toString('base64url')
    this.begins = { settings, version, secret, run, sealSecrets: secretsOf(settings.cluster) }
    this.failure.catch(() => {})
  }

  /** Starts them. @throws Error when one of them does not */
  async start(answering: Answering, table: Table, env: Env): Promise<void> {
    this.answering = answering
    this.served = { table, env }
    const { count } = this.options
    await Promise.all(Array.from({ length: count }, (_, i) => this.spawn(i + 1)))
    this.started = true
    for (const { channel } of this.members.values()) channel.note('startServers', undefined)
    this.beat = setInterval(() => {
      for (const member of this.members.values()) lookAt(member)
    }, BEAT)
  }

  /** The configurations' tools cannot connect there. */
  ownAddress(address: AddressInfo): void {
    this.ownAddresses.push(address)
    for (const { channel } of this.reachable.values()) channel.note('ownAddress', address)
  }

  /** Has them read the certificate of the listener again. */
  refresh(): void {
    for (const { channel } of this.members.values()) channel.note('renewTls', undefined)
  }

  /** Gives a connection to the worker that has the fewest, if it answers; when there is none, to the next. @param end runs once it is over */
  give(socket: Socket, connection: Connection, end: () => void): void {
    let best: Member | undefined
    for (const member of this.members.values()) if (!best || isBetter(member, best)) best = member
    if (!best) {
      this.waiting.push([socket, connection, end])
      return
    }
    const { connections, given, channel } = best
    connections.set(connection.id, () => {
      connections.delete(connection.id)
      end()
    })
    given.set(connection.id, { socket, again: () => this.give(socket, connection, end) })
    channel.note('connection', connection, socket)
  }

  isServing = (): boolean => this.members.size > 0

  handOn = async (next: Table, env: Env): Promise<() => Promise<void>> => {
    const change = changeOf(this.served, { table: next, env })
    const asked = [...this.members.values()]
    const prepared = await Promise.allSettled(
      asked.map((one) => this.within(one, one.channel.ask('prepare', change))),
    )
    const faults = prepared.map((one) => (one.status === 'rejected' ? (one.reason as Error) : undefined))
    const refused = faults.findIndex((fault) => fault && !(fault instanceof ChannelEnded))
    // Where each of them has ended, the table may be why.
    const decisive = refused < 0 && faults.every(Boolean) ? 0 : refused
    const fault = faults[decisive]
    if (fault) {
      for (const { channel } of asked) channel.note('discard', undefined)
      throw new TableRefused(`worker ${asked[decisive]!.number} cannot serve it: ${fault.message}`)
    }
    return async () => {
      const before = this.served
      this.served = { table: next, env }
      const { generation } = next
      const all = [...this.members.values()].map((one) => {
        const { channel } = one
        const served = asked.includes(one) ? channel.ask('commit', generation) : this.catchUp(channel, before)
        return this.within(one, served).catch(one.fail)
      })
      await Promise.all(all)
      for (const { channel } of this.members.values()) channel.note('follow', undefined)
    }
  }

  counted = async (): Promise<readonly Counted[]> => {
    // One that ends meanwhile is among those that are asked.
    const { ended } = this
    const all = [...this.members.values()].map(async (one) => {
      one.counted = await late(ANSWER, one.channel.ask('counted', undefined)).catch(() => one.counted)
      return one.counted ?? []
    })
    return [...(await Promise.all(all)).flat(), ...(ended ? [ended] : [])]
  }

  statuses = async (): Promise<readonly WorkerStatus[]> => {
    const all = [...this.members.values()].map(async (one) =>
      late(ANSWER, one.channel.ask('status', undefined)).catch(() => []),
    )
    return (await Promise.all(all)).flat().sort((a, b) => a.worker - b.worker)
  }

  /** No worker is replaced from now on; resolves when what was under way in each of them has ended. */
  async drain(limits: { grace: number; timeout: number }): Promise<void> {
    this.stop()
    const patience = limits.grace + limits.timeout + DRAIN_SPARE
    const members = [...this.members.values()]
    await Promise.allSettled(members.map(({ channel }) => late(patience, channel.ask('drain', limits))))
    await Promise.allSettled(members.map(({ channel }) => late(DRAIN_SPARE, channel.ask('end', undefined))))
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    this.stop()
    clearInterval(this.beat)
    const ends = [...this.children].map((child) => new Promise((resolve) => child.once('exit', resolve)))
    for (const child of this.children) if (child.connected) child.disconnect()
    await late(END, Promise.all(ends)).catch(() => {
      for (const child of this.children) child.kill('SIGKILL')
    })
  }

  private stop(): void {
    this.closing = true
    for (const timer of this.timers) clearTimeout(timer)
  }

  /** @throws ChannelEnded also when it had to be ended */
  private async within<T>(member: Member, answer: Promise<T>): Promise<T> {
    return late(PATIENCE, answer).catch((error) => {
      if (error !== LATE) throw error
      member.fail(error)
      throw new ChannelEnded()
    })
  }

  /** Has a worker serve what the others serve, which was another when it began. */
  private async catchUp(channel: Channel<WorkerHandlers>, before: Served): Promise<void> {
    for (let known = before; known !== this.served; ) {
      const next = this.served
      await channel.ask('prepare', changeOf(known, next))
      await channel.ask('commit', next.table.generation)
      channel.note('follow', undefined)
      known = next
    }
  }

  /** Starts a process, and has it serve; resolves once it does, or rejects when it ends before. */
  private spawn(number: number): Promise<void> {
    const { command, onLines } = this.options
    const [module, ...args] = command
    const child = fork(module, args, {
      // A debugger's address is taken by this process.
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
      serialization: 'advanced',
      // The audit log keeps lines whole by itself, and must learn when they cannot be written.
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      // It ends with this process, not by a signal to the group of it, which would come before it is caught.
      detached: true,
    })
    this.children.add(child)
    const groups = new Set<number>()
    // Where files are short, Node makes no pipe.
    if (child.stderr) passLines(child.stderr, onLines)
    return new Promise((resolve, reject) => {
      let isServing = false
      let fault: string | undefined
      const fail = (error: Error) => {
        if (!(error instanceof ChannelEnded)) fault ??= error.message
        child.kill('SIGKILL')
      }
      const patience = setTimeout(() => fail(LATE), PATIENCE)
      const begin = async (channel: Channel<WorkerHandlers>) => {
        await this.join(number, child, channel, fail)
        clearTimeout(patience)
        isServing = true
        this.unstarted = 0
        resolve()
      }
      const channel: Channel<WorkerHandlers> = new Channel(
        child,
        this.handlersFor(child, groups, () => begin(channel).catch(fail)),
      )
      const ended = (how: string) => {
        const why = fault ?? how
        clearTimeout(patience)
        this.children.delete(child)
        const gone = () => {
          channel.close()
          endGroups(groups)
          const member = this.leave(child)
          if (!isServing) reject(new Error(fault ?? `worker ${number} did not start: ${why}`))
          if (this.closing || (!this.started && !isServing)) return
          this.replace(number, member, why)
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

  private async join(
    number: number,
    child: ChildProcess,
    channel: Channel<WorkerHandlers>,
    fail: Member['fail'],
  ): Promise<void> {
    const { served } = this
    const { table, env } = served
    const sources = sourcesOf(table.prepared)
    const beginning = { ...this.begins, served: { generation: table.generation, env, sources } }
    const origin = await channel.ask('begin', { ...beginning, worker: number })
    const since = performance.now()
    const member: Member = {
      number,
      channel,
      origin,
      connections: new Map(),
      given: new Map(),
      since,
      counted: undefined,
      silent: 0,
      fail,
    }
    this.reachable.set(child, member)
    for (const address of this.ownAddresses) channel.note('ownAddress', address)
    for (const address of this.met) channel.note('met', address)
    // It opens no session before all others know where it is.
    const all = [...this.reachable.values()]
    const places = placesOf(all)
    await Promise.allSettled(all.map((one) => late(ANSWER, one.channel.ask('peers', places))))
    await this.catchUp(channel, served)
    // Its calls under way have no waiting client.
    if (this.closing) throw new ChannelEnded()
    this.members.set(child, member)
    if (this.started) {
      channel.note('startServers', undefined)
      this.options.log.info({ worker: number, pid: child.pid }, 'worker started')
    }
    for (const parts of this.waiting.splice(0)) this.give(...parts)
  }

  private leave(child: ChildProcess): Member | undefined {
    const joined = this.reachable.get(child)
    if (joined) {
      this.reachable.delete(child)
      const lessee = this.lessees.get(joined)
      if (lessee) this.ledger.forget(lessee)
      const others = [...this.reachable.values()]
      const places = placesOf(others)
      for (const { channel } of others) channel.note('peers', places)
    }
    const member = this.members.get(child)
    if (!member) return undefined
    this.members.delete(child)
    for (const [id, end] of member.connections) if (!member.given.has(id)) end()
    for (const { again } of member.given.values()) again()
    if (member.counted) this.ended = folded(this.ended, withoutGauges(member.counted))
    return member
  }

  /** @param before undefined: it has not served */
  private replace(number: number, before: Member | undefined, why: string): void {
    const { log } = this.options
    const isSteady = before !== undefined && performance.now() - before.since > STEADY
    if (isSteady) this.failed = 0
    const wait = pauseOf(this.failed, FIRST_PAUSE, LONGEST_PAUSE)
    this.failed++
    if (!before) this.unstarted++
    log.error(
      { worker: number, reason: why, again: wait },
      before ? 'a worker has ended' : 'a worker did not start',
    )
    if (this.unstarted > MAX_FAILED && !this.members.size) {
      this.fail(new Error(`worker ${number} cannot be started: ${why}`))
      return
    }
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      // What comes of it is in the log when it ends.
      this.spawn(number).catch(() => {})
    }, wait)
    this.timers.add(timer)
  }

  private lesseeOf(member: Member) {
    const known = this.lessees.get(member)
    if (known) return known
    const lessee: Parameters<Ledger['forget']>[0] = {
      recall: (question) => member.channel.ask('recall', question),
    }
    this.lessees.set(member, lessee)
    return lessee
  }

  /** @param groups takes the process groups that it has started */
  private handlersFor(child: ChildProcess, groups: Set<number>, hello: () => void): ParentHandlers {
    // Others pass requests on to it before it has connections of its own.
    const mine = () => {
      const member = this.reachable.get(child)
      if (!member) throw new Error('the worker does not serve yet')
      return member
    }
    const answering = () => {
      if (!this.answering) throw new Error('the gateway is starting')
      return this.answering
    }
    return {
      hello,
      page: (request) => answerPage(answering().app, request),
      take: (takes) => this.counts.take(takes),
      async login({ address, caller }) {
        const { logins } = answering()
        const denial = await (caller === undefined
          ? logins.failed(address)
          : logins.succeeded(address, caller))
        return { denial, refused: logins.refuse(address) }
      },
      lease: (question) => this.ledger.lease(this.lesseeOf(mine()), question),
      giveBack: ({ quota, units }) => this.ledger.giveBack(this.lesseeOf(mine()), quota, units),
      taken: (id) => {
        const given = this.members.get(child)?.given
        // The worker has it open.
        given?.get(id)?.socket.destroy()
        given?.delete(id)
      },
      closed: (connections) => {
        const member = this.members.get(child)
        for (const id of connections) if (member) forget(member, id)
      },
      counted: (counted) => {
        const member = this.members.get(child)
        if (member) member.counted = counted
      },
      group: ({ group, ended }) => {
        if (ended) groups.delete(group)
        else groups.add(group)
      },
      listChanged: (change) => {
        for (const [other, { channel }] of this.members)
          if (other !== child) channel.note('listChanged', change)
      },
      met: async (address) => {
        this.met.add(address)
        if (this.met.size > MAX_REPLICAS) this.met.delete(this.met.values().next().value as string)
        const others = [...this.reachable].filter(([other]) => other !== child)
        await Promise.allSettled(others.map(([, one]) => late(ANSWER, one.channel.ask('met', address))))
      },
      closeListener: () => {
        this.listenerClosed ??= this.closeListener()
        return this.listenerClosed
      },
    }
  }
}

/** Asks a worker whether it is well; one that has not answered for long, as a process that is stopped, is ended. */
function lookAt(member: Member): void {
  if (member.silent === 0) {
    const given = [...member.given.keys()]
    const heard = () => {
      member.silent = 0
      // What was sent before the question was taken before the answer, or did not arrive, as the worker had no file for it.
      for (const id of given) if (member.given.has(id)) forget(member, id)
    }
    // It has ended, which is noticed by itself.
    member.channel.ask('beat', undefined).then(heard, () => {})
  }
  // Counted in questions: this process may have been the one that stood still.
  if (++member.silent > MAX_SILENT) member.fail(LATE)
}

/** Whether a connection is for the one rather than for the other. */
function isBetter(one: Member, other: Member): boolean {
  const [isMute, isOtherMute] = [one.silent > 1, other.silent > 1]
  return isMute === isOtherMute ? one.connections.size < other.connections.size : isOtherMute
}

/** A connection is over, or could not be taken for want of a file. */
function forget({ given, connections }: Member, id: number): void {
  given.get(id)?.socket.destroy()
  given.delete(id)
  connections.get(id)?.()
}

function placesOf(members: readonly Member[]): WorkerPlace[] {
  return members.map(({ number: worker, origin }) => ({ worker, origin }))
}

/** @param prepared entries of a table, by `id` */
function sourcesOf(prepared: Iterable<[id: string, Prepared]>): ServedSources['sources'] {
  return new Map([...prepared].map(([id, { file, text }]) => [id, { file, text }]))
}

function changeOf(before: Served, next: Served): Change {
  const [old, fresh] = [before.table.prepared, next.table.prepared]
  return {
    generation: next.table.generation,
    ...(next.env !== before.env && { env: next.env }),
    changed: sourcesOf(changed(fresh, old)),
    removed: changed(old, fresh).flatMap(([id]) => (fresh.has(id) ? [] : [id])),
  }
}

const LATE = new Error('no answer in time')

function late<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(LATE), ms)
  })
  return Promise.race([answer, silence]).finally(() => clearTimeout(timer))
}
