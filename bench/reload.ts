import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type * as Check from '../src/build/check-configurations.ts'
import type * as Checks from '../src/checks/index.ts'
import type * as Gateway from '../src/server/gateway.ts'
import type * as Log from '../src/telemetry/log.ts'
import { configuration } from './lint.ts'
import { median } from './process.ts'

/** What a folder of many configurations costs to serve, to validate, and to read again. */
const CONFIGURATIONS = Number(process.env.CONFIGURATIONS ?? 10_000)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
/** So many files are read at once, as the gateway does. */
const AT_ONCE = 16

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

interface Cost {
  cpu: number
  wall: number
  /** The delay of the event loop, in the 99th percentile: what calls wait that come meanwhile. */
  delay: number
}

/** Milliseconds, garbage of what was before apart. */
async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  collect()
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const cpu = process.cpuUsage()
  const began = performance.now()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  const wall = performance.now() - began
  delays.disable()
  return { cpu: (user + system) / 1000, wall, delay: delays.percentile(99) / 1e6 }
}

/** The built modules: tsx would add work of its own. */
async function built(): Promise<typeof Checks & typeof Gateway & typeof Log & typeof Check> {
  const paths = ['checks/index', 'server/gateway', 'telemetry/log', 'build/check-configurations']
  const modules = await Promise.all(
    paths.map((path) => import(new URL(`../dist/${path}.js`, import.meta.url).href)),
  )
  return Object.assign({}, ...modules)
}

async function bareReading(folder: string): Promise<void> {
  const files = (await readdir(folder, { withFileTypes: true })).map(({ name }) => join(folder, name))
  const texts: string[] = []
  let next = 0
  const reader = async () => {
    while (next < files.length) {
      const at = next++
      texts[at] = await readFile(files[at]!, 'utf8')
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, reader))
}

const mebibytes = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`

export async function reloadBench(): Promise<string> {
  const { check, createGateway, createLog, readSettings } = await built()
  const folder = await mkdtemp(join(tmpdir(), 'plantgw-bench-'))
  const write = (i: number, text: string) => writeFile(join(folder, `service-${i}.yaml`), text)
  try {
    for (let i = 0; i < CONFIGURATIONS; i++) await write(i, configuration(i))
    const log = await createLog({ level: 'silent', format: 'json' })
    const settings = readSettings(undefined, {}).settings!
    const before = process.memoryUsage()
    let gateway: Gateway.Gateway | undefined
    const served = await costOf(async () => {
      const made = await createGateway({ paths: [folder], settings, env: {}, log, version: '1' })
      if (!made.gateway) throw new Error(`not served: ${made.findings[0]?.message}`)
      gateway = made.gateway
    })
    collect()
    const memory = process.memoryUsage()
    const heap = memory.heapUsed - before.heapUsed

    const reading: Cost[] = []
    const none: Cost[] = []
    const one: Cost[] = []
    for (let round = 0; round < ROUNDS; round++) {
      reading.push(await costOf(() => bareReading(folder)))
      none.push(await costOf(() => gateway!.reload()))
      await write(round, `${configuration(round)}# changed ${round}\n`)
      const generation = gateway!.table().generation
      one.push(await costOf(() => gateway!.reload()))
      if (gateway!.table().generation !== generation + 1) throw new Error('the change was not seen')
    }
    await gateway!.close()
    gateway = undefined
    const validated = await costOf(async () => {
      const { findings } = await check([folder], { env: {}, practice: {} })
      if (findings.some(({ severity }) => severity === 'error')) throw new Error('the input is not sound')
    })

    const of = (costs: readonly Cost[], key: keyof Cost) => median(costs.map((cost) => cost[key]))
    const bare = of(reading, 'cpu')
    const row = (name: string, { cpu, wall, delay }: Cost, beyond = '') =>
      `| ${name} | ${wall.toFixed(0)} | ${cpu.toFixed(0)} | ${beyond} | ${delay.toFixed(1)} |`
    const rows = (name: string, costs: readonly Cost[]) => {
      const cpu = of(costs, 'cpu')
      return row(name, { cpu, wall: of(costs, 'wall'), delay: of(costs, 'delay') }, (cpu - bare).toFixed(0))
    }
    return [
      `${CONFIGURATIONS} configurations of 10 tools, ${ROUNDS} rounds, median:`,
      '',
      '| work | ms | CPU, ms | beyond reading, CPU ms | delay of the loop, p99, ms |',
      '|---|---|---|---|---|',
      row('until served', served),
      row('validate', validated),
      rows('reading the folder', reading),
      rows('reload, none changed', none),
      rows('reload, one changed', one),
      '',
      `Memory when served: ${mebibytes(memory.rss)} resident, heap ${mebibytes(heap)}: ${(heap / CONFIGURATIONS / 1024).toFixed(1)} KiB for each configuration`,
    ].join('\n')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
