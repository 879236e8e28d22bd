// Restarts under busy connections: no call that was sent may fail. `PLANTGW_RESTARTS=50 npm test -- test/soak/restarts.rest.test.ts`
// makes fifty of them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { noNginx, shippedNginx } from '../support/nginx.ts'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { MODERN_META, modernHeaders } from '../support/served.ts'
import { ACCEPT } from '../support/wire.ts'

const RESTARTS = Number(process.env.PLANTGW_RESTARTS ?? 3)
const CONNECTIONS = 20
const LIMIT = { timeout: 120_000 + RESTARTS * 10_000 }

/** A gateway that can be started again on its port; nginx counts on its usual time to drain. */
async function gateway(t: TestContext, drain: { grace?: string }) {
  const api = createServer((_, response) => response.end('done')).listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => {
    api.closeAllConnections()
    api.close()
  })
  const folder = temporaryFolder(t)
  const endpoint = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`
  const tool = { name: 'work', description: 'Works', method: 'GET', endpoint }
  const routers = [{ server: 's', prefix: '/a' }]
  const servers = [{ name: 's', description: 'A test' }]
  writeFileSync(join(folder, 'a.yaml'), JSON.stringify({ name: 'a', routers, servers, tools: [tool] }))
  const port = await freePort()
  const settings = join(folder, 'plantgw.yml')
  writeFileSync(settings, JSON.stringify({ port, drain }))
  const args = ['serve', join(folder, 'a.yaml'), '-s', settings, '--log-level', 'error']
  const start = async () => {
    const running = plantgw(t, args)
    await running.until(/plantgw serves/)
    return running
  }
  let running = await start()
  return {
    port,
    async restart() {
      running.child.kill('SIGTERM')
      assert.equal(await running.ended, 0, running.stderr())
      running = await start()
    },
  }
}

/** Calls that are answered between two restarts, at least. */
const BETWEEN = 200

/** Calls a tool over busy connections until `stop`, which tells how many calls there were and what failed. */
function load(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{},${MODERN_META}}}`
  const headers = {
    'content-type': 'application/json',
    accept: ACCEPT,
    ...modernHeaders('tools/call', 'work'),
  }
  const failures: string[] = []
  let calls = 0
  let refused = 0
  let over = false
  let wanted: { calls: number; reached(): void } | undefined
  const call = () =>
    new Promise<void>((resolve) => {
      const options = { host: '127.0.0.1', port, agent, path: '/a/mcp', method: 'POST', headers }
      const sent = request(options, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part) => {
          text += part
        })
        response.on('error', () => {})
        response.on('close', () => {
          calls++
          if (wanted && calls >= wanted.calls) wanted.reached()
          if (response.statusCode !== 200 || !text.includes('done'))
            failures.push(`${response.statusCode} ${text}`)
          resolve()
        })
      })
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // Nothing was sent: whoever calls a gateway that restarts tries again.
        if (error.syscall === 'connect') refused++
        else failures.push(`${error.code} ${error.message}`)
        resolve()
      })
      sent.end(body)
    })
  const workers = Array.from({ length: CONNECTIONS }, async () => {
    while (!over) await call()
  })
  return {
    /** Resolves after so many more calls. */
    busy: (more: number) =>
      new Promise<void>((reached) => {
        wanted = { calls: calls + more, reached }
      }),
    async stop() {
      over = true
      await Promise.all(workers)
      agent.destroy()
      return { calls, refused, failures }
    },
  }
}

test(`no call fails in ${RESTARTS} restarts under ${CONNECTIONS} busy connections`, LIMIT, async (t) => {
  const one = await gateway(t, { grace: '500ms' })
  const { busy, stop } = load(one.port)
  for (let i = 0; i < RESTARTS; i++) {
    await busy(BETWEEN)
    await one.restart()
  }
  const { calls, refused, failures } = await stop()
  t.diagnostic(`${calls} calls, ${failures.length} failed, ${refused} times no connection`)
  assert.deepEqual(failures, [])
})

test(`nor behind nginx as deploy/compose has it`, { ...LIMIT, skip: noNginx }, async (t) => {
  const both = [await gateway(t, {}), await gateway(t, {})]
  const base = await shippedNginx(
    t,
    both.map(({ port }) => port),
  )
  const { busy, stop } = load(Number(new URL(base).port))
  for (let i = 0; i < RESTARTS; i++) {
    await busy(BETWEEN)
    await both[i % 2]!.restart()
  }
  const { calls, failures } = await stop()
  t.diagnostic(`${calls} calls, ${failures.length} failed`)
  assert.deepEqual(failures, [])
})
