import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { test } from 'node:test'
import type { Tool } from '../../src/config/model.ts'
import { Cancellation, Resilience, type ResilienceOptions, type RetryOutcome } from '../../src/net/index.ts'
import { arg, callable, json, listen, text, upstream } from './harness.ts'

/** A resilience whose pauses are over at once, on a clock that they advance. */
function resilient(options: Partial<ResilienceOptions> = {}) {
  let skew = 0
  const pauses: number[] = []
  const retries: RetryOutcome[] = []
  const changes: (string | undefined)[][] = []
  const resilience = new Resilience({
    name: 'shop',
    now: () => performance.now() + skew,
    async wait(milliseconds) {
      pauses.push(milliseconds)
      skew += milliseconds
    },
    onRetry: (outcome) => void retries.push(outcome),
    onBreaker: ({ key, state, reason }) => void changes.push([key, state, reason]),
    ...options,
  })
  const pass = (milliseconds: number) => {
    skew += milliseconds
  }
  return { resilience, pauses, retries, changes, pass }
}

type Answers = (number | 'reset' | [status: number, headers: Record<string, string>])[]

/** Answers each request as the list says, and then with 200. Connections end with each, so that none is stale. */
const flapping = (answers: Answers) =>
  upstream((response) => {
    const next = answers.shift() ?? 200
    if (next === 'reset') return void response.socket?.destroy()
    const [status, headers] = typeof next === 'number' ? [next, {}] : next
    answer(response, status, headers)
  })

function answer(response: ServerResponse, status: number, headers: Record<string, string> = {}) {
  for (const [name, value] of Object.entries({ connection: 'close', ...headers }))
    response.setHeader(name, value)
  json(response, { status }, status)
}

const retry = { attempts: 3 }

test('a request is repeated until it gets an answer, as often as `attempts` says', async () => {
  const cases: [Answers, failure: string | undefined, arrived: number, retries: RetryOutcome[]][] = [
    [[], undefined, 1, []],
    [['reset'], undefined, 2, ['ok']],
    [[502, 503], undefined, 3, ['failed', 'ok']],
    [['reset', 504], undefined, 3, ['failed', 'ok']],
    [[429, 429, 429], 'status', 3, ['failed', 'failed']],
    [['reset', 'reset', 'reset'], 'network', 3, ['failed', 'failed']],
    [[503, 404], 'status', 2, ['ok']],
    [[500], 'status', 1, []],
    [[404], 'status', 1, []],
  ]
  for (const [answers, failure, arrived, retries] of cases) {
    const label = JSON.stringify(answers)
    const target = await flapping([...answers])
    const { resilience, ...seen } = resilient()
    const call = callable({ endpoint: target.origin }, { server: { retry }, resilience })
    assert.equal((await call()).failure, failure, label)
    assert.equal(target.received.length, arrived, label)
    assert.deepEqual(seen.retries, retries, label)
    for (const [i, pause] of seen.pauses.entries())
      assert.ok(pause >= 125 * 2 ** i && pause <= 250 * 2 ** i, `${label}: ${pause}`)
  }
})

test('only what may be sent twice is, with its body', async () => {
  const cases: [Partial<Tool>, arrived: number][] = [
    [{ method: 'GET' }, 2],
    [{ method: 'HEAD' }, 2],
    [{ method: 'OPTIONS' }, 2],
    [{ method: 'PUT' }, 2],
    [{ method: 'DELETE' }, 2],
    [{ method: 'POST' }, 1],
    [{ method: 'PATCH' }, 1],
    [{ method: 'POST', annotations: { destructiveHint: false } }, 1],
    [{ method: 'POST', annotations: { readOnlyHint: true } }, 2],
    [{ method: 'POST', annotations: { idempotentHint: true } }, 2],
    [{ method: 'PUT', annotations: { idempotentHint: false } }, 1],
    [{ method: 'GET', retry: { attempts: 1 } }, 1],
  ]
  for (const first of ['reset', 503] as const)
    for (const [tool, arrived] of cases) {
      const label = JSON.stringify([first, tool])
      const target = await flapping([first])
      const { resilience } = resilient()
      const parts = { endpoint: target.origin, args: [arg('a', 'body')], ...tool }
      await callable(parts, { server: { retry }, resilience })({ a: 'x' })
      assert.equal(target.received.length, arrived, label)
      for (const { body } of target.received) assert.equal(`${body}`, '{"a":"x"}', label)
    }
})

