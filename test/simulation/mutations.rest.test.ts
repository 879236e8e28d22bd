import './clock.ts'
import './chance.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RequestLease } from '../../src/access/request-lease.ts'
import { SessionRegistry } from '../../src/mcp/index.ts'
import { SessionCall } from '../../src/mcp/session/session-call.ts'
import { PostReply, StreamReply } from '../../src/mcp/session/stream.ts'
import { SessionLock } from '../../src/upstream/rpc/session-lock.ts'
import { LastingStream } from '../../src/upstream/transport/lasting-stream.ts'
import { history, run } from './history.ts'

/** Histories after which a mutation that was not found counts as missed. */
const MOST = 400

/**
 * Breaks a method of the product, and looks for a history in which that is seen.
 * @param wrap makes the broken method of the right one
 */
function finds<Of extends object, Name extends keyof Of>(
  what: string,
  of: { prototype: Of },
  name: Name,
  wrap: (right: Of[Name]) => Of[Name],
  seen: RegExp,
): void {
  test(`a simulation finds ${what}`, async (t) => {
    const right = of.prototype[name]
    of.prototype[name] = wrap(right)
    t.after(() => {
      of.prototype[name] = right
    })
    const violations = new Set<string>()
    for (const one of fc.sample(history, { numRuns: MOST, seed: 1 })) {
      for (const violation of (await run(one)).violations) violations.add(violation)
      if ([...violations].some((violation) => seen.test(violation))) return
    }
    assert.fail(`it found ${[...violations].slice(0, 10).join('; ') || 'nothing'}`)
  })
}

finds(
  'an answer that is sent twice',
  StreamReply,
  'answer',
  (right) =>
    function (this: StreamReply, text) {
      right.call(this, text)
      right.call(this, text)
    },
  /got 2 answers/,
)

finds(
  'a session that is given to whoever asks',
  SessionRegistry,
  'session',
  (right) =>
    function (this: SessionRegistry, id, prefix, caller) {
      const own = right.call(this, id, prefix, caller)
      const [any] = [...(this as unknown as { sessions: Map<string, typeof own> }).sessions.values()]
      return own && any
    },
  /got a message for|never asked|got \d+ answers|for c\d/,
)

finds(
  'an answer that is lost',
  PostReply,
  'answer',
  (right) =>
    function (this: PostReply, text, ...rest) {
      if (!text.includes('"text":"c1')) right.call(this, text, ...rest)
    },
  /has no answer|to be served took longer/,
)

finds(
  'a turn that does not end',
  SessionLock,
  'leave',
  () => () => {},
  /has no answer|to be served took longer/,
)

finds('what a request holds and does not give back', RequestLease, 'end', () => () => {}, /bytes are held/)

finds(
  'a stream of a server that is not opened again',
  LastingStream,
  'lost',
  () => () => Promise.resolve(false),
  /did not hear/,
)

finds(
  'a fault in a handler',
  SessionCall,
  'serve',
  () => () => {
    throw new Error('a bug')
  },
  /internal errors|to be served took longer/,
)
