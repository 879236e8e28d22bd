import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { ownEvents } from '../../src/net/index.ts'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, ROOT } from '../support/process.ts'
import { modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import { type Loose, META } from '../support/wire.ts'
import { type Gateway, post, serveWorkers, type Worker } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }

/** A gateway of two workers with an HTTP tool and a server that asks. */
async function world(t: Parameters<typeof serveWorkers>[0], settings: object = {}): Promise<Gateway> {
  const api = await listening(
    t,
    createServer((request, response) => {
      // The plant 0 is never found.
      if (!request.url?.endsWith('/0'))
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"Fern"}')
    }),
  )
  const shop = JSON.stringify({
    name: 'shop',
    routers: [{ server: 'shop', prefix: '/shop' }],
    servers: [{ name: 'shop', baseUrl: `http://127.0.0.1:${api}` }],
    tools: [
      {
        name: 'getPlant',
        description: 'Gets a plant',
        method: 'GET',
        endpoint: '/plants/{{.Args.id}}',
        args: [{ name: 'id', type: 'number', position: 'path', description: 'Its id', required: true }],
      },
    ],
  })
  const asks = {
    type: 'stdio' as const,
    command: process.execPath,
    args: [join(ROOT, 'test/console/asks.js')],
  }
  return serveWorkers(t, {
    count: 2,
    files: { shop },
    upstreams: { asks },
    settings: { console: { contents: true }, ...settings },
  })
}

/** Calls `getPlant` in each of the workers: each connection goes to the one that waits longest. */
async function callEach(gateway: Gateway): Promise<void> {
  for (const id of [1, 2, 3, 4]) {
    const params = { name: 'getPlant', arguments: { id }, _meta: META }
    const headers = modernHeaders('tools/call', 'getPlant')
    const { text } = await post(gateway.url('shop'), { id, method: 'tools/call', params }, headers)
    assert.match(text, /Fern/)
  }
}

const get = async ({ origin }: Gateway, path: string) => (await fetch(`${origin}/_console${path}`)).text()

/** The processes that recorded calls, of the page of calls. */
const recordersIn = (page: string) =>
  new Set([...page.matchAll(/calls\?id=(\d+)\.\d+/g)].map(([, pid]) => pid))

/** Calls a tool as the page does. @returns the lines of the answer */
async function callFromForm({ origin }: Gateway, asked: object): Promise<Loose[]> {
  const response = await fetch(`${origin}/_console/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(asked),
  })
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test(
  'the console shows the calls of all workers, and an ended worker takes only its own',
  TIMEOUT,
  async (t) => {
    const gateway = await world(t)
    await callEach(gateway)
    const page = await get(gateway, '/calls')
    assert.match(page, />?4 of the last 4 calls/)
    assert.equal(recordersIn(page).size, 2)
    for (const [, id] of page.matchAll(/calls\?id=([\d.]+)/g))
      assert.match(await get(gateway, `/calls?id=${id}`), /plants\/[1-4]\b.*Fern/s)
    assert.match(await get(gateway, ''), /aria-label="4 calls in 60 minutes"/)
    const [killed, left] = await gateway.workers()
    process.kill(killed!.pid, 'SIGKILL')
    await until(async () => {
      // The connection of an earlier question may have been to that worker.
      const all = await gateway.workers().catch(() => [])
      return all.length === 2 && all.every(({ pid }) => pid !== killed!.pid)
    })
    assert.deepEqual([...recordersIn(await get(gateway, '/calls'))], [String(left!.pid)])
  },
)

test('finished calls of all workers are told at once, in the browser and by tail', TIMEOUT, async (t) => {
  const gateway = await world(t)
  const tail = plantgw(t, ['tail', '--format', 'json', '--url', gateway.origin], { cwd: gateway.folder })
  await tail.until(/^following the calls/m)
  const left = new AbortController()
  const events = await fetch(`${gateway.origin}/_console/events`, { signal: left.signal })
  const seen: string[] = []
  const reading = (async () => {
    for await (const { event, data } of ownEvents(events.body!.pipeThrough(new TextDecoderStream())))
      if (event === 'call') seen.push(JSON.parse(data).id)
      else if (event === 'tick') seen.push('tick')
  })().catch(() => {})
  await until(() => seen.includes('tick'))
  await callEach(gateway)
  await until(() => seen.filter((one) => one !== 'tick').length === 4)
  await tail.until(/(?:^\{.*"name":"getPlant".*\}\n){4}/m)
  const lines = tail
    .stdout()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(lines.map(({ id }) => id).sort(), seen.filter((one) => one !== 'tick').sort())
  left.abort()
  await reading
})

test('a worker that begins later is followed, too', TIMEOUT, async (t) => {
  const admin = `127.0.0.1:${await freePort()}`
  const gateway = await world(t, { admin: { listen: admin } })
  const cwd = gateway.folder
  const tail = plantgw(t, ['tail', '--format', 'json', '--url', `http://${admin}`], { cwd })
  await tail.until(/^following the calls/m)
  const workers = async (): Promise<Worker[]> =>
    ((await (await fetch(`http://${admin}/_status`)).json()) as Loose).workers
  const [killed] = await workers()
  process.kill(killed!.pid, 'SIGKILL')
  await until(async () => {
    const all = await workers()
    return all.length === 2 && all.every(({ pid }) => pid !== killed!.pid)
  })
  await callEach(gateway)
  const pids = (await workers()).map(({ pid }) => String(pid))
  await until(() => pids.every((pid) => tail.stdout().includes(`"id":"${pid}.`)))
})

test('tools are called from the console, and a question is answered', TIMEOUT, async (t) => {
  const gateway = await world(t)
  const [line] = await callFromForm(gateway, { prefix: '/shop', tool: 'getPlant', arguments: { id: 7 } })
  assert.match(line!.exchanges[0].sent, /^GET http:\/\/127\.0\.0\.1:\d+\/plants\/7\n/)
  assert.match(line!.answer.result.content[0].text, /Fern/)
  const greet = { prefix: '/asks', tool: 'greet', arguments: {} }
  const { answer } = (await callFromForm(gateway, greet)).at(-1)!
  assert.equal(answer.result.resultType, 'input_required')
  const [key] = Object.keys(answer.result.inputRequests)
  const inputResponses = { [key!]: { action: 'accept', content: { name: 'Ada' } } }
  const { requestState } = answer.result
  const last = (await callFromForm(gateway, { ...greet, inputResponses, requestState })).at(-1)!
  assert.match(last.answer.result.content[0].text, /Hello Ada/)
  assert.match(await get(gateway, '/servers?prefix=/asks'), /[1-9] process(?:es were| was) started/)
  assert.match(await get(gateway, '/tools?prefix=/asks'), /Greets a person/)
  assert.match(await get(gateway, '/calls'), /greet/)
})

test('a call is cancelled when its browser is gone', TIMEOUT, async (t) => {
  const gateway = await world(t)
  const left = new AbortController()
  const response = await fetch(`${gateway.origin}/_console/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ prefix: '/shop', tool: 'getPlant', arguments: { id: 0 } }),
    signal: left.signal,
  })
  assert.equal(response.status, 200)
  left.abort()
  await until(async () => /cancelled/.test(await get(gateway, '/calls')))
})
