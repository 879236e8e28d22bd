import { type ClientRequest, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { serving } from './peers/adapters/plantgw.ts'
import { install } from './peers/install.ts'
import { Lab, type Target } from './peers/lab.ts'
import type { Launch, Peer, Site } from './peers/peer.ts'
import { median } from './process.ts'

/**
 * Resident memory of the gateway on each version of Node: without load, under 64 connections, and what idle sessions and open
 * event streams add. Each round is a process of its own.
 */
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const SECONDS = Number(process.env.SECONDS ?? 10)
const SESSIONS = Number(process.env.SESSIONS ?? 10_000)
const STREAMS = Number(process.env.STREAMS ?? 1_000)
const TOOLS = 100
const CONNECTIONS = 64

/** MiB, with the goal of each. */
const GOALS = { idle: 70, load: 150, sessions: 60, streams: 40 }
type Figures = Record<keyof typeof GOALS, number>

/** Options of Node to try, such as `NODE_FLAGS=--max-semi-space-size=4`. */
const FLAGS = process.env.NODE_FLAGS?.split(' ') ?? []

function gateway(node: string, version: string): Peer {
  const launch = (site: Site): Launch => {
    const tools = Array.from({ length: TOOLS }, (_, i) => ({
      name: i ? `get_item_${i}` : 'get_item',
      description: `Get item ${i}`,
      method: 'GET',
      endpoint: `${site.api}/items/{{.Args.id}}`,
      args: [
        { name: 'id', position: 'path', type: 'number', required: true, description: 'Which item' },
        { name: 'tag', position: 'query', type: 'string', description: 'Its tag' },
      ],
    }))
    const routers = [{ server: 'bench', prefix: '/bench' }]
    const file = { name: 'bench', routers, servers: [{ name: 'bench' }], tools }
    const most = 2 * SESSIONS
    const limits = { maxSessions: 10 * most }
    return serving([node, ...FLAGS], site, [file], '/bench/mcp', { limits })
  }
  return { name: `Node ${version}`, version, launch: { tool: launch } }
}

/** The least of some seconds: what the collector of garbage leaves when it has time. */
async function settled(lab: Lab, { pid }: Target): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 10; i++) {
    await pause(500)
    least = Math.min(least, lab.resident(pid))
  }
  return least
}

/** Opens the event stream of a session, and leaves it open. */
function open({ job }: Target, headers: Record<string, string>): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const accept = { accept: 'text/event-stream' }
    const sent = get({
      host: '127.0.0.1',
      port: job.port,
      path: job.path,
      headers: { ...accept, ...headers },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume()
      if (response.statusCode === 200) resolve(sent)
      else reject(new Error(`event stream: ${response.statusCode}`))
    })
  })
}

async function measure(lab: Lab, peer: Peer): Promise<Figures> {
  const quiet = await lab.start(peer, 'tool')
  const idle = await settled(lab, quiet)
  const opened = await lab.openSessions(quiet, SESSIONS)
  const sessions = await settled(lab, quiet)
  const streams: ClientRequest[] = []
  for (const headers of opened.slice(0, STREAMS)) streams.push(await open(quiet, headers))
  const streaming = await settled(lab, quiet)
  for (const stream of streams) stream.on('error', () => {}).destroy()
  quiet.stop()
  const busy = await lab.start(peer, 'tool')
  const load = (await lab.round(busy, CONNECTIONS, SECONDS)).resident
  busy.stop()
  return { idle, load, sessions: sessions - idle, streams: streaming - sessions }
}

export async function memoryBench(): Promise<string> {
  const installed = install((name) => name.startsWith('plantgw'))
  const lab = new Lab(installed)
  try {
    const rows: string[] = []
    for (const node of Object.values(installed.nodes).reverse()) {
      if (!node) continue
      const peer = gateway(node.path, node.version)
      const rounds: Figures[] = []
      for (let i = 0; i < ROUNDS; i++) rounds.push(await measure(lab, peer))
      const of = (key: keyof Figures) => Math.round(median(rounds.map((round) => round[key])))
      rows.push(
        `| ${[peer.name, of('idle'), of('load'), `+${of('sessions')}`, `+${of('streams')}`].join(' | ')} |`,
      )
    }
    const goals = [GOALS.idle, GOALS.load, `+${GOALS.sessions}`, `+${GOALS.streams}`]
    return [
      `Resident memory in MiB with ${TOOLS} tools, median of ${ROUNDS}:`,
      '',
      `| ${['gateway', 'idle', `${CONNECTIONS} connections`, `${SESSIONS} sessions`, `${STREAMS} streams`].join(' | ')} |`,
      '|---|---:|---:|---:|---:|',
      ...rows,
      `| ${['goal', ...goals].join(' | ')} |`,
    ].join('\n')
  } finally {
    lab.close()
  }
}
