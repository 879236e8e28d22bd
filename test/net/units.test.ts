import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../src/access/memory.ts'
import { Breaker, eventParser, type ServerEvent, type StreamPosition } from '../../src/net/index.ts'

/** A text cut into pieces at any places. */
const pieces = (text: string, cuts: number[]) => {
  const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((start, i) => text.slice(start, at[i] ?? text.length))
}

test('server-sent events come out the same however their text is cut', () => {
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const line = fc.stringMatching(/^[^\r\n]{0,20}$/)
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, fc.array(line, { minLength: 1, maxLength: 3 }))),
      end,
      fc.array(fc.nat()),
      (events, br, cuts) => {
        const text = events
          .map(
            ([event, data]) =>
              `event: ${event}${br}: a comment${br}${data.map((each) => `data: ${each}${br}`).join('')}${br}`,
          )
          .join('')
        const found: ServerEvent[] = []
        const parse = eventParser(
          1000,
          (event) => found.push(event),
          () => assert.fail('too large'),
          memory.reserve(),
        )
        for (const piece of pieces(text, cuts)) parse(piece)
        assert.deepEqual(
          found,
          events.map(([event, data]) => ({ event: event || 'message', data: data.join('\n') })),
        )
      },
    ),
  )
})

test('an event that is too large is dropped, and the next one is read', () => {
  const found: string[] = []
  let dropped = 0
  const parse = eventParser(
    20,
    ({ data }) => found.push(data),
    () => dropped++,
    memory.reserve(),
  )
  for (const piece of [`data: ${'x'.repeat(15)}`, 'y'.repeat(30), '\n\ndata: next\n\n']) parse(piece)
  parse(`data: 0123456789\ndata: 0123456789\ndata: 0123456789\n\ndata: last\n\n`)
  assert.deepEqual([found, dropped], [['next', 'last'], 2])
})

test('the position of a stream is that of its last event that has ended', () => {
  const position: StreamPosition = {}
  const parse = eventParser(
    100,
    () => {},
    () => {},
    memory.reserve(),
    position,
  )
  const steps: [string, StreamPosition][] = [
    ['id: 1\nretry: 500\n', { retry: 500 }],
    ['data: a\n\n', { id: '1', retry: 500 }],
    ['data: b\n\nretry: soon\n\n', { id: '1', retry: 500 }],
    ['id:2\n\n', { id: '2', retry: 500 }],
    ['id: no header\u0001\n\n', { id: undefined, retry: 500 }],
    ['id: 3\n\nid\n\n', { id: undefined, retry: 500 }],
  ]
  for (const [text, expected] of steps) {
    parse(text)
    assert.deepEqual(position, expected, text)
  }
})

test('what fails to start is tried again after ever longer pauses, and at once when it has worked', () => {
  let now = 0
  const starts = new Breaker(undefined, () => now)
  const pauses: number[] = []
  for (let i = 0; i < 10; i++) {
    starts.failed('a', 'It broke')
    const start = now
    while (starts.refusal('a')) now += 250
    pauses.push(now - start)
  }
  assert.deepEqual(pauses, [0, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000])
  starts.failed('a', 'It broke')
  assert.match(
    starts.refusal('a') ?? '',
    /^It broke. It failed 11 times in a row; the next attempt is in 30 s$/,
  )
  assert.equal(starts.refusal('b'), undefined)
  starts.worked('a')
  assert.equal(starts.refusal('a'), undefined)
})

test('late failures of what began together open a breaker once, and only the attempt after its pause closes it', () => {
  let now = 0
  const changes: string[] = []
  const rules = { failures: 3, pause: 1000, longest: 4000 }
  const breaker = new Breaker(
    rules,
    () => now,
    ({ key, state }) => void changes.push(`${key} ${state}`),
  )
  const begin = () => {
    const permit = breaker.admit('a')
    assert.ok(typeof permit === 'object', String(permit))
    return permit
  }
  const together = Array.from({ length: 10 }, begin)
  for (const permit of together.slice(0, 9)) permit.failed('It broke')
  assert.equal(breaker.admit('a'), 'It broke. It failed 3 times in a row; the next attempt is in 1 s')
  together[9]?.worked()
  assert.equal(breaker.state(), 'open')
  now += 1000
  assert.equal(breaker.state(), 'half-open')
  const probe = begin()
  assert.equal(breaker.admit('a'), 'It broke. It failed 3 times in a row; the next attempt is under way')
  probe.released()
  begin().failed('It broke again')
  assert.equal(breaker.admit('a'), 'It broke again. It failed 4 times in a row; the next attempt is in 2 s')
  now += 2000
  begin().worked()
  assert.equal(breaker.state(), 'closed')
  assert.deepEqual(changes, ['a open', 'a closed'])
})

test('a success between failures keeps a breaker closed', () => {
  const breaker = new Breaker({ failures: 2, pause: 1000, longest: 1000 })
  for (const way of ['failed', 'worked', 'failed', 'worked', 'failed'] as const) {
    const permit = breaker.admit('a')
    assert.ok(typeof permit === 'object')
    permit[way]('It broke')
  }
  assert.equal(breaker.state(), 'closed')
})
