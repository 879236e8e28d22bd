import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join } from 'node:path'
import { agentgateway, mcpProxyRust, unla } from './adapters/compiled.ts'
import { floor } from './adapters/floor.ts'
import { fastmcp, mcpProxy, supergateway } from './adapters/npm.ts'
import { plantgw } from './adapters/plantgw.ts'
import { fastmcpPython, mcpProxyPython } from './adapters/python.ts'
import { type Curve, chart } from './chart.ts'
import { type Installed, install } from './install.ts'
import { Lab, type Round, type Target, turns } from './lab.ts'
import { CASES, type Measured, page, type Report, summary, withRows } from './page.ts'
import type { Case, Peer } from './peer.ts'

/** How much is measured. */
const FULL = {
  rounds: 5,
  seconds: 1.5,
  warmup: 3,
  connections: [1, 16, 64, 256],
  services: 1_000,
  starts: 3,
  tools: [1, 10, 100, 1_000],
  prefixes: [1, 10, 100, 1_000],
  sessions: [1, 100, 1_000, 10_000],
  sizes: [1e3, 1e4, 1e5, 1e6, 1e7],
}
const QUICK: typeof FULL = {
  rounds: 1,
  seconds: 0.2,
  warmup: 0.2,
  connections: [1, 16],
  services: 20,
  starts: 1,
  tools: [1, 10],
  prefixes: [1, 10],
  sessions: [1, 10],
  sizes: [1e3, 1e6],
}
/** Sessions of HTTP with SSE have a server each. */
const MOST_SSE = 16
/** Connections of the curves. */
const USUAL = 16

/** The suite that compares gateways, for `docs/benchmarks.md`, its charts and the rows of the README. */
export async function peersBench(): Promise<string> {
  if (cpus().length < 2) throw new Error('two cores are needed: one for the gateway, one for all else')
  const named = process.env.PEERS?.split(';')
  const installed = install((name) => !named || named.some((each) => each.startsWith(name)))
  const peers = peersOf(installed).filter(({ name }) => !named || named.includes(name))
  const lab = new Lab(installed)
  try {
    const report = await new Suite(lab, peers, process.env.QUICK ? QUICK : FULL).run()
    write(report, process.env.OUT ?? '.')
    return summary(report).join('\n')
  } finally {
    lab.close()
  }
}

function peersOf(installed: Installed): Peer[] {
  const own = Number(process.versions.node.split('.')[0])
  return [
    ...[...new Set([24, 20, own])].map((major) => plantgw(major, installed.nodes[major])),
    floor(installed),
    ...[supergateway, mcpProxy, fastmcp].map((adapter) => adapter(installed)),
    ...[agentgateway, unla, mcpProxyRust, mcpProxyPython, fastmcpPython].map((adapter) => adapter()),
  ]
}

/** Writes the page and its charts, and the rows of the README where there is one. */
function write(report: Report, out: string): void {
  const docs = join(out, 'docs')
  mkdirSync(join(docs, 'charts'), { recursive: true })
  writeFileSync(join(docs, 'benchmarks.md'), page(report))
  for (const curve of report.curves) writeFileSync(join(docs, 'charts', `${curve.name}.svg`), chart(curve))
  const readme = join(out, 'README.md')
  writeFileSync(readme, withRows(readFileSync(readme, 'utf8'), summary(report)))
}

class Suite {
  readonly #report: Report
  readonly #peers: Peer[]

