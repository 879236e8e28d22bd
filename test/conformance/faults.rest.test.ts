import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultyStdio, refusingUrl, startFaulty } from '../fixtures/faulty/start.ts'
import { type Gateway, serveUpstreams, type Upstream } from '../fixtures/gateway.ts'
import { type Answer, type Caller, openCaller } from './caller.ts'

// What a client sees of upstreams that misbehave, and that its next call is served.

type Kind = 'stdio-session' | 'stdio-modern' | 'http-session' | 'http-modern' | 'sse-session'

const KINDS: Kind[] = ['stdio-session', 'stdio-modern', 'http-session', 'http-modern', 'sse-session']
const STDIO: Kind[] = ['stdio-session', 'stdio-modern']
const HTTP: Kind[] = ['http-session', 'http-modern']
/** Where the gateway reads each message; over streamable HTTP the bytes of an answer pass. */
const READ: Kind[] = [...STDIO, 'sse-session']

interface Fault {
  tool: string
  args?: Record<string, unknown>
  kinds: Kind[]
  /** Of the error that answers the call; absent: the tool's own answer comes. */
  error?: RegExp
  check?(answer: Answer): void
}

const SILENCE = /said nothing|No response from/

const FAULTS: Fault[] = [
  { tool: 'die', kinds: STDIO, error: /SIGKILL/ },
  {
    tool: 'die-streaming',
    kinds: STDIO,
    error: /SIGKILL/,
    check: ({ events }) => assert.equal(events.length, 1),
  },
  { tool: 'exit', args: { code: 7 }, kinds: STDIO, error: /exit code 7/ },
  { tool: 'silent', kinds: KINDS, error: SILENCE },
  { tool: 'silent-streaming', kinds: KINDS, error: /said nothing|No response from the server/ },
  { tool: 'slow', args: { ms: 60_000 }, kinds: KINDS, error: SILENCE },
  { tool: 'close', kinds: KINDS, error: /closed|ended/ },
  { tool: 'close-streaming', kinds: KINDS, error: /closed|ended/ },
  { tool: 'garbage', kinds: READ, error: SILENCE },
  { tool: 'half-message', kinds: READ, error: /not valid JSON/ },
  { tool: 'no-message', kinds: READ, error: SILENCE },
  { tool: 'wrong-id', kinds: READ, error: SILENCE },
  { tool: 'big', args: { bytes: 12 * 1024 * 1024 }, kinds: READ, error: /maxResponseSize/ },
  { tool: 'status', args: { status: 401 }, kinds: HTTP, error: /401/ },
  { tool: 'status', args: { status: 503 }, kinds: HTTP, error: /503/ },

  { tool: 'dribble', kinds: KINDS },
  { tool: 'garbage-first', kinds: READ },
  { tool: 'twice', kinds: KINDS, check: ({ text }) => assert.equal(text, 'first') },
  {
    tool: 'big',
    args: { bytes: 10 * 1024 * 1024 - 1_000 },
    kinds: KINDS,
    check: ({ text }) => assert.equal(text?.length, 10 * 1024 * 1024 - 1_000),
  },
  {
    tool: 'chatty',
    args: { count: 5_000 },
    kinds: KINDS,
    check({ events }) {
      const seen = events.map(({ params }) => params?.progress)
      assert.deepEqual(
        seen,
        Array.from({ length: 5_000 }, (_, i) => i + 1),
      )
    },
  },
]

const label = ({ tool, args }: Fault) => `${tool}${args ? ` ${JSON.stringify(args)}` : ''}`

