import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { stringify } from 'yaml'
import { toolsFile } from '../cluster/harness.ts'
import { everythingStdio } from '../fixtures/everything/start.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { selfSigned, skipWithoutOpenssl } from '../support/certificates.ts'
import { serveExamples } from '../support/examples.ts'
import { childrenOf, freePort, isThere, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'
import { restTest } from '../support/rest.ts'
import { MODERN_META, modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import {
  ACCEPT,
  ask,
  type Gateway,
  openSession,
  post,
  renamed,
  servedNames,
  serveWorkers,
} from './harness.ts'

const TIMEOUT = { timeout: 120_000 }
const CHILDREN = `/proc/${process.pid}/task/${process.pid}/children`
const SLOW = { ...TIMEOUT, skip: skipWithoutOpenssl || (existsSync(CHILDREN) ? false : 'reads /proc') }
const LIST = { id: 'list', method: 'tools/list' }
const echo = (text: string) => ({
  id: text,
  method: 'tools/call',
  params: { name: 'echo', arguments: { text } },
})
const stdio = () => ({ s: { type: 'stdio' as const, ...everythingStdio('session') } })

/** Connections that say nothing, one after another. */
async function connections(t: TestContext, { port }: Gateway, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let i = 0; i < count; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    sockets.push(socket)
  }
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  return sockets
}

test('connections and calls spread over all workers', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  await connections(t, gateway, 60)
  const counts = await until(async () => {
    const all = (await gateway.workers()).map((one) => one.connections)
    return all.reduce((sum, one) => sum + one) >= 60 && all
  })
  for (const count of counts) assert.ok(Math.abs(count - 20) <= 2, String(counts))
  for (let i = 0; i < 60; i++) assert.equal((await post(gateway.url('tools'), echo(`c${i}`))).status, 400)
  const { headers } = await openSession(gateway.url('tools'))
  await Promise.all(Array.from({ length: 60 }, (_, i) => post(gateway.url('tools'), echo(`c${i}`), headers)))
  const lines = await until(async () => {
    const found = gateway
      .stderr()
      .split('\n')
      .filter((line) => line.includes('"msg":"tool call"'))
    return found.length === 60 && found
  })
  const calls = [1, 2, 3].map((worker) => lines.filter((line) => line.includes(`"worker":${worker},`)).length)
  assert.equal(
    calls.reduce((sum, one) => sum + one),
    60,
  )
  for (const count of calls) assert.ok(Math.abs(count - 20) <= 4, String(calls))
})

test('one worker is one process, and --stdio takes no more', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) }, count: 1 })
  assert.equal(await gateway.workers(), undefined)
  const refused = await run(t, ['serve', gateway.folder, '--stdio', '--workers', '2'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /--stdio serves one client by one process/)
  const wrong = await run(t, ['serve', gateway.folder, '--workers', '0'])
  assert.match(wrong.stderr, /`workers` must be a number from 1 to 99 or `auto`; got "0"/)
})

test('a session that one worker holds is reached from each of them', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { upstreams: stdio() })
  const url = gateway.url('s')
  const { headers } = await openSession(url)
  for (let i = 0; i < 9; i++) {
    const { status, text } = await post(url, LIST, headers)
    assert.equal(status, 200)
    assert.match(text, /"tools":\[/)
  }
  const text = await gateway.metrics()
  assert.match(text, /plantgw_upstream_connections\{tenant="default",prefix="\/s"\} 1\n/)
  assert.match(text, /plantgw_forwarded_requests_total\{prefix="\/s",outcome="ok"\} [1-9]/)
  assert.equal((await ask(url, 'DELETE', headers)).status, 204)
  for (let i = 0; i < 3; i++) assert.equal((await post(url, LIST, headers)).status, 404)
})

