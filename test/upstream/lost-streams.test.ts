import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { chatty, type Kind } from './chatty.ts'
import { modernSend, open, type Proxied, proxied, send } from './harness.ts'
import { tiny } from './tiny.ts'

const TIMEOUT = { timeout: 120_000 }
const UPDATED = 'notifications/resources/updated'
const LIST_CHANGED = /^notifications\/\w+\/list_changed$/
const URI = 'a:b'

/** What a client has of the messages that answer none of its requests. */
interface Heard {
  messages: Loose[]
  ended: boolean
}

/** Reads a stream of events until it ends, however. */
function hear(t: TestContext, response: Response): Heard & { first: Promise<string> } {
  let onFirst: (data: string) => void = () => {}
  const heard = {
    messages: [] as Loose[],
    ended: false,
    first: new Promise<string>((resolve) => {
      onFirst = resolve
    }),
  }
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => reader.cancel().catch(() => {}))
  async function read() {
    let text = ''
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      text += piece.value
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data === undefined) continue
        onFirst(data)
        if (data.startsWith('{')) heard.messages.push(JSON.parse(data))
      }
    }
  }
  read()
    .catch(() => {})
    .finally(() => {
      heard.ended = true
    })
  return heard
}

let ids = 1_000

/** The clients of the table, each with a stream and subscribed to a resource. */
const CLIENTS: Record<string, (t: TestContext, { url }: Proxied) => Promise<Heard>> = {
  async session(t, { url }) {
    const client = await open(url)
    const headers = { ...client.headers, accept: 'text/event-stream' }
    const stream = hear(t, await fetch(url, { headers }))
    await client.request('logging/setLevel', { level: 'error' })
    await client.request('resources/subscribe', { uri: URI })
    return stream
  },
  async sse(t, { url }) {
    const stream = hear(t, await fetch(url.replace(/mcp$/, 'sse')))
    const address = new URL(await stream.first, url).href
    const request = async (method: string, params: object) => {
      const id = ++ids
      await (await send(address, { id, method, params })).text()
      await until(() => stream.messages.some((message) => message.id === id))
    }
    const clientInfo = { name: 'c', version: '1' }
    await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    await (await send(address, { method: 'notifications/initialized' })).text()
    await request('logging/setLevel', { level: 'error' })
    await request('resources/subscribe', { uri: URI })
    return stream
  },
  async modern(t, { url }) {
    const notifications = { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [URI] }
    const stream = hear(t, await modernSend(url, 'subscriptions/listen', { notifications }))
    await stream.first
    return stream
  },
}

/** Pairs in which the client's own stream ends, so that the client can notice. */
const ENDS = new Set(['sse modern', 'modern modern'])

function methods({ messages }: Heard): string[] {
  return messages.flatMap(({ method }) => (method ? [method] : []))
}

const count = (heard: Heard, method: string) => methods(heard).filter((each) => each === method).length

for (const kind of ['http', 'sse', 'modern'] as const)
  for (const several of [false, true])
    for (const [name, connect] of Object.entries(CLIENTS))
      for (const how of ['clean', 'cut'] as const)
        test(
          `${several ? 'several, one ' : ''}${kind}, client ${name}: a stream that ends (${how}) leaves nobody deaf`,
          TIMEOUT,
          async (t) => {
            const server = await chatty(t, kind)
            const entry = { type: kind === 'sse' ? 'sse' : 'streamable-http', url: server.url }
            const other = several ? [{ type: 'streamable-http', url: (await tiny(t, 'other')).url }] : []
            const gateway = await proxied(t, [entry, ...other], { list: several })
            const heard = await connect(t, gateway)
            // The server has to know the subscription before it tells of it.
            await until(() => [...server.streams].some(({ uris }) => uris.has(URI)))
            server.push(UPDATED, { uri: URI })
            await until(() => count(heard, UPDATED) === 1)
            const before = methods(heard).length
            server.end(how)
            if (ENDS.has(`${kind} ${name}`) && !several) {
              await until(() => heard.ended)
              return
            }
            await until(() =>
              methods(heard)
                .slice(before)
                .some((method) => LIST_CHANGED.test(method)),
            )
            await until(() => [...server.streams].some(({ uris }) => uris.has(URI)))
            server.push(UPDATED, { uri: URI })
            await until(() => count(heard, UPDATED) === 2)
            assert.equal(heard.ended, false)
          },
        )

/** A gateway in front of a server of sessions, and an SSE client of it. */
async function listening(t: TestContext, kind: Kind, entry: object = {}) {
  const server = await chatty(t, kind)
  const type = kind === 'sse' ? 'sse' : 'streamable-http'
  const gateway = await proxied(t, [{ type, url: server.url, ...entry }])
  const heard = await CLIENTS.sse!(t, gateway)
  await until(() => server.streams.size > 0)
  return { server, gateway, heard }
}

const changes = (heard: Heard) => methods(heard).filter((method) => LIST_CHANGED.test(method))

test('a stream with ids goes on after the last one', TIMEOUT, async (t) => {
  const { server, heard } = await listening(t, 'http')
  server.push('notifications/tools/list_changed')
  await until(() => changes(heard).length === 1)
  server.end('clean')
  await until(() => changes(heard).length === 3)
  assert.match(server.seen.at(-1) ?? '', /^GET e\d+$/)
})

