import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Issuer, issuer } from './issuer.ts'
import { type Running, start } from './process.ts'
import type { Load, LoadClient, LoadResult } from './servers/load.ts'

/**
 * A gateway under load for a long time: clients of several revisions at HTTP tools and at servers over streamable HTTP and
 * stdio, with JSON Web Tokens, rules, rates and an audit log; one API flaps, and there is a reload every few seconds. First
 * at 80 % of the capacity that is measured, then at ten times of it. Exit code 1 if a request is answered with anything but
 * 200, 429 or 503, or if memory or handles grow.
 */
const SECONDS = Number(process.env.SECONDS ?? 600)
const OVERLOAD_SECONDS = Number(process.env.OVERLOAD_SECONDS ?? Math.min(60, SECONDS))
const RELOAD_SECONDS = Number(process.env.RELOAD_SECONDS ?? 5)
const CAPACITY_SECONDS = 10
const SHARE = 0.8
const TIMES = 10
/** Of the clients, and in overload. */
const CONNECTIONS = [200, 2_000] as const
/** MiB that memory may grow from the middle of the steady load to its end, and handles from the begin to the end of all. */
const MOST_GROWTH = 64
const MOST_HANDLES = 16
const PORT = 23_500
const ADMIN = `http://127.0.0.1:${PORT + 5}`
const CALLERS = 8
const PREFIXES = ['api', 'http', 'stdio']

/** @param rate calls of one caller a second at one prefix */
function configuration({ auth }: Issuer, round: number, rate: number): string {
  const authorize = { rules: [{ tools: ['find_*'] }, { tools: ['get_*'], scopes: ['read'] }] }
  const tool = (name: string, port: number) => ({
    name,
    description: 'Get an item',
    method: 'GET',
    endpoint: `http://127.0.0.1:${port}/items/{{.Args.id}}`,
    args: [{ name: 'id', position: 'path', required: true, type: 'number', description: 'Which item' }],
  })
  const http = { name: 'http', type: 'streamable-http', url: `http://127.0.0.1:${PORT + 2}/mcp` }
  const args = ['--import', 'tsx', 'bench/servers/mcp.ts', 'stdio']
  return JSON.stringify({
    name: 'soak',
    routers: PREFIXES.map((server) => ({
      server,
      prefix: `/${server}`,
      auth,
      authorize,
      rate: [{ per: 'caller', limit: rate, window: '1s' }],
    })),
    servers: [{ name: 'api', description: `Round ${round}` }],
    tools: [tool('get_item', PORT), tool('find_item', PORT + 1)],
    mcpServers: [http, { name: 'stdio', type: 'stdio', command: process.execPath, args }],
  })
}

/** Each session with the stdio server has a process of its own, so they are few. */
function clientsOf(tokens: string[]): LoadClient[] {
  const of = (prefix: string, tool: string, session?: string, most?: number): LoadClient => ({
    path: `/${prefix}/mcp`,
    tokens,
    tool,
    ...(session && { session }),
    ...(most && { most }),
  })
  return [
    of('api', 'get_item'),
    of('api', 'get_item', '2025-11-25'),
    of('api', 'find_item'),
    of('api', 'find_item', '2025-06-18'),
    of('http', 'get_item'),
    of('http', 'get_item', '2025-11-25'),
    of('stdio', 'get_item'),
    of('stdio', 'get_item', '2025-03-26', 4),
  ]
}

interface Sample {
  rss: number
  heap: number
  handles: number
  files: number
  threads: number
}

/** What the gateway takes of the machine; memory in MiB. */
async function sample({ pid }: Running): Promise<Sample> {
  const metrics = await (await fetch(`${ADMIN}/metrics`)).text()
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1])
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return {
    rss: Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024,
    heap: metric('nodejs_heap_size_used_bytes') / 2 ** 20,
    handles: metric('nodejs_active_handles_total'),
    files: readdirSync(`/proc/${pid}/fd`).length,
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)![1]),
  }
}

