import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configuration } from './lint.ts'
import { serving } from './peers/adapters/plantgw.ts'
import { install } from './peers/install.ts'
import { Lab, type Round, type Target } from './peers/lab.ts'
import type { Launch, Peer, Site } from './peers/peer.ts'
import { median } from './process.ts'

/** How long calls take while the gateway reads its configurations again and again, beside how long they take without. */
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 5)
const WARM_UP = Number(process.env.WARM_UP ?? 10)
const CONFIGURATIONS = Number(process.env.CONFIGURATIONS ?? 1_000)
const CONNECTIONS = 16
/** Milliseconds between two reloads. */
const PERIOD = 500

/** Of 99 in 100 calls, with the goal of their ratio. */
const GOAL = 1.5

const file = (folder: string, i: number) => join(folder, `service-${i}.yaml`)

/** @param served gets the folder of the configurations */
function gateway(node: string, version: string, served: (folder: string) => void): Peer {
  const launch = (site: Site): Launch => {
    const args = [{ name: 'id', position: 'path', type: 'number', required: true }]
    const tools = [{ name: 'get_item', method: 'GET', endpoint: `${site.api}/items/{{.Args.id}}`, args }]
    const routers = [{ server: 'bench', prefix: '/bench' }]
    const own = { name: 'bench', routers, servers: [{ name: 'bench' }], tools }
    const launch = serving([node], site, [own], '/bench/mcp')
    const configs = join(site.folder, 'configs')
    for (let i = 0; i < CONFIGURATIONS; i++) writeFileSync(file(configs, i), configuration(i))
    served(configs)
    return { ...launch, arguments: { id: 42 } }
  }
  return { name: `Node ${version}`, version, launch: { tool: launch } }
}

/** A round in which one file changes and is read, twice a second. */
async function withReloads(lab: Lab, target: Target, folder: string): Promise<Round> {
  let count = 0
  const timer = setInterval(() => {
    const i = count++ % CONFIGURATIONS
    writeFileSync(file(folder, i), `${configuration(i)}# changed ${performance.now()}\n`)
    process.kill(target.pid, 'SIGHUP')
  }, PERIOD)
  try {
    return await lab.round(target, CONNECTIONS, SECONDS)
  } finally {
    clearInterval(timer)
  }
}

export async function tailBench(): Promise<string> {
  const installed = install((name) => name.startsWith('plantgw'))
  const lab = new Lab(installed)
  try {
    const rows: string[] = []
    for (const node of Object.values(installed.nodes).reverse()) {
      if (!node) continue
      let folder = ''
      const peer = gateway(node.path, node.version, (configs) => {
        folder = configs
      })
      const target = await lab.start(peer, 'tool')
      await lab.round(target, CONNECTIONS, WARM_UP)
      const pairs: [quiet: Round, reloading: Round][] = []
      for (let i = 0; i < ROUNDS; i++)
        pairs.push([await lab.round(target, CONNECTIONS, SECONDS), await withReloads(lab, target, folder)])
      target.stop()
      const of = (value: (pair: [Round, Round]) => number) => median(pairs.map(value)).toFixed(2)
      const ratio = of(([quiet, reloading]) => reloading.p99 / quiet.p99)
      rows.push(
        `| ${[peer.name, of(([quiet]) => quiet.p50), of(([quiet]) => quiet.p99), of(([, busy]) => busy.p50), of(([, busy]) => busy.p99), ratio].join(' | ')} |`,
      )
    }
    return [
      `Calls with ${CONNECTIONS} connections and ${CONFIGURATIONS} configurations of 10 tools, without reloads and with one every ${PERIOD} ms; ms, median of ${ROUNDS}:`,
      '',
      `| gateway | p50 | p99 | p50, reloads | p99, reloads | ratio of p99, goal ${GOAL} |`,
      '|---|---:|---:|---:|---:|---:|',
      ...rows,
    ].join('\n')
  } finally {
    lab.close()
  }
}