test(
  'a session that a server has forgotten is opened again, with level and subscriptions',
  TIMEOUT,
  async (t) => {
    for (const status of [undefined, 400]) {
      const { server, heard } = await listening(t, 'http')
      server.forget()
      server.seen.length = 0
      server.end('clean')
      if (status) {
        // Some servers answer so in place of 404.
        server.status = status
        await until(() => server.seen.includes('initialize'))
        server.status = undefined
      }
      await until(() => changes(heard).length === 2)
      assert.ok(server.seen.includes('logging/setLevel'))
      server.push(UPDATED, { uri: URI })
      await until(() => count(heard, UPDATED) === 1)
    }
  },
)

test(
  'a session of all callers that a server has forgotten is opened again for who listens',
  TIMEOUT,
  async (t) => {
    const { server, heard } = await listening(t, 'http', { isolation: 'shared' })
    server.forget()
    server.end('clean')
    await until(() => changes(heard).length === 2)
    await until(() => [...server.streams].some(({ uris }) => uris.has(URI)))
    server.push(UPDATED, { uri: URI })
    await until(() => count(heard, UPDATED) === 1)
  },
)

test('a server that is down for a while: one line for its end, one for its return', TIMEOUT, async (t) => {
  const { server, gateway, heard } = await listening(t, 'sse')
  const second = await CLIENTS.sse!(t, gateway)
  server.status = 503
  server.seen.length = 0
  server.end('cut')
  await until(() => server.seen.length >= 3)
  server.status = undefined
  await until(() => changes(heard).length === 2 && changes(second).length === 2)
  const lines = gateway.logged.filter(({ msg }) => /event stream of an MCP server/.test(msg))
  assert.deepEqual(
    lines.map(({ level, prefix, server: name, msg }) => [level, prefix, name, msg]),
    [
      ['warn', '/p', 's1', 'lost the event stream of an MCP server; opening it again'],
      ['info', '/p', 's1', 'the event stream of an MCP server is open again'],
    ],
  )
  assert.match(lines[0]?.reason, /s1 closed its event stream/)
  const metrics = createMetrics([], () => new Map())
  for (const record of gateway.streams) metrics.stream(record)
  const text = await metrics.text()
  for (const outcome of ['lost', 'regained'])
    assert.ok(
      text.includes(`plantgw_upstream_streams_total{tenant="default",prefix="/p",outcome="${outcome}"} 2`),
      text,
    )
})

/** A 2026-07-28 subscriber in front of two servers, one of which can be down. */
async function subscribed(t: TestContext, kind: Kind, down: boolean) {
  const server = await chatty(t, kind)
  if (down) server.status = 503
  const entry = { type: kind === 'sse' ? 'sse' : 'streamable-http', url: server.url }
  const other = { type: 'streamable-http', url: (await tiny(t, 'other')).url }
  const gateway = await proxied(t, [entry, other], { list: true })
  return { server, heard: await CLIENTS.modern!(t, gateway) }
}

for (const kind of ['http', 'sse', 'modern'] as const) {
  // A session over streamable HTTP outlives its stream.
  if (kind !== 'http')
    test(
      `several, one ${kind}: a subscriber hears that it drops out, and that it is back`,
      TIMEOUT,
      async (t) => {
        const { server, heard } = await subscribed(t, kind, false)
        await until(() => server.streams.size > 0)
        server.status = 503
        server.end('cut')
        await until(() => changes(heard).length > 0)
        const before = changes(heard).length
        server.status = undefined
        await until(() => changes(heard).length > before)
      },
    )

  test(`several, one ${kind} that was down: a subscriber hears it once it is up`, TIMEOUT, async (t) => {
    const { server, heard } = await subscribed(t, kind, true)
    assert.deepEqual(changes(heard), [])
    server.status = undefined
    await until(() => changes(heard).includes('notifications/tools/list_changed'))
    await until(() => [...server.streams].some(({ uris }) => uris.has(URI)))
    server.push(UPDATED, { uri: URI })
    await until(() => count(heard, UPDATED) === 1)
  })
}

test(
  'a server that takes the session no more ends it, so that its client begins anew',
  TIMEOUT,
  async (t) => {
    const { server, heard } = await listening(t, 'sse')
    server.revision = '2024-11-05'
    server.end('clean')
    await until(() => heard.ended)
  },
)

test('a server that has no event stream is not asked for it again', TIMEOUT, async (t) => {
  const server = await tiny(t, 'one')
  const gateway = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  await CLIENTS.sse!(t, gateway)
  await until(() => server.seen.includes('GET'))
  assert.deepEqual(
    server.seen.filter((method) => method === 'GET'),
    ['GET'],
  )
  assert.ok(!gateway.logged.some(({ msg }) => /event stream/.test(msg)))
})

test('closing the gateway waits for no stream that is lost', TIMEOUT, async (t) => {
  const { server, gateway } = await listening(t, 'sse')
  server.status = 503
  server.end('cut')
  await until(() => gateway.logged.some(({ msg }) => /lost the event stream/.test(msg)))
  await gateway.close()
  server.seen.length = 0
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(server.seen, [])
})