restTest('a cancellation that comes too late goes to no other worker', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { upstreams: stdio() })
  const url = gateway.url('s')
  const { headers } = await openSession(url)
  assert.equal((await post(url, LIST, headers)).status, 200)
  const cancelled = { method: 'notifications/cancelled', params: { requestId: LIST.id } }
  for (let i = 0; i < 3; i++) assert.equal((await post(url, cancelled, headers)).status, 202)
  const metrics = await gateway.metrics()
  assert.doesNotMatch(metrics, /plantgw_forwarded_requests_total\{prefix="\/s",outcome="(?!ok)/)
  assert.doesNotMatch(gateway.stderr(), /"level":"warn"/)
})

test('sessions and streams that several workers know of are counted once', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { upstreams: stdio(), files: { tools: await toolsFile(t) } })
  const status = async () => {
    const page = await (await fetch(`${gateway.origin}/_status`)).json()
    const { sessions, streams } = page as { sessions: number; streams: number }
    return { sessions, streams }
  }
  for (const name of ['s', 'tools']) {
    const before = await status()
    const { headers } = await openSession(gateway.url(name))
    for (let i = 0; i < 6; i++) assert.equal((await post(gateway.url(name), LIST, headers)).status, 200)
    // One of them is given to the worker that holds the session, the others to those that have fewer connections.
    const streams = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const sent = request(gateway.url(name), {
          headers: { ...headers, accept: 'text/event-stream' },
        }).end()
        const [response] = await once(sent, 'response')
        response.on('error', () => {}).resume()
        return () => sent.destroy()
      }),
    )
    const open = await status()
    assert.deepEqual(open, { sessions: before.sessions + 1, streams: before.streams + 3 })
    const text = await gateway.metrics()
    assert.match(text, new RegExp(`^plantgw_sessions\\{.*prefix="/${name}".*\\} 1$`, 'm'))
    assert.match(text, new RegExp(`^plantgw_streams ${open.streams}$`, 'm'))
    for (const leave of streams) leave()
    await until(async () => (await status()).streams === before.streams)
  }
})

test('a tool of each worker calls the store of plants, which the gateway has once', TIMEOUT, async (t) => {
  const { base } = await serveExamples(t, ['--workers', '3'])
  const url = `${base}/gateway/plants/mcp`
  const { headers } = await openSession(url)
  for (let i = 0; i < 6; i++) {
    const call = { id: i, method: 'tools/call', params: { name: 'listPlants', arguments: {} } }
    const { text } = await post(url, call, headers)
    assert.doesNotMatch(text, /"isError":true/)
    assert.match(text, /"text":"\[/)
  }
})

restTest('workers have the variables of a file that can be read once', SLOW, async (t) => {
  const cwd = temporaryFolder(t)
  execFileSync('mkfifo', [join(cwd, '.env')])
  const port = await freePort()
  const name = '${NAME_OF_SERVICE}'
  const tool = { name: 't', description: 'A tool', method: 'GET', endpoint: `http://127.0.0.1:9/${name}` }
  const routers = [{ server: 'a', prefix: '/a' }]
  const file = { name: 'a', routers, servers: [{ name: 'a' }], tools: [tool] }
  writeFileSync(join(cwd, 'a.yaml'), stringify(file))
  const written = writeFile(join(cwd, '.env'), 'NAME_OF_SERVICE=piped\n')
  writeFileSync(join(cwd, 'plantgw.yaml'), stringify({ port, workers: 2 }))
  const gateway = plantgw(t, ['serve', 'a.yaml'], { cwd })
  await Promise.all([written, gateway.until(/plantgw serves/)])
  const { headers } = await openSession(`http://127.0.0.1:${port}/a/mcp`)
  for (let i = 0; i < 4; i++)
    assert.match((await post(`http://127.0.0.1:${port}/a/mcp`, LIST, headers)).text, /"tools":\[/)
})

restTest('workers that start together know of each other', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) }, count: 8 })
  const url = gateway.url('tools')
  const sessions = await Promise.all(Array.from({ length: 16 }, () => openSession(url)))
  const asked = sessions.flatMap(({ headers }) => Array.from({ length: 16 }, () => post(url, LIST, headers)))
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([200]))
})

