/** What one history happens in: gateways, servers behind them, clients before them, and what must hold of them. */
import { memory } from '../../src/access/memory.ts'
import type { ConfigurationSource } from '../../src/build/source.ts'
import { readConfiguration } from '../../src/checks/reader.ts'
import type { ReadConfiguration } from '../../src/config/index.ts'
import { unexpectedCount } from '../../src/telemetry/unexpected.ts'
import { chance, seed } from './chance.ts'
import { type Client, type ClientKind, createClient } from './clients.ts'
import { clock } from './clock.ts'
import { children, type Host, outer } from './network.ts'
import { IDLE, Replica } from './replica.ts'
import { type Script, Server, type ServerKind } from './servers.ts'

/** What stands behind the prefix of a history: one server, several, or one whose session all clients share. */
export type Shape = ServerKind | 'several' | 'shared'

export interface Setting {
  /** Of everything that chance decides while the history runs. */
  seed: number
  shape: Shape
  replicas: number
  /** Whether callers are known. */
  authenticated: boolean
  clients: readonly { kind: ClientKind; listens: boolean; answers: boolean }[]
}

/** Milliseconds of virtual time in which everything is served again once nothing is broken. */
const BOUND = 120_000
/** Milliseconds of silence after which a call to a server times out. */
const TIMEOUT = 20_000
/** Milliseconds for which a call waits for the input of its user. */
const INPUT = 300_000
const PREFIX = '/sim'

export class World {
  readonly story: string[] = []
  readonly violations: string[] = []
  readonly servers: Server[]
  readonly replicas: Replica[]
  readonly clients: Client[]
  private readonly internal = unexpectedCount()
  private readonly held = memory.used
  /** Changes with each reload that replaces the servers. */
  private version = 0
  private isServed = true
  private marks = 0

  constructor(private readonly setting: Setting) {
    clock.reset()
    seed(setting.seed)
    const violated = this.violated
    const latency = () => Math.floor(chance() * chance() * 40)
    this.servers = kindsOf(setting.shape).map(
      (kind) => new Server({ kind, latency, violated, note: (what) => this.note(`${kind} ${what}`) }),
    )
    this.replicas = Array.from(
      { length: setting.replicas },
      (_, i) =>
        new Replica({
          name: `replica${i}`,
          isClustered: setting.replicas > 1,
          source: this.source,
          latency,
          violated,
        }),
    )
    this.clients = setting.clients.map(({ kind, listens, answers }, i) =>
      createClient(kind, {
        name: `c${i}`,
        prefix: PREFIX,
        token: setting.authenticated ? tokenOf(i) : undefined,
        listens,
        answers,
        tool: ({ mark }) => this.toolOf(mark),
        latency,
        host: () => this.balance(),
        violated,
        note: (what) => this.note(what),
      }),
    )
    const hosts = new Map<string, Host>(
      [...this.servers, ...this.replicas].map(({ host }) => [host.origin, host]),
    )
    outer.host = (origin) => hosts.get(origin)
    outer.spawn = (_, [kind]) =>
      this.servers.find(({ host }) => host.origin === `http://${kind}.test`)!.spawn()
  }

  readonly violated = (what: string): void => {
    this.note(`VIOLATED ${what}`)
    this.violations.push(what)
  }

  note(what: string): void {
    this.story.push(`${((clock.now - clock.began) / 1000).toFixed(3).padStart(8)} ${what}`)
  }

  async start(): Promise<void> {
    await this.wait(Promise.all(this.replicas.map((replica) => replica.start())), 'the start')
  }

  /** A new mark for a call of a client. */
  mark(client: Client): string {
    return `${client.name}.${++this.marks}`
  }

  /** Everything is as it was at the beginning. */
  async heal(): Promise<void> {
    this.note('all faults heal')
    clock.set = 0
    for (const server of this.servers) {
      server.come()
      server.isSound = true
    }
    this.isServed = true
    for (const replica of this.replicas) replica.host.thaw()
    // A drain that has begun goes on to its end.
    await clock.pass(30_000, () => this.replicas.every(({ isDraining, gateway }) => !isDraining || !gateway))
    const restarted = this.replicas.map(async (replica) => {
      if (!replica.gateway) await replica.start()
      else await replica.gateway.reload().catch(() => {})
    })
    await this.wait(Promise.all(restarted), 'the end of faults')
  }

  /** Every client is served, is told of what changes, and has what it is owed. */
  async checkServed(): Promise<void> {
    await this.serveAll()
    const isSettled = () => this.clients.every((client) => !client.unanswered().length)
    if (!(await clock.pass(BOUND, isSettled)))
      for (const client of this.clients) for (const missing of client.unanswered()) this.violated(missing)
    // What is opened again, or ends after its calls, does so after a pause.
    await clock.pass(31_000)
    await this.serveAll()
    await this.checkHearing()
  }

  /** Ends everything; nothing may be left. */
  async end(): Promise<void> {
    this.note('the end')
    for (const client of this.clients) client.leave()
    await clock.pass(IDLE * 2 + 30_000)
    if (this.servers.some(({ isAsking }) => isAsking)) await clock.pass(INPUT)
    for (const { gateway, host } of this.replicas) {
      const { sessions, streams } = gateway?.registry.counts() ?? { sessions: 0, streams: 0 }
      if (sessions) this.violated(`${sessions} sessions are left at ${host.origin}`)
      if (streams) this.violated(`${streams} streams are left at ${host.origin}`)
      if (host.exchanges.size) this.violated(`${host.exchanges.size} requests are left at ${host.origin}`)
      for (const { proxy } of gateway?.table().proxies.values() ?? []) {
        const { sessions, connections } = proxy.status()
        if (sessions + connections)
          this.violated(`${sessions} sessions and ${connections} connections are left behind ${host.origin}`)
      }
    }
    for (const server of this.servers) for (const left of server.left()) this.violated(`${left} are left`)
    const held = memory.used - this.held
    if (held) this.violated(`${held} bytes are held`)
    await this.stop()
    if (clock.timers.size) this.violated(`${clock.timers.size} timers are left`)
    for (const server of this.servers)
      for (const [mark, count] of server.carriedOut)
        if (count > 1) this.violated(`${mark} was carried out ${count} times`)
    const internal = unexpectedCount() - this.internal
    if (internal) this.violated(`${internal} internal errors`)
  }