test('upstreams that misbehave', { concurrency: 8 }, async (t) => {
  const [session, modern, sse] = await Promise.all([
    startFaulty(t, 'http', 'session'),
    startFaulty(t, 'http', 'modern'),
    startFaulty(t, 'sse'),
  ])
  const upstreams: Record<Kind, Upstream> = {
    'stdio-session': { type: 'stdio', ...faultyStdio('session') },
    'stdio-modern': { type: 'stdio', ...faultyStdio('modern') },
    'http-session': { type: 'streamable-http', url: session.url },
    'http-modern': { type: 'streamable-http', url: modern.url },
    'sse-session': { type: 'sse', url: sse.url },
  }
  // Only what is waited for in vain may not take as long as it needs.
  const limitsOf = ({ error }: Fault) => ({
    timeout: error?.test('No response from the server') ? '2s' : '5m',
  })
  // A prefix for each, so that one that is down disturbs no other.
  const cases = FAULTS.flatMap((fault, i) =>
    fault.kinds.map((kind) => ({ fault, kind, name: `${kind}-${i}` })),
  )
  const gateway = await serveUpstreams(
    t,
    Object.fromEntries(
      cases.map(({ fault, kind, name }) => [name, { ...upstreams[kind], limits: limitsOf(fault) }]),
    ),
    ['--log-level', 'silent'],
  )
  const tests = cases.map(({ fault, kind, name }) =>
    t.test(`${label(fault)}, ${kind}`, async () => {
      const caller = await openCaller(gateway.url(name), kind.endsWith('modern'))
      const answer = await caller.call(fault.tool, fault.args)
      if (fault.error) assert.match(answer.error?.message ?? `no error, but ${answer.text}`, fault.error)
      else assert.equal(answer.error, undefined)
      fault.check?.(answer)
      await serves(caller)
      await caller.close()
    }),
  )
  await Promise.all(tests)
})

async function serves(caller: Caller): Promise<void> {
  assert.equal((await caller.call('echo', { still: 'there' })).text, '{"still":"there"}')
}

test('answers that come out of order', { concurrency: 5 }, async (t) => {
  const gateway = await serveEach(t)
  for (const kind of KINDS)
    await t.test(kind, async () => {
      const caller = await openCaller(gateway.url(kind), kind.endsWith('modern'))
      const calls = Array.from({ length: 20 }, (_, i) => caller.call('reverse', { count: 20, i }))
      const texts = (await Promise.all(calls)).map(({ text }) => text)
      assert.deepEqual(
        texts,
        Array.from({ length: 20 }, (_, i) => JSON.stringify({ count: 20, i })),
      )
      await caller.close()
    })
})

async function serveEach(t: Parameters<typeof serveUpstreams>[0]): Promise<Gateway> {
  const session = await startFaulty(t, 'http', 'session')
  const modern = await startFaulty(t, 'http', 'modern')
  const sse = await startFaulty(t, 'sse')
  return serveUpstreams(
    t,
    {
      'stdio-session': { type: 'stdio', ...faultyStdio('session') },
      'stdio-modern': { type: 'stdio', ...faultyStdio('modern') },
      'http-session': { type: 'streamable-http', url: session.url },
      'http-modern': { type: 'streamable-http', url: modern.url },
      'sse-session': { type: 'sse', url: sse.url },
    },
    ['--log-level', 'silent'],
  )
}

test('one session that ends its server leaves the others alone', async (t) => {
  const gateway = await serveEach(t)
  const url = gateway.url('stdio-session')
  const [first, second] = [await openCaller(url), await openCaller(url)]
  const { text: pid } = await second.call('pid')
  assert.match((await first.call('die')).error!.message, /SIGKILL/)
  assert.equal((await second.call('pid')).text, pid)
  await serves(await openCaller(url))
  await serves(first)
  assert.notEqual((await first.call('pid')).text, pid)
})

test('a server that does not start, and one that is not there', async (t) => {
  const startupTimeout = '500ms'
  const gateway = await serveUpstreams(
    t,
    {
      exits: { type: 'stdio', ...faultyStdio('session', { start: 'exit' }) },
      silent: { type: 'stdio', ...faultyStdio('session', { start: 'silent' }), startupTimeout },
      garbled: { type: 'stdio', ...faultyStdio('session', { start: 'garbage' }) },
      missing: { type: 'stdio', command: 'no-such-command-anywhere' },
      refusing: { type: 'streamable-http', url: await refusingUrl() },
      'refusing-sse': { type: 'sse', url: (await refusingUrl()).replace('/mcp', '/sse') },
      closed: { type: 'streamable-http', url: (await startFaulty(t, 'http', 'session', 401)).url },
      broken: { type: 'sse', url: (await startFaulty(t, 'sse', 'session', 500)).url },
    },
    ['--log-level', 'silent'],
  )
  await serves(await openCaller(gateway.url('garbled')))
  const reasons: Record<string, RegExp> = {
    exits: /exit code 3/,
    silent: /500 ms|0\.5 s|start/,
    missing: /no-such-command-anywhere|ENOENT|not found|start/,
    refusing: /refused|connect|reach/i,
    'refusing-sse': /refused|connect|reach/i,
    closed: /401/,
    broken: /500/,
  }
  for (const [name, reason] of Object.entries(reasons))
    await assert.rejects(openCaller(gateway.url(name)), reason, name)
})
