import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import autocannon from 'autocannon'
import { configuration } from './lint.ts'
import { type Running, spread, start } from './process.ts'
import { statelessCall } from './stateless-call.ts'

/** How late calls are while the gateway reloads all the time, one file changed each time: rounds take turns. */
const CONFIGURATIONS = Number(process.env.CONFIGURATIONS ?? 1000)
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 5)
/** So many connections call without a pause; with RATE only so many calls a second are made. */
const CONNECTIONS = 16
const RATE = Number(process.env.RATE ?? 0)
/** With RELOADS only so many reloads a second are made: one after another, cheaper ones are also more. */
const RELOADS = Number(process.env.RELOADS ?? 0)
const PORT = 22_100
const GATEWAY = `http://127.0.0.1:${PORT + 1}`

interface Load {
  p99: number
  perSecond: number
}

async function load(): Promise<Load> {
  const result = await autocannon({
    url: `${GATEWAY}/bench/mcp`,
    connections: CONNECTIONS,
    ...(RATE && { overallRate: RATE }),
    duration: SECONDS,
    ...statelessCall({ id: 42, tag: 'shade & wet' }),
  })
  if (result.errors || result.non2xx) throw new Error(`${result.errors} errors, ${result.non2xx} refused`)
  return { p99: result.latency.p99, perSecond: result['2xx'] / result.duration }
}

/** Reloads until it is told to stop; returns how many there were. */
function reloading(folder: string): () => Promise<number> {
  let stopped = false
  const done = (async () => {
    let count = 0
    const began = performance.now()
    for (; !stopped; count++) {
      if (RELOADS) await pause(Math.max(0, began + (count * 1000) / RELOADS - performance.now()))
      const i = count % CONFIGURATIONS
      const text = `${configuration(i)}# ${performance.now()}\n`
      writeFileSync(join(folder, `service-${i}.yaml`), text)
      const response = await fetch(`${GATEWAY}/_reload`, { method: 'POST' })
      const { changed } = (await response.json()) as { changed: string[] }
      if (changed.length !== 1) throw new Error(`${changed.length} changed where one has`)
    }
    return count
  })()
  return () => {
    stopped = true
    return done
  }
}

export async function lateBench(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  const running: Running[] = []
  try {
    for (let i = 0; i < CONFIGURATIONS; i++)
      writeFileSync(join(folder, `service-${i}.yaml`), configuration(i))
    writeFileSync(join(folder, 'tool.yaml'), readFileSync('bench/servers/tool.yaml'))
    const upstream = `http://127.0.0.1:${PORT}`
    const env = (port: number) => ({ PORT: String(port), UPSTREAM: upstream })
    running.push(await start(['--import', 'tsx', 'bench/servers/upstream.ts'], env(PORT)))
    const serve = ['bin/plantgw.js', 'serve', folder, '--port', String(PORT + 1), '--log-format', 'json']
    running.push(await start([...serve, '--log-level', 'warn'], env(PORT + 1)))
    await load()
    const rounds: { still: Load; busy: Load; reloads: number }[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const still = await load()
      const stop = reloading(folder)
      const busy = await load()
      rounds.push({ still, busy, reloads: (await stop()) / SECONDS })
    }
    const row = (name: string, of: 'still' | 'busy') =>
      `| ${name} | ${spread(rounds.map((one) => one[of].p99))} | ${spread(rounds.map((one) => one[of].perSecond)).replace(/\.\d\d/g, '')} |`
    return [
      `Calls during reloads of ${CONFIGURATIONS} configurations, ${ROUNDS} rounds of ${SECONDS} s, median (least…most):`,
      '',
      '| | p99, ms | calls per second |',
      '|---|---|---|',
      row('no reload', 'still'),
      row(RELOADS ? 'reloads' : 'reload after reload', 'busy'),
      '',
      `p99 with to without: ${spread(rounds.map(({ still, busy }) => busy.p99 / still.p99))}; reloads per second: ${spread(rounds.map(({ reloads }) => reloads))}`,
    ].join('\n')
  } finally {
    await Promise.all(running.map((process) => process.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}
