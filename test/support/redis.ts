import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { freePort, temporaryFolder } from './process.ts'

/** For `skip` of a test: the reason when this machine has no program to start Redis servers with, else false. */
export const noRedis: string | false = spawnSync('redis-server', ['--version']).error
  ? 'no redis-server on this machine'
  : false

/** Nodes of a cluster wait for the disk when they write what they know, however slow it is. */
const IN_MEMORY = '/dev/shm'

export interface RedisServer {
  port: number
  addr: string
  /** Kills it at once. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Sends one command. */
  command(...words: string[]): Promise<unknown>
}

/** A server of the test's own, which keeps nothing. `flags` as on its command line. */
export async function redisServer(
  t: Pick<TestContext, 'after'>,
  flags: readonly string[] = [],
  sentinel?: string,
): Promise<RedisServer> {
  const port = await freePort()
  const folder = temporaryFolder(t, existsSync(IN_MEMORY) ? IN_MEMORY : undefined)
  const file = join(folder, 'redis.conf')
  const lines = ['bind 127.0.0.1', `port ${port}`, `dir ${folder}`, 'daemonize no', sentinel ?? 'save ""']
  writeFileSync(file, `${lines.join('\n')}\n`)
  let child: ReturnType<typeof spawn> | undefined
  const server: RedisServer = {
    port,
    addr: `127.0.0.1:${port}`,
    async stop() {
      const own = child
      child = undefined
      if (!own) return
      own.kill('SIGKILL')
      await once(own, 'close')
    },
    async start() {
      child = spawn('redis-server', [file, ...(sentinel ? ['--sentinel'] : []), ...flags], {
        stdio: 'ignore',
      })
      await server.command('ping')
      if (hasEnded(child)) throw new Error(`redis-server did not start on port ${port}`)
    },
    async command(first, ...rest) {
      // It tries again until the server listens.
      const redis = new Redis({
        port,
        retryStrategy: () => (child && !hasEnded(child) ? 20 : null),
        maxRetriesPerRequest: null,
        enableReadyCheck: false,
        disableClientInfo: true,
      })
      redis.on('error', () => {})
      try {
        return await redis.call(first!, ...rest)
      } catch (error) {
        return error
      } finally {
        redis.disconnect()
      }
    },
  }
  t.after(() => server.stop())
  await server.start()
  return server
}

function hasEnded({ exitCode, signalCode }: ReturnType<typeof spawn>): boolean {
  return exitCode !== null || signalCode !== null
}

/** A Redis Cluster of the test's own: masters that share the slots evenly. */
export async function redisCluster(t: Pick<TestContext, 'after'>, size: number): Promise<RedisServer[]> {
  const nodes: RedisServer[] = []
  for (let i = 0; i < size; i++) nodes.push(await redisServer(t, ['--cluster-enabled', 'yes']))
  const first = nodes[0] as RedisServer
  for (const [i, node] of nodes.entries()) {
    const [from, to] = [i, i + 1].map((part) => Math.floor((16384 * part) / size)) as [number, number]
    await node.command('cluster', 'addslotsrange', String(from), String(to - 1))
    if (i > 0) await node.command('cluster', 'meet', '127.0.0.1', String(first.port))
  }
  for (const node of nodes)
    for (;;) {
      const answer = await node.command('cluster', 'info')
      if (answer instanceof Error) throw answer
      const info = String(answer)
      if (info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${size}`)) break
    }
  return nodes
}