test('without `retry` nothing is repeated', async () => {
  const target = await flapping([503])
  const { resilience } = resilient({ breaker: { failures: 5 } })
  await callable({ endpoint: target.origin }, { resilience })()
  assert.equal(target.received.length, 1)
})

test('a redirected request is repeated where it stands', async () => {
  const target = await flapping([[307, { location: '/b' }], 503])
  const { resilience } = resilient()
  const tool = { endpoint: `${target.origin}/a`, followRedirects: true }
  assert.equal((await callable(tool, { server: { retry }, resilience })()).failure, undefined)
  assert.deepEqual(
    target.received.map(({ url }) => url),
    ['/a', '/b', '/b'],
  )
})

test('Retry-After is waited for if the time of the call allows it', async () => {
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
  const cases: [headers: Record<string, string>, pause: number | undefined][] = [
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': 'Sun, 06 Nov 1994 08:49:40 GMT', date }, 3_000],
    [{ 'retry-after': '30' }, undefined],
    [{ 'retry-after': 'Sun, 06 Nov 1994 08:50:37 GMT', date }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
  ]
  for (const status of [429, 503])
    for (const [headers, pause] of cases) {
      const target = await flapping([[status, headers]])
      const { resilience, pauses, retries } = resilient()
      const limits = { timeout: 20_000 }
      const outcome = await callable({ endpoint: target.origin, limits }, { server: { retry }, resilience })()
      const label = JSON.stringify([status, headers])
      assert.equal(outcome.upstreamStatus, pause === undefined ? status : 200, label)
      assert.deepEqual(pauses, pause === undefined ? [] : [pause], label)
      assert.deepEqual(retries, [pause === undefined ? 'deadline' : 'ok'], label)
      assert.equal(target.received.length, pause === undefined ? 1 : 2, label)
    }
})

test('a time-out is not repeated, and repeating takes no more than the time of the call', async () => {
  const silent = await upstream(() => {})
  const { resilience } = resilient()
  const setup = { server: { retry }, resilience }
  const outcome = await callable({ endpoint: silent.origin, limits: { timeout: 60 } }, setup)()
  assert.equal(text(outcome), `${silent.origin} did not respond completely within 60 ms (timeout).`)
  // A slow machine may give up before the request has arrived.
  assert.ok(silent.received.length <= 1)
  const failing = await flapping([[503, { 'retry-after': '20' }], 503])
  const short = resilient()
  const limits = { timeout: 10_000 }
  const late = await callable(
    { endpoint: failing.origin, limits },
    { server: { retry }, resilience: short.resilience },
  )()
  assert.equal(late.upstreamStatus, 503)
  assert.deepEqual([failing.received.length, short.retries], [1, ['deadline']])
})

test('a cancellation ends a pause at once, and nothing is sent after it', async () => {
  const target = await flapping([[503, { 'retry-after': '20' }]])
  const cancel = new Cancellation()
  let waiting = () => {}
  const began = new Promise<void>((resolve) => {
    waiting = resolve
  })
  const resilience = new Resilience({ name: 'shop' })
  const signal = {
    get aborted() {
      return cancel.aborted
    },
    addEventListener(type: 'abort', listener: () => void) {
      cancel.addEventListener(type, listener)
      // The second one is that of the pause.
      if (++listeners === 2) waiting()
    },
    removeEventListener: cancel.removeEventListener.bind(cancel),
  }
  let listeners = 0
  const outcome = callable({ endpoint: target.origin }, { server: { retry }, resilience })({}, { signal })
  await began
  cancel.abort()
  assert.equal((await outcome).failure, 'cancelled')
  assert.equal(target.received.length, 1)
})

test('during an outage a fifth of the calls is repeated at most, or ten a minute', async () => {
  const target = await upstream((response) => answer(response, 503))
  const { resilience, retries, pass } = resilient({ wait: async () => {} })
  const limits = { timeout: 600_000 }
  const call = callable({ endpoint: target.origin, limits }, { server: { retry }, resilience })
  for (let i = 0; i < 20; i++) await call()
  assert.equal(target.received.length, 20 + 10)
  for (let i = 0; i < 80; i++) await call()
  assert.equal(target.received.length, 100 + 20)
  assert.ok(retries.includes('budget'))
  pass(70_000)
  for (let i = 0; i < 5; i++) await call()
  assert.equal(target.received.length, 120 + 5 + 10)
})

test('a breaker opens after failures in a row: nothing is connected to until one call tries it again', async () => {
  const broken: Answers = [500, 'reset', 503, 500]
  const target = await flapping(broken)
  const { resilience, changes, pass } = resilient({ breaker: { failures: 3 } })
  const call = callable({ endpoint: target.origin }, { resilience })
  for (let i = 0; i < 3; i++) await call()
  assert.equal(target.connections(), 3)
  const refused = await call()
  assert.equal(refused.failure, 'breaker')
  assert.equal(
    text(refused),
    `The server shop is not called for now. ${target.origin} answered 503. It failed 3 times in a row; the next attempt is in 10 s.`,
  )
  assert.equal(target.connections(), 3)
  assert.equal(resilience.state(), 'open')
  pass(10_000)
  // The fourth failure: twice the pause.
  const [probe, beside] = await Promise.all([call(), call()])
  assert.equal(probe.upstreamStatus, 500)
  assert.match(text(beside), /the next attempt is under way\.$/)
  assert.equal(target.connections(), 4)
  pass(10_000)
  assert.match(text(await call()), /It failed 4 times in a row; the next attempt is in 10 s\.$/)
  pass(10_000)
  assert.equal((await call()).failure, undefined)
  assert.equal((await call()).failure, undefined)
  assert.equal(target.connections(), 6)
  assert.equal(resilience.state(), 'closed')
  const { origin } = target
  assert.deepEqual(changes, [
    [origin, 'open', `${origin} answered 503`],
    [origin, 'closed', undefined],
  ])
})

test('no answer and a time-out are failures; 4xx, cancellations and what is too large are not', async () => {
  const breaker = { failures: 1 }
  const state = async (target: string, limits = {}, cancelled = false) => {
    const { resilience } = resilient({ breaker })
    const signal = new Cancellation()
    const outcome = callable({ endpoint: target, limits }, { resilience })({}, { signal })
    if (cancelled) signal.abort()
    await outcome
    return resilience.state()
  }
  const silent = await upstream(() => {})
  const garbage = await listen(createServer((socket) => void socket.end('no HTTP\r\n\r\n')))
  assert.equal(await state('http://127.0.0.1:1'), 'open')
  assert.equal(await state('http://no-such-host.invalid'), 'open')
  assert.equal(await state(silent.origin, { timeout: 60 }), 'open')
  assert.equal(await state(garbage), 'open')
  assert.equal(await state(silent.origin, {}, true), 'closed')
  for (const status of [400, 401, 404, 429])
    assert.equal(await state((await flapping([status])).origin), 'closed', String(status))
  const large = await upstream((response) => response.end('x'.repeat(100)))
  assert.equal(await state(large.origin, { maxResponseSize: 10 }), 'closed')
})

test('a probe that is cancelled lets the next call be one', async () => {
  let isSilent = false
  let arrived = () => {}
  const target = await upstream((response) => (isSilent ? arrived() : answer(response, 500)))
  const { resilience, pass } = resilient({ breaker: { failures: 1 } })
  const call = callable({ endpoint: target.origin }, { resilience })
  await call()
  pass(10_000)
  isSilent = true
  const probing = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const signal = new Cancellation()
  const probe = call({}, { signal })
  await probing
  signal.abort()
  assert.equal((await probe).failure, 'cancelled')
  isSilent = false
  assert.equal((await call()).upstreamStatus, 500)
  assert.equal(target.received.length, 3)
})

test('a breaker that opens ends the attempts of a call; another origin is called on', async () => {
  const broken = await flapping([503, 503, 503])
  const sound = await flapping([])
  const { resilience } = resilient({ breaker: { failures: 2 } })
  const setup = { server: { retry }, resilience }
  const outcome = await callable({ endpoint: broken.origin }, setup)()
  assert.deepEqual([outcome.upstreamStatus, broken.received.length], [503, 2])
  assert.equal((await callable({ endpoint: sound.origin }, setup)()).failure, undefined)
})