restTest('a gateway that a script started runs its workers, not the script again', TIMEOUT, async (t) => {
  const folder = temporaryFolder(t)
  const script = join(folder, 'start.mjs')
  const main = pathToFileURL(join(ROOT, 'dist/cli/main.js'))
  const lines = [
    `import { main } from ${JSON.stringify(main)}`,
    "console.log('the script runs')",
    'process.exitCode = await main(process.argv.slice(3))',
  ]
  writeFileSync(script, lines.join('\n'))
  const files = { tools: await toolsFile(t) }
  const gateway = await serveWorkers(t, { files, count: 2, node: ['--inspect=0', script] })
  const { headers } = await openSession(gateway.url('tools'))
  for (let i = 0; i < 4; i++) assert.equal((await post(gateway.url('tools'), LIST, headers)).status, 200)
  assert.equal(gateway.stdout().match(/the script runs/g)?.length, 1)
  assert.equal(gateway.stderr().match(/Debugger listening/g)?.length, 1)
})

test('requests that stand alone find the one child of their server from each worker', TIMEOUT, async (t) => {
  const upstreams = { m: { type: 'stdio' as const, ...faultyStdio('modern') } }
  const both = { name: 'both', routers: [{ prefix: '/both', names: 'plain', server: ['tools/*', 'm/*'] }] }
  const files = { tools: await toolsFile(t), both: stringify(both) }
  const gateway = await serveWorkers(t, { upstreams, files })
  const headers = { ...modernHeaders('tools/call', 'pid'), ...ACCEPT }
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pid","arguments":{},${MODERN_META}}}`
  for (const prefix of ['m', 'both']) {
    const pids = new Set<string | undefined>()
    for (let i = 0; i < 9; i++) {
      const { text } = await ask(gateway.url(prefix), 'POST', headers, call)
      pids.add(/"text":"(\d+)"/.exec(text)?.[1])
    }
    assert.equal(pids.size, 1, [...pids].join())
    assert.ok(!pids.has(undefined))
  }
})

test('calls of a batch are carried out once, in whichever worker it arrives', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const url = gateway.url('tools')
  const { headers } = await openSession(url, {}, '2025-03-26')
  const cancelled = { method: 'notifications/cancelled', params: { requestId: 'nothing' } }
  const batch = JSON.stringify([cancelled, echo('x')].map((each) => ({ jsonrpc: '2.0', ...each })))
  const all = Array.from({ length: 6 }, () => ask(url, 'POST', { ...ACCEPT, ...headers }, batch))
  for (const { status, text } of await Promise.all(all)) assert.equal(status, 200, text)
  assert.match(await gateway.metrics(), /^plantgw_tool_calls_total\{.*\} 6$/m)
})

test('a killed worker is replaced: its sessions are gone, and nobody else notices', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { upstreams: stdio(), files: { tools: await toolsFile(t) } })
  const [url, held] = [gateway.url('tools'), gateway.url('s')]
  const { headers } = await openSession(url)
  const sessions = await Promise.all(Array.from({ length: 6 }, () => openSession(held)))
  const before = await gateway.workers()
  const victim = before.find(({ sessions }) => sessions > 0)!
  const failures: string[] = []
  let killed = false
  let served = 0
  const load = async () => {
    while (!killed || served < 60) {
      const { status } = await post(url, echo('x'), headers).catch(({ code }) => ({ status: code }))
      if (killed) served++
      if (status !== 200) failures.push(String(status))
    }
  }
  const loads = Promise.all([load(), load(), load(), load()])
  await until(async () => gateway.stderr().split('"msg":"tool call"').length > 40)
  process.kill(victim.pid, 'SIGKILL')
  killed = true
  await loads
  // What the killed one had in hand is cut off, which clients see as a connection that was reset.
  assert.ok(failures.length <= 4, failures.join())
  assert.deepEqual(new Set(failures), failures.length ? new Set(['ECONNRESET']) : new Set())
  const after = await until(async () => {
    const all = await gateway.workers()
    return all.length === 3 && all
  })
  assert.ok(!after.some(({ pid }) => pid === victim.pid))
  assert.deepEqual(
    after.map(({ worker }) => worker),
    [1, 2, 3],
  )
  const statuses = await Promise.all(sessions.map(({ headers }) => post(held, LIST, headers)))
  const lost = statuses.filter(({ status }) => status === 404).length
  assert.ok(lost > 0 && lost < 6, String(lost))
  assert.equal(statuses.filter(({ status }) => status === 200).length, 6 - lost)
})

