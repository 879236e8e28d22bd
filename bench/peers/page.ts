import type { Curve } from './chart.ts'
import type { Round } from './lab.ts'
import type { Case } from './peer.ts'

export type Measured = Exclude<Case, 'services'>

export interface Result extends Round {
  case: Measured
  peer: string
  connections: number
}

/** All that one run of the suite has found. */
export interface Report {
  /** Such as `2026-11-23`. */
  date: string
  /** Processor, cores and kernel. */
  machine: string
  /** Load average of the last minute before and after. */
  load: [number, number]
  rounds: number
  seconds: number
  peers: { name: string; version: string; isFloor: boolean }[]
  results: Result[]
  /** MiB without load, by case. */
  idle: { peer: string; case: Measured; resident: number }[]
  /** Milliseconds until the last of so many services answers, and MiB then. */
  startup: { peer: string; services: number; milliseconds: number; resident: number }[]
  /** One answer of so many bytes after the other. */
  large: { peer: string; bytes: number; micros: number; p50: number; grown: number }[]
  curves: Curve[]
  /** What was not measured. */
  left: { name: string; why: string }[]
}

/** The gateway whose figures the README shows. */
export const OWN = 'plantgw, Node 24'
/** The number of connections in the figures of the README. */
const USUAL = 16
/** The number of connections of the figures of memory under load. */
const BUSY = 64

const TITLES: Record<Measured, [title: string, what: string]> = {
  tool: ['HTTP tool call', 'A `tools/call` that becomes one `GET` of an HTTP API.'],
  http: ['Streamable HTTP proxy', 'A `tools/call` that goes on to an MCP server over streamable HTTP.'],
  stdio: [
    'stdio proxy',
    'A `tools/call` over streamable HTTP that goes on to an MCP server over stdio. All connections share a session.',
  ],
  sse: [
    'SSE',
    [
      'A `tools/call` over HTTP with SSE (2024-11-05) that goes on to an MCP server over stdio. Each connection has a session, for which',
      'plantgw starts a server of its own. supergateway and mcp-proxy share one server among all clients, and supergateway sends each',
      'answer to all of them.',
    ].join('\n'),
  ],
}
export const CASES = Object.keys(TITLES) as Measured[]

/** Rows of a table. @param numeric how many columns at the end are numbers */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  if (!rows.length) return ['Not measured in this run.']
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i ? '---:' : '---'))), ...rows.map(line)]
}

const whole = (value: number) => String(Math.round(value))
const fine = (value: number) =>
  value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : whole(value)

/** A figure of every peer, where less is better. */
interface Figure {
  title: string
  unit: string
  values: Map<string, number>
}

function figures({ results, idle, startup, large }: Report): Figure[] {
  const found = new Map<string, Figure>()
  const add = (title: string, unit: string, peer: string, value: number) => {
    const figure = found.get(title) ?? { title, unit, values: new Map() }
    found.set(title, figure)
    figure.values.set(peer, value)
  }
  for (const { case: kind, peer, connections, micros, p99, resident } of results) {
    const of = `${TITLES[kind][0]}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`
    add(`${of}: CPU for a call`, 'µs', peer, micros)
    add(`${of}: p99`, 'ms', peer, p99)
    if (connections === BUSY) add(`${of}: memory under load`, 'MiB', peer, resident)
  }
  for (const { case: kind, peer, resident } of idle)
    add(`${TITLES[kind][0]}: idle memory`, 'MiB', peer, resident)
  for (const { peer, services, milliseconds } of startup)
    add(`Start with ${services} services`, 'ms', peer, milliseconds)
  for (const { peer, bytes, micros } of large) add(`Answer of ${size(bytes)}: CPU`, 'µs', peer, micros)
  return [...found.values()]
}

const size = (bytes: number) => (bytes >= 1e6 ? `${bytes / 1e6} MB` : `${bytes / 1e3} kB`)

/** What is better in another gateway than in this one. */
export function better(report: Report): string[] {
  const rivals = new Set(report.peers.filter(isRival).map(({ name }) => name))
  return figures(report).flatMap(({ title, unit, values }) => {
    const own = values.get(OWN)
    if (own === undefined) return []
    const others = [...values]
      .filter(([name, value]) => rivals.has(name) && value < own)
      .sort((a, b) => a[1] - b[1])
    if (!others.length) return []
    const names = others.map(([name, value]) => `${name} ${fine(value)}`).join(', ')
    return [`- ${title}: ${names} ${unit}; plantgw ${fine(own)}.`]
  })
}

