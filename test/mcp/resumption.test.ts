import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memory } from '../../src/access/memory.ts'
import { EventLog } from '../../src/mcp/session/resumption.ts'
import { EventStream } from '../../src/mcp/session/stream.ts'
import { holdOpen, type Loose, open, post, readEvents, rpc, wire } from '../support/wire.ts'

interface Seen {
  id: string | undefined
  data: Loose
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, count: number): Promise<Seen[]> {
  const found = await readEvents(reader, count, true)
  return found.map(({ id, data }) => ({ id, data: data === '' ? '' : JSON.parse(data) }))
}

async function served() {
  const { app, registry, waiting } = await wire()
  const session = await open(app)
  const get = async (lastEventId?: string, of = session) => {
    const headers = {
      ...of,
      accept: 'text/event-stream',
      ...(lastEventId && { 'last-event-id': lastEventId }),
    }
    const response = await app.request('/one/mcp', { headers })
    assert.equal(response.status, 200)
    return response.body!.getReader()
  }
  const call = (key: string, id: number) =>
    post(app, '/one/mcp', rpc('tools/call', { name: 'wait', arguments: { key } }, id), session)
  return { app, registry, waiting, session, get, call }
}

test('a client that comes back to its GET stream gets what it missed, once', async (t) => {
  holdOpen(t)
  const { app, registry, get } = await served()
  const changed = () => registry.listChanged('/one', 'tools')
  const first = await get()
  changed()
  changed()
  const seen = await read(first, 2)
  await first.cancel()
  changed()
  changed()

  const again = await get(seen[0]!.id)
  const missed = await read(again, 2)
  assert.equal(missed[0]!.id, seen[1]!.id)
  changed()
  const [next] = await read(again, 1)

  // The connection is still there for the gateway: the new one replaces it.
  const third = await get(missed[1]!.id)
  assert.deepEqual(await read(third, 1), [next])
  assert.deepEqual(await read(again, 1), [])

  // Ids of other sessions, and those that nobody gave, begin a stream.
  const other = await open(app)
  for (const id of [seen[0]!.id, 'nonsense', `${seen[0]!.id}9`]) {
    const stream = await get(id, other)
    changed()
    const [begun] = await read(stream, 1)
    assert.match(begun!.id!, /\.1$/)
    await stream.cancel()
  }
})

test('a client may come back to one stream any number of times before its connections end', async (t) => {
  holdOpen(t)
  const { registry, get } = await served()
  let stream = await get()
  for (let i = 0; i < 9; i++) {
    registry.listChanged('/one', 'tools')
    const [{ id }] = (await read(stream, 1)) as [Seen]
    stream = await get(id)
  }
  registry.listChanged('/one', 'tools')
  assert.equal((await read(stream, 1)).length, 1)
})

test('the answer to a call whose connection was lost is there for who comes back', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { waiting, get, call } = await served()
  const answers = [call('while away', 7), call('after', 8)]
  while (waiting.size < 2) await new Promise(setImmediate)
  t.mock.timers.tick(2000)
  const ids: string[] = []
  for (const answer of answers) {
    const reader = (await answer).body!.getReader()
    const [primed] = await read(reader, 1)
    assert.equal(primed!.data, '')
    ids.push(primed!.id!)
    await reader.cancel()
  }
  waiting.get('while away')!()
  await new Promise(setImmediate)
  const [one, two] = [await get(ids[0]), await get(ids[1])]
  const found = await read(one, 9)
  assert.deepEqual(
    found.map(({ data }) => data),
    [{ jsonrpc: '2.0', id: 7, result: { content: [] } }],
  )
  waiting.get('after')!()
  assert.deepEqual(
    (await read(two, 9)).map(({ data }) => data.id),
    [8],
  )
  assert.deepEqual(await read(await get(found[0]!.id), 9), [], 'nothing follows the answer')
  assert.deepEqual((await read(await get(ids[0]), 9)).length, 1, 'it is there until it is too old')
})

test('revisions before 2025-11-25 get no event without data', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { app, waiting } = await wire()
  const session = await open(app, '/one', '2025-06-18')
  const answer = post(app, '/one/mcp', rpc('tools/call', { name: 'wait', arguments: { key: 'a' } }), session)
  while (!waiting.size) await new Promise(setImmediate)
  t.mock.timers.tick(2000)
  waiting.get('a')!()
  assert.equal((await answer).headers.get('content-type'), 'application/json')
})

test('a log keeps the newest events where queues are short', () => {
  const { queueLimit } = memory
  memory.queueLimit = 10
  const log = new EventLog('test')
  const stream = log.open(new EventStream({ lease: { quotaKey: 'test', onGone() {} } } as never, () => {}))
  for (const text of ['aaaa', 'bbbb', 'cccc', 'dddd']) stream.send(text)
  memory.queueLimit = queueLimit
  assert.deepEqual(
    log.after(stream, 0).map(({ text }) => text),
    ['cccc', 'dddd'],
  )
  log.close()
})

test('a log is bounded in characters, streams and time', (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const lease = { quotaKey: 'test', onGone() {} }
  const connection = () => new EventStream({ lease } as never, () => {})
  const log = new EventLog('test')
  const stream = log.open(connection())
  for (let i = 0; i < 100; i++) stream.send(`${i}`.padEnd(100_000))
  const kept = log.after(stream, 0)
  assert.equal(kept.length, 10)
  assert.equal(kept.at(-1)!.number, 100)
  stream.send('x'.repeat(memory.queueLimit + 1))
  assert.equal(log.after(stream, 0).length, 10, 'one that is too large pushes no other out')
  stream.send('x'.repeat(2 ** 20 + 1))
  assert.deepEqual(
    log.after(stream, 0).map(({ number }) => number),
    [102],
    'a large answer is kept alone',
  )
  now = 300_001
  log.expire()
  assert.deepEqual(log.after(stream, 0), [])
  for (let i = 0; i < 1000; i++) log.open(connection()).disconnected(connection())
  log.close()
})