  constructor(
    readonly lab: Lab,
    peers: readonly Peer[],
    readonly plan: typeof FULL,
  ) {
    this.#peers = peers.filter(({ absent }) => !absent)
    this.#report = {
      date: new Date().toISOString().slice(0, 10),
      machine: `${cpus()[0]?.model.trim()}, ${cpus().length} cores, Linux ${release()}`,
      load: [loadavg()[0]!, 0],
      rounds: plan.rounds,
      seconds: plan.seconds,
      peers: this.#peers.map(({ name, version, isFloor }) => ({ name, version, isFloor: isFloor === true })),
      results: [],
      idle: [],
      startup: [],
      large: [],
      curves: [],
      left: peers.flatMap(({ name, absent }) => (absent ? [{ name, why: absent }] : [])),
    }
  }

  async run(): Promise<Report> {
    for (const kind of CASES) await this.#case(kind)
    await this.#startup()
    for (const kind of ['tool', 'http', 'stdio'] as const) this.#connections(kind)
    await this.#tools()
    await this.#prefixes()
    await this.#sessions()
    await this.#sizes()
    this.#report.load[1] = loadavg()[0]!
    return this.#report
  }

  #failed(name: string, what: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    console.error(`${name}, ${what}: ${why}`)
    this.#report.left.push({ name: `${name}, ${what}`, why: why.replaceAll(/\s+/g, ' ').slice(0, 200) })
  }

  /** Starts all that have a case, does something with them, and ends them. */
  async #with(kind: Case, work: (targets: Target[]) => Promise<void>, options = {}): Promise<void> {
    console.error(`${new Date().toISOString().slice(11, 19)} ${kind} ${JSON.stringify(options)}`)
    const targets: Target[] = []
    try {
      for (const peer of this.#peers.filter(({ launch }) => launch[kind]))
        try {
          targets.push(await this.lab.start(peer, kind, options))
        } catch (error) {
          this.#failed(peer.name, kind, error)
        }
      await work(targets)
    } finally {
      for (const target of targets) target.stop()
    }
  }

  #turns(
    targets: readonly Target[],
    what: string,
    measure: (target: Target) => Promise<Round>,
    rounds?: number,
  ) {
    return turns(targets, rounds ?? this.plan.rounds, measure, ({ peer }, error) =>
      this.#failed(peer.name, what, error),
    )
  }

  async #case(kind: Measured): Promise<void> {
    const { plan, lab } = this
    await this.#with(kind, async (targets) => {
      for (const { peer, idle } of targets)
        this.#report.idle.push({ peer: peer.name, case: kind, resident: idle })
      const warm = await this.#turns(targets, kind, (target) => lab.round(target, USUAL, plan.warmup), 1)
      const left = [...warm.keys()]
      for (const connections of plan.connections.filter((count) => kind !== 'sse' || count <= MOST_SSE)) {
        const what = `${kind}, ${connections} connections`
        const found = await this.#turns(left, what, (target) => lab.round(target, connections, plan.seconds))
        for (const [{ peer }, round] of found)
          this.#report.results.push({ case: kind, peer: peer.name, connections, ...round })
      }
    })
  }

  async #startup(): Promise<void> {
    const { services, starts } = this.plan
    const found = new Map<string, { startup: number; idle: number }[]>()
    for (let i = 0; i < starts; i++)
      await this.#with(
        'services',
        async (targets) => {
          for (const { peer, startup, idle } of targets)
            found.set(peer.name, [...(found.get(peer.name) ?? []), { startup, idle }])
        },
        { services },
      )
    for (const [peer, times] of found) {
      const [middle] = times.sort((a, b) => a.startup - b.startup).slice(Math.floor(times.length / 2))
      this.#report.startup.push({ peer, services, milliseconds: middle!.startup, resident: middle!.idle })
    }
  }

  /** Points of a curve by what was measured at each of its values. */
  #draw(curve: Omit<Curve, 'lines'>, found: Map<number, Map<Target, Round>>): void {
    const names = this.#peers.map(({ name }) => name)
    const lines = names.map((name) => ({
      name,
      points: [...found].flatMap(([x, rounds]): [number, number][] =>
        [...rounds].flatMap(([{ peer }, { micros }]): [number, number][] =>
          peer.name === name ? [[x, micros]] : [],
        ),
      ),
    }))
    this.#report.curves.push({ ...curve, lines: lines.filter(({ points }) => points.length > 0) })
  }

  #connections(kind: 'tool' | 'http' | 'stdio'): void {
    const title = {
      tool: 'HTTP tool call by connections',
      http: 'Streamable HTTP proxy by connections',
      stdio: 'stdio proxy by connections',
    }[kind]
    const results = this.#report.results.filter((result) => result.case === kind)
    const lines = this.#peers.map(({ name }) => ({
      name,
      points: results
        .filter(({ peer }) => peer === name)
        .map(({ connections, micros }): [number, number] => [connections, micros]),
    }))
    const axes = { x: 'connections', y: 'CPU for a call, µs' }
    const drawn = lines.filter(({ points }) => points.length > 0)
    this.#report.curves.push({ name: `connections-${kind}`, title, ...axes, lines: drawn })
  }

  async #tools(): Promise<void> {
    const found = new Map<number, Map<Target, Round>>()
    const list = { method: 'tools/list', params: {} }
    for (const tools of this.plan.tools) {
      const measured = async (targets: Target[]) => {
        found.set(tools, await this.#short(targets, 'tools', list))
      }
      await this.#with('http', measured, { tools })
    }
    const title = 'Streamable HTTP proxy: tools/list by tools in the list'
    this.#draw({ name: 'tools', title, x: 'tools', y: 'CPU for a list, µs' }, found)
  }

  async #prefixes(): Promise<void> {
    const found = new Map<number, Map<Target, Round>>()
    for (const services of this.plan.prefixes) {
      const measured = async (targets: Target[]) => {
        found.set(services, await this.#short(targets, 'prefixes'))
      }
      await this.#with('services', measured, { services })
    }
    const title = 'HTTP tool call by prefixes of the gateway'
    this.#draw({ name: 'prefixes', title, x: 'prefixes', y: 'CPU for a call, µs' }, found)
  }

  async #sessions(): Promise<void> {
    const found = new Map<number, Map<Target, Round>>()
    await this.#with('http', async (all) => {
      const targets = all.filter(({ peer }) => !peer.isFloor)
      let open = 1
      for (const sessions of this.plan.sessions) {
        for (const target of targets) await this.lab.openSessions(target, sessions - open)
        open = sessions
        found.set(sessions, await this.#short(targets, 'sessions'))
      }
    })
    const title = 'Streamable HTTP proxy by open sessions'
    this.#draw({ name: 'sessions', title, x: 'sessions', y: 'CPU for a call, µs' }, found)
  }

  async #sizes(): Promise<void> {
    const { plan, lab } = this
    const found = new Map<number, Map<Target, Round>>()
    await this.#with('http', async (targets) => {
      for (const bytes of plan.sizes) {
        const measure = (target: Target) => {
          const params = { ...target.job.params, arguments: { id: 42, size: bytes } }
          return lab.round(target, 1, plan.seconds, { params })
        }
        await this.#turns(targets, `answer of ${bytes} bytes`, measure, 1)
        const rounds = await this.#turns(targets, `answer of ${bytes} bytes`, measure, 3)
        found.set(bytes, rounds)
        if (bytes !== plan.sizes.at(-1)) continue
        for (const [{ peer, idle }, { micros, p50, resident }] of rounds)
          this.#report.large.push({ peer: peer.name, bytes, micros, p50, grown: resident - idle })
      }
    })
    const title = 'Streamable HTTP proxy by size of a streamed answer'
    this.#draw({ name: 'size', title, x: 'bytes', y: 'CPU for an answer, µs' }, found)
  }

  /** Three short rounds at the usual number of connections, warmed up. */
  async #short(targets: readonly Target[], what: string, more = {}): Promise<Map<Target, Round>> {
    const { plan, lab } = this
    const warm = await this.#turns(targets, what, (target) => lab.round(target, USUAL, plan.seconds, more), 1)
    return this.#turns([...warm.keys()], what, (target) => lab.round(target, USUAL, plan.seconds, more), 3)
  }
}
