import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { proportionalMiB, usage } from './peers/kernel.ts'
import { median, type Running, spread, start } from './process.ts'
import type { Load, LoadResult } from './servers/load.ts'

/**
 * What several workers cost beside one process: CPU of all processes for a call, how evenly calls spread, and the memory
 * of a worker. The load comes at a fixed rate far below the capacity, as processes that wait for a core say nothing
 * of what a call costs, and a process that seldom has a call wakes up for each; gateways take turns, ratios are within a round.
 */
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 5)
/** Calls a second for each worker. */
const RATE = Number(process.env.RATE ?? 300)
const WORKERS = 3
/** For each worker. */
const CONNECTIONS = 16
const PORT = Number(process.env.PORT ?? 22_100)
/** Nothing is left out of what a gateway has started. */
const NONE = '\n'
/** Seconds until the code of calls is compiled in every worker. */
const WARM = Number(process.env.WARM ?? 15)

/** CPU to that of one process, most calls of a worker to the fewest, MiB of a worker; each at most. */
const GOALS = { cpu: 1.05, spread: 1.2, memory: 60 }

interface Target {
  process: Running
  port: number
  workers: number
}

interface Round {
  /** CPU of all processes for a call, in microseconds. */
  micros: number
  /** The most connections of a worker to the fewest; all connections call equally often. */
  spread: number
}

export async function workersBench(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  const running: Running[] = []
  const loader = fork('bench/servers/load.ts', { execArgv: ['--import', 'tsx'], stdio: 'ignore' })
  try {
    running.push(
      await start(['--import', 'tsx', 'bench/servers/upstream.ts'], { PORT: String(PORT), UPSTREAM: '' }),
    )
    writeConfigurations(folder)
    const begin = async (workers: number, port: number): Promise<Target> => {
      const log = ['--log-format', 'json', '--log-level', 'warn']
      const serve = ['bin/plantgw.js', 'serve', folder, '--port', String(port), '--workers', String(workers)]
      const process = await start([...serve, ...log], {})
      running.push(process)
      return { process, port, workers }
    }
    const one = await begin(1, PORT + 1)
    const several = await begin(WORKERS, PORT + 2)
    await pause(2_000)
    const idle = memoryOf(several)
    for (const target of [one, several]) await round(loader, target, target.workers, WARM)
    const rounds = []
    for (let i = 0; i < ROUNDS; i++) {
      const single = await round(loader, one, 1, SECONDS)
      const same = await round(loader, several, 1, SECONDS)
      const each = await round(loader, several, WORKERS, SECONDS)
      rounds.push({ single, same, each })
    }
    return table(rounds, idle, memoryOf(several))
  } finally {
    loader.kill('SIGKILL')
    await Promise.all(running.map((process) => process.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

function writeConfigurations(folder: string): void {
  const tool = {
    name: 'get_item',
    description: 'Get an item',
    method: 'GET',
    endpoint: `http://127.0.0.1:${PORT}/items/{{.Args.id}}`,
    args: [{ name: 'id', position: 'path', type: 'number', required: true, description: 'Which item' }],
  }
  const routers = [{ server: 'bench', prefix: '/bench' }]
  const file = { name: 'bench', routers, servers: [{ name: 'bench' }], tools: [tool] }
  writeFileSync(join(folder, 'bench.yaml'), JSON.stringify(file))
}

/** @param times for how many workers there is load */
async function round(loader: ChildProcess, target: Target, times: number, seconds: number): Promise<Round> {
  const { process, port } = target
  const client = { path: '/bench/mcp', tokens: ['x'], tool: 'get_item' }
  const clients = [client, { ...client, session: '2025-11-25' }]
  const load: Load = { port, seconds, rate: RATE * times, connections: CONNECTIONS * times, clients }
  const before = usage(process.pid, NONE).cpu
  loader.send(load)
  const over = once(loader, 'message')
  await pause(seconds * 500)
  const counts = await connectionsOf(target)
  const [{ sent, answers }] = (await over) as [LoadResult]
  const cpu = usage(process.pid, NONE).cpu - before
  if (Object.keys(answers).some((kind) => kind !== '200')) throw new Error(JSON.stringify(answers))
  return { micros: (cpu / sent) * 1e6, spread: Math.max(...counts) / Math.min(...counts) }
}

/** Of each worker. */
async function connectionsOf({ port }: Target): Promise<number[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/_status`)
  const { workers } = (await answer.json()) as { workers?: { connections: number }[] }
  return workers?.map(({ connections }) => connections) ?? [1]
}

/** MiB of a worker, on the average; what processes share counts for each in part. */
function memoryOf({ process, workers }: Target): number {
  const all = usage(process.pid, NONE, proportionalMiB).resident
  return (all - proportionalMiB(process.pid)) / workers
}

function table(rounds: Record<'single' | 'same' | 'each', Round>[], idle: number, loaded: number): string {
  const micros = (kind: 'single' | 'same' | 'each') =>
    median(rounds.map((round) => round[kind].micros)).toFixed(0)
  const ratio = (kind: 'same' | 'each') =>
    spread(rounds.map((round) => round[kind].micros / round.single.micros))
  const uneven = spread(rounds.flatMap(({ same, each }) => [same.spread, each.spread]))
  const goal = `at most ${GOALS.cpu}`
  return [
    `${WORKERS} workers beside one process, ${ROUNDS} rounds of ${SECONDS} s, median (least…most):`,
    '',
    '| what | measured | goal |',
    '|---|---|---|',
    `| CPU for a call, one process at ${RATE} calls/s | ${micros('single')} µs | |`,
    `| the same, ${WORKERS} workers at ${RATE} calls/s each | ${micros('each')} µs, ${ratio('each')} times | ${goal} |`,
    `| the same, ${WORKERS} workers at ${RATE} calls/s together | ${micros('same')} µs, ${ratio('same')} times | |`,
    `| most connections of a worker to the fewest | ${uneven} | at most ${GOALS.spread} |`,
    `| memory of a worker, idle | ${idle.toFixed(0)} MiB | at most ${GOALS.memory} MiB |`,
    `| the same after load | ${loaded.toFixed(0)} MiB | at most ${GOALS.memory} MiB |`,
  ].join('\n')
}
