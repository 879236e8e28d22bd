import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, type Running, temporaryFolder } from '../support/process.ts'
import { noRedis, redisServer } from '../support/redis.ts'
import { sessionWorker, statelessWorker, TOKEN, type Worker } from './clients.ts'

/** Clients: half of each revision, half of each at HTTP tools and at a stdio server. */
const CLIENTS = 50
const RELOADS = 200
/** Bytes that the gateway's memory may grow from the 20th reload to the last, under a heap limit of 160 MiB. */
const GROWTH = 96 * 1024 * 1024

const server = fileURLToPath(new URL('./pid-server.js', import.meta.url))

/** The API behind the tools. */
async function api(t: TestContext): Promise<string> {
  const http = createServer((_, response) => response.end('done'))
  const port = await listening(t, http)
  return `http://127.0.0.1:${port}/`
}

/** Resolves with the line of the log that tells of the next reload by the trigger. */
function watchLog({ child }: Running) {
  const waiting = new Map<string, ((line: string) => void)[]>()
  let rest = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const triggers = /"trigger":"([^"]+)"/.exec(line)?.[1]?.split(',') ?? []
        for (const trigger of triggers)
          for (const resolve of waiting.get(trigger)?.splice(0) ?? []) resolve(line)
      }
    })
  return (trigger: string) =>
    new Promise<string>((resolve) => {
      waiting.set(trigger, [...(waiting.get(trigger) ?? []), resolve])
    })
}

/** Bytes of memory of a process (proc_pid_status(5)). */
function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}

/** Processes that a process started and that are there (proc_pid_task_children(5)). */
function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).sort()
}

test('200 reloads under the load of 50 clients lose no call and no session', {
  skip: noRedis || (process.platform !== 'linux' && 'no /proc on this machine'),
  timeout: 300_000,
}, async (t) => {
  const folder = temporaryFolder(t)
  const write = (name: string, text: string) => writeFileSync(join(folder, 'configs', name), text)
  const endpoint = await api(t)
  const redis = await redisServer(t)
  const port = await freePort()
  const head = (name: string) => `name: ${name}\nrouters: [{server: s, prefix: /${name}}]\n`
  const tools = (round: number) => `${head('tools')}servers: [{name: s, description: Round ${round}}]
tools:
  - {name: work, description: Works, method: GET, endpoint: "${endpoint}"}
${round % 2 ? `  - {name: more, description: More, method: GET, endpoint: "${endpoint}"}\n` : ''}`
  const broken = (round: number) =>
    `${head('broken')}servers: [{name: s}]\ntools: [{name: a, description: A, method: GET, endpoint: "${endpoint}${round % 4 < 2 ? '{{.Args.x' : ''}"}]\n`
  mkdirSync(join(folder, 'configs'))
  write('tools.yaml', tools(0))
  write(
    'stdio.yaml',
    `${head('stdio').replace('}]', `, auth: {type: bearer, tokens: [{token: ${TOKEN}, caller: soak}]}}]`)}mcpServers: [{name: s, type: stdio, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(server)}]}]\n`,
  )
  const settings = join(folder, 'plantgw.yml')
  const notifier = { type: 'redis', redis: { addr: redis.addr, topic: 'soak' } }
  writeFileSync(settings, JSON.stringify({ port, notifier }))
  const flags = ['-s', settings, '--log-format', 'json']
  const gateway = plantgw(t, ['serve', join(folder, 'configs'), ...flags], {
    env: { NODE_OPTIONS: '--max-old-space-size=160' },
  })
  await gateway.until(/"trigger":"redis"/)
  const base = `http://127.0.0.1:${port}`
  const log = watchLog(gateway)

  const workers: { worker: Worker; prefix: string; kind: string }[] = []
  for (let i = 0; i < CLIENTS; i++) {
    const [prefix, kind] = [i % 2 ? 'tools' : 'stdio', i % 4 < 2 ? 'session' : 'stateless']
    const url = `${base}/${prefix}/mcp`
    workers.push({
      worker: await (kind === 'session' ? sessionWorker(url) : statelessWorker(url)),
      prefix,
      kind,
    })
  }
  const sessions = workers.map(({ worker }) => worker.sessionId())
  const status = async () => (await fetch(`${base}/_status`)).json() as Promise<Record<string, number>>
  const before = await status()
  // The first call of a client may start its server.
  await Promise.all(workers.map(({ worker }) => worker.work()))
  const children = childrenOf(gateway.child.pid!)
  let over = false
  let calls = 0
  const pids: Set<string>[] = workers.map(() => new Set())
  const loads = workers.map(async ({ worker }, i) => {
    while (!over) {
      pids[i]!.add(await worker.work())
      calls++
    }
  })
  // What fails ends the test at once.
  const failed = Promise.all(loads)
  failed.catch(() => {})

  const triggers: Record<string, () => Promise<unknown>> = {
    SIGHUP: async () => gateway.child.kill('SIGHUP'),
    api: () => fetch(`${base}/_reload`, { method: 'POST' }),
    redis: () => redis.command('publish', 'soak', '{"event":"reload","sender":"soak"}'),
  }
  let warm = 0
  for (let round = 1; round <= RELOADS; round++) {
    write('tools.yaml', tools(round))
    write('broken.yaml', broken(round))
    const trigger = Object.keys(triggers)[round % 3]!
    const done = log(trigger)
    await Promise.race([Promise.all([triggers[trigger]!(), done]), failed])
    const line = JSON.parse(await done)
    assert.deepEqual(line.changed.includes('tools'), true, JSON.stringify(line))
    assert.equal(line.generation, round + 1)
    if (round === 20) warm = memoryOf(gateway.child.pid!)
  }
  over = true
  await failed
  const grown = memoryOf(gateway.child.pid!) - warm
  const after = await status()
  t.diagnostic(`${calls} calls; memory grew by ${Math.round(grown / 1024 / 1024)} MiB`)
  assert.equal(after.sessions, before.sessions)
  assert.deepEqual(childrenOf(gateway.child.pid!), children)
  assert.deepEqual(
    workers.map(({ worker }) => worker.sessionId()),
    sessions,
  )
  for (const [i, { prefix, kind, worker }] of workers.entries()) {
    assert.equal(pids[i]!.size, 1, `${prefix} ${kind}: ${[...pids[i]!]}`)
    if (prefix === 'tools' && kind === 'session')
      assert.ok(worker.told() > RELOADS / 2, String(worker.told()))
  }
  assert.ok(grown < GROWTH, `${grown} bytes`)
  await Promise.all(workers.map(({ worker }) => worker.close()))
})