test('a reload is served by all workers or by none, and a new one serves the same', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const file = join(gateway.folder, 'tools.yaml')
  const text = await toolsFile(t)
  const reload = () => ask(`${gateway.origin}/_reload`, 'POST')
  const names = () => servedNames(gateway)
  const named = (name: string) => renamed(text, name)
  assert.deepEqual(await names(), ['echo'])
  writeFileSync(file, named('second'))
  assert.equal((await reload()).status, 200)
  assert.deepEqual(await names(), ['second'])
  writeFileSync(file, named('third').replace('GET', 'GTE'))
  assert.equal((await reload()).status, 422)
  assert.deepEqual(await names(), ['second'])
  const [victim] = await gateway.workers()
  process.kill(victim!.pid, 'SIGKILL')
  await until(async () =>
    (await gateway.workers()).some(({ worker, pid }) => worker === 1 && pid !== victim!.pid),
  )
  assert.deepEqual(await names(), ['second'])
  writeFileSync(file, named('third'))
  assert.equal((await reload()).status, 200)
  assert.deepEqual(await names(), ['third'])
})

restTest('workers that cannot be replaced end the gateway with an error', SLOW, async (t) => {
  const { file, key } = selfSigned(temporaryFolder(t), 'own', 10)
  const folder = temporaryFolder(t)
  const cert = join(folder, 'cert.pem')
  copyFileSync(file, cert)
  writeFileSync(join(folder, 'key.pem'), key)
  writeFileSync(join(folder, 'tools.yaml'), await toolsFile(t))
  const settings = join(folder, 'plantgw.yml')
  writeFileSync(settings, stringify({ tls: { cert: 'cert.pem', key: 'key.pem' }, drain: { grace: '0s' } }))
  const args = [
    'serve',
    join(folder, 'tools.yaml'),
    '--settings',
    settings,
    '--port',
    String(await freePort()),
  ]
  const running = plantgw(t, [...args, '--workers', '2', '--log-format', 'json'])
  await running.until(/plantgw serves/)
  rmSync(cert)
  for (const pid of childrenOf(running.child.pid!)) process.kill(pid, 'SIGKILL')
  assert.equal(await running.ended, 2)
  assert.match(running.stderr(), /a worker did not start/)
  assert.match(running.stderr(), /plantgw: worker \d cannot be started: tls: .*cert\.pem/)
})

restTest('no worker serves without the audit log that must be written', TIMEOUT, async (t) => {
  const settings = { audit: { to: 'stdout', fail: 'closed' } }
  const gateway = await serveWorkers(t, {
    files: { tools: await toolsFile(t) },
    settings,
    until: /"listening"/,
  })
  const { headers } = await openSession(gateway.url('tools'))
  gateway.child.stdout?.destroy()
  await until(async () => {
    const { status } = await post(gateway.url('tools'), echo('one'), headers)
    return status === 503
  })
  assert.match(gateway.stderr(), /"worker":\d.*"cannot write the audit log"/)
})

test('workers end with the process that started them', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const workers = await gateway.workers()
  gateway.child.kill('SIGKILL')
  await gateway.ended
  await until(async () => !workers.some(({ pid }) => isThere(pid)))
})