function isRival({ name, isFloor }: Report['peers'][number]): boolean {
  return !isFloor && !name.startsWith('plantgw')
}

/** The four rows that matter. */
export function summary(report: Report): string[] {
  const all = figures(report)
  const floor = report.peers.find(({ isFloor }) => isFloor)?.name ?? ''
  const rivals = report.peers.filter(isRival).map(({ name }) => name)
  const wanted: [string, string][] = [
    ...(['tool', 'http', 'stdio'] as const).map((kind): [string, string] => [
      `${TITLES[kind][0]}, CPU in µs`,
      `${TITLES[kind][0]}, ${USUAL} connections: CPU for a call`,
    ]),
    ['Memory without load, MiB', `${TITLES.stdio[0]}: idle memory`],
  ]
  const rows = wanted.map(([label, title]) => {
    const values = all.find((figure) => figure.title === title)?.values ?? new Map<string, number>()
    const best = rivals
      .filter((name) => values.has(name))
      .sort((a, b) => values.get(a)! - values.get(b)!)
      .at(0)
    const cell = (name: string) => (values.has(name) ? whole(values.get(name)!) : '–')
    return [label, cell(OWN), best ? `${cell(best)} (${best})` : '–', cell(floor)]
  })
  return table(['', OWN, 'best other gateway measured', 'bare relay'], rows)
}

/** A text with new lines between its markers. @throws Error where the markers are not there */
export function withRows(text: string, rows: readonly string[]): string {
  const pattern = /(<!-- benchmarks -->\n).*?(\n<!-- \/benchmarks -->)/s
  if (!pattern.test(text))
    throw new Error('the markers <!-- benchmarks --> and <!-- /benchmarks --> are not there')
  return text.replace(pattern, (_, begin: string, end: string) => `${begin}${rows.join('\n')}${end}`)
}

function caseTable({ results, peers }: Report, kind: Measured): string[] {
  const rows = peers.flatMap(({ name }) =>
    results
      .filter((result) => result.case === kind && result.peer === name)
      .map(({ connections, micros, perSecond, p50, p99, resident }) => [
        name,
        connections,
        whole(micros),
        whole(perSecond),
        fine(p50),
        fine(p99),
        whole(resident),
      ]),
  )
  const head = ['gateway', 'connections', 'CPU, µs', 'calls a second', 'p50, ms', 'p99, ms', 'memory, MiB']
  return table(head, rows)
}

function idleTable({ idle, peers }: Report): string[] {
  const rows = peers.flatMap(({ name }) => {
    const cells = CASES.map((kind) => idle.find((each) => each.case === kind && each.peer === name))
    return cells.some(Boolean) ? [[name, ...cells.map((cell) => (cell ? whole(cell.resident) : '–'))]] : []
  })
  return table(['gateway', ...CASES.map((kind) => TITLES[kind][0])], rows)
}