/** A sample every second, as long as the work takes. */
async function watched<T>(gateway: Running, work: Promise<T>): Promise<[T, Sample[]]> {
  const samples: Sample[] = []
  let isOver = false
  const done = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    samples.push(await sample(gateway))
    await Promise.race([done, pause(1_000)])
  }
  return [await done, samples]
}

/** The least of each value: what the collector of garbage leaves. */
function floor(samples: readonly Sample[]): Sample {
  const keys = Object.keys(samples[0]!) as (keyof Sample)[]
  return Object.fromEntries(keys.map((key) => [key, Math.min(...samples.map((one) => one[key]))])) as never
}

/** Waits until idle connections to servers are closed: the servers keep them for 60 s. */
async function quiet({ pid }: Running, files: number): Promise<void> {
  for (let i = 0; i < 90 && readdirSync(`/proc/${pid}/fd`).length > files; i++) await pause(1_000)
}

/** Changes the configuration, and moves the audit log away, until it is stopped. @returns what stops it */
function reloading(folder: string, issued: Issuer, rate: number): () => Promise<number> {
  const stopped = new AbortController()
  const done = (async () => {
    for (let count = 0; ; count++) {
      if (stopped.signal.aborted) return count
      writeFileSync(join(folder, 'configs', 'soak.yaml'), configuration(issued, count + 1, rate))
      rmSync(join(folder, 'audit.jsonl'), { force: true })
      const response = await fetch(`${ADMIN}/_reload`, { method: 'POST' })
      if (!response.ok) throw new Error(`reload: ${response.status} ${await response.text()}`)
      await pause(RELOAD_SECONDS * 1000, undefined, { signal: stopped.signal }).catch(() => {})
    }
  })()
  return () => {
    stopped.abort()
    return done
  }
}

async function put(child: ChildProcess, load: Load): Promise<LoadResult> {
  child.send(load)
  const [result] = await once(child, 'message')
  return result
}

