import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scripted } from '../support/scripted.ts'
import { served } from '../support/served.ts'
import { hostileMessages } from './messages.ts'
import { createRandom } from './random.ts'

// The whole process: the built binary in front of servers that are as hostile as its clients.
const BATCHES = Number(process.env.FUZZ_BATCHES ?? 40)
const BATCH = 25
/** Milliseconds after which a client goes away; some servers never answer. */
const PATIENCE = 2_000

test('whatever clients and servers write, the process lives on and answers', {
  timeout: 600_000,
}, async (t) => {
  const { servers, scripts, api } = await scripted(t)
  const proxy = (name: string, list: [string, object][]) => ({
    name,
    routers: [{ server: list.length > 1 ? list.map(([each]) => each) : name, prefix: `/${name}` }],
    mcpServers: list.map(([each, server]) => ({ name: each, ...server })),
  })
  const http = {
    name: 'http',
    routers: [{ server: 'api', prefix: '/http' }],
    servers: [{ name: 'api', description: 'A test' }],
    tools: [
      {
        name: 'say',
        description: 'd',
        method: 'GET',
        endpoint: `${api}/say/script`,
        responseBody: '{{toJSON .Response.Data}}',
      },
      {
        name: 'echo',
        description: 'd',
        method: 'POST',
        endpoint: `${api}/x`,
        args: [{ name: 'a', position: 'body', type: 'object' }],
      },
    ],
  }
  const gateway = await served(t, [
    http,
    ...Object.entries(servers).map((entry) => proxy(entry[0], [entry])),
    proxy('several', [
      ['one', servers.stdio],
      ['two', servers.streamable],
    ]),
  ])
  const { pid } = gateway.child
  const prefixes = ['http', ...Object.keys(servers), 'several'].map((name) => `/${name}`)
  const next = hostileMessages(createRandom(12), prefixes, (prefix) =>
    prefix === '/several' ? 'one__say' : 'say',
  )
  const sessions = new Map<string, Record<string, string>>()

  for (let batch = 0; batch < BATCHES; batch++) {
    const sent: string[] = []
    const answers = []
    for (let i = 0; i < BATCH; i++) {
      const { prefix, path, body, headers, revision, script } = next()
      // One server at a time plays a script: each has a key of its own.
      const key = `script-${batch}-${i}`
      if (script) scripts.set(key, script)
      const text = script ? body.replace('"key":"script"', `"key":"${key}"`) : body
      sent.push(`${path} ${text.slice(0, 300)}`)
      const known = `${prefix} ${revision}`
      // A gateway that has gone opens none, as is told below.
      const session =
        revision && (sessions.get(known) ?? (await gateway.open(prefix, revision).catch(() => undefined)))
      if (session) sessions.set(known, session)
      const own = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...session,
        ...headers,
      }
      answers.push(gateway.send({ path, headers: own, body: text, timeout: PATIENCE }))
    }
    const got = await Promise.all(answers)
    const told = () => `batch ${batch}:\n${sent.join('\n')}\n${gateway.stderr().slice(-2000)}`
    const health = await gateway.send({ path: '/_health', method: 'GET' })
    assert.equal(health.status, 200, `the gateway does not answer after ${told()}`)
    assert.equal(gateway.child.exitCode ?? gateway.child.signalCode, null, told())
    assert.equal(gateway.child.pid, pid)
    assert.doesNotMatch(gateway.stdout() + gateway.stderr(), /uncaught|unhandled/i, told())
    for (const [i, { status, text }] of got.entries()) {
      assert.notEqual(status, 500, `${sent[i]}\n${text}`)
      assert.doesNotMatch(text, /\n\s+at .*\.[jt]s:\d+/, `${sent[i]}\n${text}`)
      // A session may have ended by what was sent to it.
      if (status === 404) sessions.clear()
    }
  }
})
