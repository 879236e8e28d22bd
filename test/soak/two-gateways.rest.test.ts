import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { proxyTo } from '../store/proxy.ts'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'
import { noRedis, redisServer } from '../support/redis.ts'
import { ownDatabase, postgresUrl, skipUnless } from '../support/services.ts'
import { sessionWorker, statelessWorker, type Worker } from './clients.ts'

const skip = noRedis || (await skipUnless(postgresUrl()))

/**
 * Two gateways over one PostgreSQL and one Redis, both of which the test can take away. They look at the database once an
 * hour, so changes come by the broker and by PostgreSQL's notices only.
 */
test('two gateways on PostgreSQL and Redis, under load, while both go away and come back', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const folder = temporaryFolder(t)
  const http = createServer((_, response) => response.end('done'))
  const port = await listening(t, http)
  const endpoint = `http://127.0.0.1:${port}/`
  const redis = await redisServer(t)
  const url = await ownDatabase(t, postgresUrl())
  const database = await proxyTo(t, url)
  const settings = (name: string, storage: object) => {
    const file = join(folder, name)
    const notifier = { type: 'redis', redis: { addr: redis.addr, topic: 'plantgw' } }
    writeFileSync(file, JSON.stringify({ storage, notifier }))
    return file
  }
  const [ofGateways, ofCommands] = [
    settings('gateways.yml', { type: 'postgres', url: database.url, poll: '1h' }),
    settings('commands.yml', { type: 'postgres', url }),
  ]
  const apply = async (name: string, tools: string[]) => {
    const lines = tools.map(
      (tool) => `  - {name: ${tool}, description: A tool, method: GET, endpoint: "${endpoint}"}\n`,
    )
    const text = `name: ${name}\nrouters: [{server: s, prefix: /${name}}]\nservers: [{name: s, description: A test}]\ntools:\n${lines.join('')}`
    writeFileSync(join(folder, `${name}.yaml`), text)
    const done = await run(t, ['config', 'apply', '-s', ofCommands, '-f', join(folder, `${name}.yaml`)])
    assert.equal(done.code, 0, done.stderr)
    return done
  }
  await apply('load', ['work'])

  const gateways = await Promise.all(
    [await freePort(), await freePort()].map(async (port) => {
      const flags = ['-s', ofGateways, '--port', String(port), '--log-format', 'json']
      const process = plantgw(t, ['serve', ...flags])
      await process.until(/"trigger":"redis"/)
      return { process, base: `http://127.0.0.1:${port}` }
    }),
  )
  /** Until every gateway serves the tools of a prefix, asked without a pause. */
  const live = (prefix: string, tools: string[]) =>
    Promise.all(
      gateways.map(async ({ base, process }) => {
        for (;;) {
          assert.equal(process.child.exitCode, null)
          const status = (await (await fetch(`${base}/_status`)).json()) as {
            prefixes: { prefix: string; tools?: string[] }[]
          }
          const found = status.prefixes.find((one) => one.prefix === prefix)?.tools
          if (found?.join() === tools.join()) return
        }
      }),
    )
  const until = (pattern: RegExp) => Promise.all(gateways.map(({ process }) => process.until(pattern)))

  const workers: Worker[] = []
  for (const { base } of gateways)
    for (const make of [sessionWorker, statelessWorker])
      for (let i = 0; i < 4; i++) workers.push(await make(`${base}/load/mcp`))
  let over = false
  let calls = 0
  const load = Promise.all(
    workers.map(async (worker) => {
      while (!over) {
        assert.equal(await worker.work(), 'done')
        calls++
      }
    }),
  )
  load.catch(() => {})

  const started = performance.now()
  await apply('one', ['a'])
  const written = performance.now()
  await live('/one', ['a'])
  t.diagnostic(
    `live on both ${Math.round(performance.now() - written)} ms after the command, which took ${Math.round(written - started)} ms`,
  )

  // The broker goes away: PostgreSQL's notices still bring the change.
  await redis.stop()
  await until(/lost connection to the reload broker/)
  const untold = await apply('one', ['a', 'b'])
  assert.match(untold.stderr, /warning: the change is written, but a gateway could not be notified/)
  await live('/one', ['a', 'b'])
  await redis.start()
  await until(/reconnected to the reload broker/)

  // The database goes away: what was read is served on, and what changed meanwhile is caught up with.
  await database.stop()
  assert.equal((await run(t, ['reload', '-s', ofCommands])).code, 0)
  await until(/"code":"unreadable-store"/)
  await apply('one', ['c'])
  await live('/one', ['a', 'b'])
  await database.start()
  await live('/one', ['c'])

  // Both, and a configuration is gone when they are back.
  await Promise.all([redis.stop(), database.stop()])
  assert.equal((await run(t, ['config', 'delete', 'one', '-s', ofCommands])).code, 0)
  await Promise.all([redis.start(), database.start()])
  await until(/"removed":\["one"\]/)

  over = true
  await load
  t.diagnostic(`${calls} calls, none failed`)
  await Promise.all(workers.map((worker) => worker.close()))
})