export async function soakBench(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  const running: Running[] = []
  const issued = await issuer(PORT + 3)
  const loader = fork('bench/servers/load.ts', { execArgv: ['--import', 'tsx'] })
  try {
    for (const [i, server] of ['upstream', 'flapping', 'mcp'].entries())
      running.push(await start(['--import', 'tsx', `bench/servers/${server}.ts`], { PORT: String(PORT + i) }))
    mkdirSync(join(folder, 'configs'))
    writeFileSync(join(folder, 'configs', 'soak.yaml'), configuration(issued, 0, 1e6))
    const settings = {
      port: PORT + 4,
      publicUrl: 'https://bench.example.com',
      admin: { listen: `127.0.0.1:${PORT + 5}` },
      audit: { to: 'file', path: join(folder, 'audit.jsonl'), args: 'names' },
    }
    writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(settings))
    const serve = ['bin/plantgw.js', 'serve', join(folder, 'configs'), '-s', join(folder, 'plantgw.yaml')]
    const gateway = await start([...serve, '--log-format', 'json', '--log-level', 'error'], {})
    running.push(gateway)
    return await soak({ gateway, loader, folder, issued })
  } finally {
    issued.close()
    loader.kill()
    await Promise.all(running.map((each) => each.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Parts {
  gateway: Running
  loader: ChildProcess
  folder: string
  issued: Issuer
}

async function soak({ gateway, loader, folder, issued }: Parts): Promise<string> {
  const tokens = await Promise.all(Array.from({ length: CALLERS }, (_, i) => issued.token(`caller-${i}`)))
  const clients = clientsOf(tokens)
  const load = (seconds: number, connections: number, rate?: number) =>
    put(loader, { port: PORT + 4, seconds, connections, clients, ...(rate && { rate }) })
  const atRest = await sample(gateway)
  await load(CAPACITY_SECONDS / 2, CONNECTIONS[0])
  const measured = await load(CAPACITY_SECONDS, CONNECTIONS[0])
  const capacity = measured.sent / CAPACITY_SECONDS
  // Twice the share that each caller has of the capacity at each prefix.
  const stop = reloading(folder, issued, Math.ceil((2 * capacity) / CALLERS / PREFIXES.length))
  const [steady, during] = await watched(gateway, load(SECONDS, CONNECTIONS[0], capacity * SHARE))
  const [over, above] = await watched(gateway, load(OVERLOAD_SECONDS, CONNECTIONS[1], capacity * TIMES))
  const reloads = await stop()
  await quiet(gateway, atRest.files + MOST_HANDLES)
  const part = (from: number, to: number) =>
    floor(during.slice(Math.floor(during.length * from), Math.ceil(during.length * to)))
  const samples = {
    'before any load': atRest,
    'steady, first fifth': part(0, 0.2),
    'steady, middle fifth': part(0.4, 0.6),
    'steady, last fifth': part(0.8, 1),
    overload: floor(above.slice(Math.floor(above.length / 2))),
    afterwards: await sample(gateway),
  }
  const loads = { capacity: measured, '80 %': steady, '10 times': over }
  const faults = faultsOf(loads, samples)
  if (faults.length) process.exitCode = 1
  return [
    `Soak: ${SECONDS} s at ${SHARE * 100} % of ${Math.round(capacity)} calls a second, ${OVERLOAD_SECONDS} s at ${TIMES} times, ${reloads} reloads:`,
    '',
    '| load | sent | accepted a second | p50, ms | p99, ms | most, ms | answers |',
    '|---|---|---|---|---|---|---|',
    ...Object.entries(loads).map(([name, result]) => loadRow(name, result)),
    '',
    '| gateway, at least | RSS, MiB | heap, MiB | handles | files | threads |',
    '|---|---|---|---|---|---|',
    ...Object.entries(samples).map(
      ([when, { rss, heap, ...counts }]) =>
        `| ${[when, rss.toFixed(0), heap.toFixed(0), ...Object.values(counts)].join(' | ')} |`,
    ),
    '',
    ...(faults.length ? faults : ['Every request was answered; neither memory nor handles grew.']),
  ].join('\n')
}

function loadRow(name: string, { sent, accepted, p50, p99, most, answers, unsent }: LoadResult): string {
  const kinds = Object.entries(answers).map(([kind, count]) => `${count} × ${kind}`)
  if (unsent) kinds.push(`${unsent} not sent, as all connections waited`)
  const times = [p50, p99, most].map((ms) => ms.toFixed(1))
  return `| ${[name, sent, accepted.toFixed(0), ...times, kinds.join(', ')].join(' | ')} |`
}

const ALLOWED = new Set(['200', '200 isError', '429', '503'])

/** What should not have been. */
function faultsOf(
  loads: Record<string, LoadResult>,
  samples: Record<'steady, middle fifth' | 'steady, last fifth' | 'before any load' | 'afterwards', Sample>,
): string[] {
  const faults = Object.entries(loads).flatMap(([name, { answers }]) =>
    Object.entries(answers)
      .filter(([kind]) => !ALLOWED.has(kind))
      .map(([kind, count]) => `${name}: ${count} requests were answered with ${kind}`),
  )
  const grown = (key: keyof Sample, before: Sample, after: Sample, most: number) => {
    if (after[key] - before[key] > most)
      faults.push(`${key} grew from ${before[key].toFixed(0)} to ${after[key].toFixed(0)}`)
  }
  for (const key of ['rss', 'heap'] as const)
    grown(key, samples['steady, middle fifth'], samples['steady, last fifth'], MOST_GROWTH)
  for (const key of ['handles', 'files', 'threads'] as const)
    grown(key, samples['before any load'], samples.afterwards, MOST_HANDLES)
  return faults
}
