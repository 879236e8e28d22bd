import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Absence } from '../../src/upstream/aggregate/absence.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { chatty } from './chatty.ts'
import { type Client, open, proxied } from './harness.ts'
import { tiny } from './tiny.ts'

const TIMEOUT = { timeout: 120_000 }
const TOOLS = 'notifications/tools/list_changed'

/** The methods that a client hears of on its GET stream. */
async function heard(t: TestContext, url: string, { headers }: Client): Promise<string[]> {
  const methods: string[] = []
  const response = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => reader.cancel().catch(() => {}))
  async function read() {
    let text = ''
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      text += piece.value
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (\{.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data) methods.push((JSON.parse(data) as Loose).method)
      }
    }
  }
  read().catch(() => {})
  return methods
}

const toolsOf = async (client: Client) =>
  (await client.request('tools/list')).result.tools.map(({ name }: Loose) => name)

test('clients hear that a child of several servers is gone', TIMEOUT, async (t) => {
  const { url } = await proxied(
    t,
    [
      { type: 'streamable-http', url: (await tiny(t, 'one')).url },
      { type: 'stdio', ...faultyStdio('session') },
    ],
    { list: true },
  )
  const client = await open(url)
  const methods = await heard(t, url, client)
  assert.equal((await toolsOf(client)).length > 1, true)
  assert.equal(methods.length, 0)
  process.kill(Number(await client.call('s2__pid')), 'SIGKILL')
  await until(() => methods.includes(TOOLS))
  // It is started again for the list.
  assert.equal((await toolsOf(client)).length > 1, true)
})

test('clients hear that one of several servers is gone, and that it is back', TIMEOUT, async (t) => {
  const two = await chatty(t, 'http')
  const servers = [(await tiny(t, 'one')).url, two.url].map((url) => ({ type: 'streamable-http', url }))
  const { url } = await proxied(t, servers, { list: true })
  const client = await open(url)
  const methods = await heard(t, url, client)
  await until(() => two.streams.size > 0)
  two.status = 503
  two.end('cut')
  await until(() => methods.includes(TOOLS))
  const before = methods.length
  two.status = undefined
  await until(() => methods.slice(before).includes(TOOLS))
})

test('clients hear of a server that was down when they came', TIMEOUT, async (t) => {
  const [one, two] = [await tiny(t, 'one'), await tiny(t, 'two')]
  two.down = true
  const servers = [one, two].map(({ url }) => ({ type: 'streamable-http', url }))
  const { url, logged } = await proxied(t, servers, { list: true })
  const client = await open(url)
  const methods = await heard(t, url, client)
  two.down = false
  await until(() => methods.includes(TOOLS))
  assert.deepEqual(await toolsOf(client), ['s1__who', 's2__who'])
  assert.equal(logged.filter(({ msg }) => /is down/.test(msg)).length, 1)
})

test('many changes at once are announced once, and nothing is looked for twice', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const announced: string[][] = []
  const found: number[] = []
  let isBack = false
  const absence = new Absence({
    announce: (kinds) => announced.push([...kinds]),
    async find(server) {
      found.push(server)
      return isBack
    },
  })
  for (let i = 0; i < 1000; i++) absence.changed(['tools', 'prompts'])
  for (let i = 0; i < 1000; i++) absence.add(1)
  t.mock.timers.tick(500)
  assert.deepEqual(announced, [['tools', 'prompts']])
  assert.deepEqual(found, [1])
  isBack = true
  await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(30_000)
  await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(1_000_000)
  assert.deepEqual(found, [1, 1])
  absence.add(2)
  absence.close()
  t.mock.timers.tick(1_000_000)
  assert.deepEqual(found, [1, 1])
})