  /** Ends all gateways at once. */
  private async stop(): Promise<void> {
    await this.wait(Promise.all(this.replicas.map((replica) => replica.kill())), 'the end of gateways')
    await clock.pass(5_000)
    for (const child of [...children.values()]) {
      this.violated(`the child ${child.pid} is left`)
      child.exit(null, 'SIGKILL')
    }
  }

  reload(how: 'replace' | 'remove' | 'same'): void {
    if (how === 'replace') this.version++
    this.isServed = how !== 'remove'
    for (const { gateway } of this.replicas) gateway?.reload().catch(() => {})
  }

  /** Lets time pass until something has happened, within the bound. */
  private async wait(work: Promise<unknown>, what: string): Promise<void> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    work.then(over, (error) => {
      this.violated(`${what} failed: ${error?.stack}`)
      over()
    })
    if (!(await clock.pass(BOUND, () => isOver))) this.violated(`${what} took longer than ${BOUND / 1000} s`)
  }

  private serveAll(): Promise<void> {
    return this.wait(
      Promise.all(this.clients.map((client) => this.serve(client))),
      'every client to be served',
    )
  }

  private async serve(client: Client): Promise<void> {
    for (let i = 0; i < BOUND; i++) {
      if (await client.connect()) {
        const script: Script = { ...PLAIN, mark: this.mark(client) }
        const outcome = await client.call(script)
        if (outcome !== 'unanswered' && 'result' in outcome && outcome.result.content) return
      }
      await new Promise<void>((resolve) => void clock.after(1_000, resolve))
    }
  }

  /** Whoever listens hears of what changes. */
  private async checkHearing(): Promise<void> {
    const listeners = this.clients.filter(({ listens }) => listens)
    const isOpen = () => listeners.every(({ isListening }) => isListening)
    if (!(await clock.pass(BOUND, isOpen))) this.violated('not every stream is open again')
    // What was said last has arrived.
    await clock.pass(1_000)
    for (const client of listeners) client.heard = 0
    for (const server of this.servers) server.changed()
    const haveHeard = () => listeners.every(({ heard }) => heard > 0)
    if (await clock.pass(BOUND, haveHeard)) return
    for (const { name, heard } of listeners)
      if (!heard) this.violated(`${name} did not hear that tools changed`)
  }

  private balance(): Host | undefined {
    const up = this.replicas.filter(({ host, isDraining }) => host.isUp && !isDraining)
    return up[Math.floor(chance() * up.length)]?.host
  }

  private toolOf(mark: string): string {
    if (this.servers.length === 1) return 'act'
    const { host } = this.servers[Number(mark.split('.')[1]) % this.servers.length] as Server
    return `${new URL(host.origin).hostname.replace('.test', '')}__act`
  }

  private readonly source: ConfigurationSource = async () => {
    const configurations = this.isServed ? [configurationOf(this.setting, this.version)] : []
    const findings = configurations.flatMap((read) => read.findings)
    return { configurations, findings, sources: new Map() }
  }
}

/** A call that only asks for an answer. */
export const PLAIN: Omit<Script, 'mark'> = {
  delay: 1,
  progress: false,
  log: false,
  asks: false,
  notifies: false,
  end: 'answer',
}

function kindsOf(shape: Shape): ServerKind[] {
  if (shape === 'several') return ['stdio', 'http', 'modern-http']
  return [shape === 'shared' ? 'stdio' : shape]
}

function tokenOf(client: number): string {
  return `the-token-of-client-${client}`
}

const known = new Map<string, ReadConfiguration>()

/** The configuration of a history, which is read once in a process. */
function configurationOf({ shape, authenticated }: Setting, version: number): ReadConfiguration {
  const key = `${shape} ${authenticated} ${version}`
  const found =
    known.get(key) ?? readConfiguration({ file: 'sim.yaml', text: textOf(shape, authenticated, version) }, {})
  known.set(key, found)
  return found
}

function textOf(shape: Shape, authenticated: boolean, version: number): string {
  const tokens = Array.from({ length: 4 }, (_, i) => ({ token: tokenOf(i), caller: `caller${i}` }))
  const mcpServers = kindsOf(shape).map((kind) => ({
    name: kind,
    ...(kind.endsWith('stdio')
      ? { type: 'stdio', command: 'sim', args: [kind, String(version)] }
      : {
          type: kind === 'sse' ? 'sse' : 'streamable-http',
          url: `http://${kind}.test/${kind === 'sse' ? 'sse' : 'mcp'}?${version}`,
        }),
    isolation: shape === 'shared' ? 'shared' : 'session',
    startupTimeout: '5s',
    idleTimeout: `${IDLE / 1000}s`,
    limits: { timeout: `${TIMEOUT / 1000}s` },
  }))
  const names = mcpServers.map(({ name }) => name)
  const router = {
    server: names.length > 1 ? names : names[0],
    prefix: PREFIX,
    ...(authenticated && { auth: { type: 'bearer', tokens } }),
  }
  return JSON.stringify({ name: 'sim', routers: [router], mcpServers })
}