/** The page `docs/benchmarks.md`. */
export function page(report: Report): string {
  const { date, machine, load, rounds, seconds, peers, startup, large, curves, left } = report
  const others = better(report)
  const start = startup.map(({ peer, services, milliseconds, resident }) => [
    peer,
    services,
    fine(milliseconds / 1_000),
    whole(resident),
  ])
  const answers = large.map(({ peer, bytes, micros, p50, grown }) => [
    peer,
    size(bytes),
    fine(micros / 1_000),
    fine(p50),
    whole(grown),
  ])
  const images = curves.map(({ name, title }) => `![${title}](charts/${name}.svg)`)
  return [
    '# Benchmarks',
    '',
    '<!-- Written by `npm run bench peers`. -->',
    '',
    `Measured on ${date}: ${machine}. The load average of the machine was ${load[0].toFixed(1)} before the run and ${load[1].toFixed(1)} after it.`,
    `Each figure is the median of ${rounds} rounds of ${seconds} s. CPU and times: less is better.`,
    '',
    ...summary(report),
    '',
    'The rows are at 16 connections; memory is that of the stdio proxy. “Bare relay” is not a gateway: it is the least program on Hono',
    'and undici that passes the call on.',
    '',
    '## Where another gateway is better',
    '',
    ...(others.length ? others : ['In no figure of this run.']),
    '',
    ...CASES.flatMap((kind) => [
      `## ${TITLES[kind][0]}`,
      '',
      TITLES[kind][1],
      '',
      ...caseTable(report, kind),
      '',
    ]),
    '## Memory without load',
    '',
    'Resident MiB of the gateway and its workers after the first answers; the servers over stdio are not counted. Under load, memory is in',
    'the tables above: the most at the end of a round.',
    '',
    ...idleTable(report),
    '',
    '## Start',
    '',
    'Seconds from the start of the process to the first answer of the last service; each service is a file with one tool.',
    '',
    ...table(['gateway', 'services', 'seconds', 'memory, MiB'], start),
    '',
    '## A large answer',
    '',
    'The MCP server streams one result as an event over streamable HTTP. CPU and time are for one answer, growth is by how much',
    'memory was above the idle figure afterwards.',
    '',
    ...table(['gateway', 'answer', 'CPU, ms', 'p50, ms', 'growth, MiB'], answers),
    '',
    '## Curves',
    '',
    ...images.flatMap((image) => [image, '']),
    ...METHOD,
    '',
    '## Versions',
    '',
    ...table(
      ['gateway', 'version'],
      peers.map(({ name, version }) => [name, version]),
    ).map((row) => row.replace('---:', '---')),
    ...(left.length
      ? ['', 'Not measured in this run:', '', ...left.map(({ name, why }) => `- ${name}: ${why}.`)]
      : []),
    '',
  ].join('\n')
}

const METHOD = [
  '## Method',
  '',
  '- `taskset` pins the gateway to one core, and the servers behind it and the load to another. Other cores are free.',
  '- All gateways that have a case are started at once, are warmed up, and take turns: one round each, then the next round. The',
  '  figures of a table are the medians of the rounds.',
  '- CPU is what the kernel counted for the gateway and the processes that it started (`/proc/PID/stat`), divided by the calls that',
  '  were answered with a result. Servers over stdio are not counted, though the gateway starts them.',
  '- The load writes to its sockets by hand and sends the next call once it has the answer. Each answer is checked: an error, or a',
  '  result with `isError`, takes the gateway out of the table.',
  '- The servers answer at once with the same 175 bytes.',
  '- Gateways run with their default settings, but for logs, which are off or at warnings, and limits on sessions in plantgw.',
  '',
  'Weaknesses:',
  '',
  '- One machine. Ratios carry over to another one better than microseconds do.',
  '- On two cores, the kernel’s own work and everything else on the machine share them with the measurement; compare the load average.',
  '- One core hides what a gateway gains by many. agentgateway, Unla and the Rust mcp-proxy use all cores of a machine by themselves.',
  '- Clients that wait for their answers hide long pauses; p99 is of a few seconds, without reloads or failures.',
  '- Each gateway is started once. The CPU of the same build differs by up to 40 % from one start to another.',
  '- Ticks of the CPU count are 10 ms; a round with few calls is rough.',
  '- Features differ. A gateway that checks less has less to do.',
  '- We wrote the adapters (`bench/peers/adapters`). If one treats your gateway badly, please send a better one.',
  '',
  '## Repeat it',
  '',
  'In a clone, on Linux with two cores or more:',
  '',
  '```sh',
  'npm ci && npm run bench peers   # 15 to 20 minutes; writes this page, docs/charts and the rows of README.md',
  '```',
  '',
  'npm installs the gateways that it has into a scratch folder. The others are named by variables:',
  '',
  '| variable | what it names |',
  '|---|---|',
  '| `PEER_AGENTGATEWAY`, `PEER_UNLA`, `PEER_MCP_PROXY_RUST` | the program of agentgateway, Unla’s `mcp-gateway`, the Rust mcp-proxy |',
  '| `PEER_PYTHON_MCP_PROXY`, `PEER_PYTHON_FASTMCP` | a command, such as `uvx mcp-proxy` |',
  '| `PEERS` | the names of the gateways to measure, separated by `;`, instead of all |',
  '| `QUICK=1` | short rounds and small numbers, to try an adapter: the figures mean nothing |',
  '| `OUT` | the folder to write to, instead of the clone |',
]
