import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../src/access/memory.ts'
import { Backoff, eventParser, type ServerEvent, type StreamPosition } from '../../src/net/index.ts'

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
          memory.hold(),
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
    memory.hold(),
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
    memory.hold(),
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
  const backoff = new Backoff(() => now)
  const pauses: number[] = []
  for (let i = 0; i < 10; i++) {
    backoff.failed('a', 'It broke')
    const start = now
    while (backoff.refusal('a')) now += 250
    pauses.push(now - start)
  }
  assert.deepEqual(pauses, [0, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000])
  backoff.failed('a', 'It broke')
  assert.match(
    backoff.refusal('a') ?? '',
    /^It broke. It failed 11 times in a row; the next attempt is in 30 s$/,
  )
  assert.equal(backoff.refusal('b'), undefined)
  backoff.worked('a')
  assert.equal(backoff.refusal('a'), undefined)
})
