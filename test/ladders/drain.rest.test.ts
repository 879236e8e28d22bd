import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEverything } from '../fixtures/everything/start.ts'
import { heldApi } from '../support/held-api.ts'
import { until } from '../support/until.ts'
import { held } from '../upstream/held.ts'
import { type Outcome, type Speaks, talker } from './clients.ts'
import { inTime, ladder, type Rung, type Seam } from './ladder.ts'
import { settle } from './served.ts'

/** An API that answers when it is told to. */
async function answeringApi({ t }: Rung) {
  const { origin, waiting } = await heldApi(t)
  return {
    endpoint: `${origin}/`,
    begun: (calls: number) => waiting.length === calls,
    release: () => {
      for (const response of waiting) response.end('done')
    },
  }
}

const CALLERS: readonly [prefix: string, tool: string, speaks: Speaks][] = [
  ['/tool', 'work', 'session'],
  ['/tool', 'work', 'modern'],
  ['/tool', 'work', 'sse'],
  ['/program', 'work', 'session'],
  ['/web', 'test_until_cancelled', 'session'],
  ['/web', 'test_until_cancelled', 'modern'],
]

/** A gateway with calls under way ends by SIGTERM: those that get an answer in time have it, the others an error. */
async function drain(rung: Rung): Promise<void> {
  const api = await answeringApi(rung)
  const program = held(rung.folder)
  const url = await startEverything(rung.t, 'http', 'session')
  const proxied = (name: string, server: object) => ({
    name,
    routers: [{ server: name, prefix: `/${name}` }],
    mcpServers: [{ name, ...server }],
  })
  const tool = { name: 'work', description: 'Works', method: 'GET', endpoint: api.endpoint }
  const configurations = [
    {
      name: 'tool',
      routers: [{ server: 's', prefix: '/tool' }],
      servers: [{ name: 's', description: 'A test' }],
      tools: [tool],
    },
    proxied('program', program.server),
    proxied('web', { type: 'streamable-http', url }),
  ]
  mkdirSync(join(rung.folder, 'configs'))
  for (const each of configurations)
    writeFileSync(join(rung.folder, 'configs', `${each.name}.yaml`), JSON.stringify(each))
  const { port, settings } = await settle(rung, { drain: { grace: '0s', timeout: '3s' } })
  const faulty = rung.faulty(['serve', 'configs', '-s', settings], { armed: false })
  assert.ok(await faulty.serves())

  const clients = CALLERS.map(([prefix, , speaks], i) =>
    talker(speaks, `http://127.0.0.1:${port}${prefix}`, `c${i}`),
  )
  for (const client of clients) assert.ok('result' in (await client.open()))
  const calls = clients.map((client, i) =>
    client.request('tools/call', {
      name: CALLERS[i]![1],
      arguments: {},
      _meta: { progressToken: client.token() },
    }),
  )
  await until(() => api.begun(3) && program.begun())
  await Promise.all(clients.slice(4).map((client) => inTime(client.progressed, 'no call is under way')))
  await faulty.arm()
  const ended = faulty.stop()
  await faulty.running.until(/shutting down/)
  api.release()
  program.release()
  const outcomes = await inTime(Promise.all(calls), 'calls have no end')
  const { code } = await ended
  assert.equal(code, 0)
  assert.deepEqual(
    clients.flatMap(({ violations }) => violations),
    [],
  )
  // One fault concerns one call, or the end of one session.
  const unanswered = outcomes.slice(0, 4).filter((outcome) => !isDone(outcome))
  assert.ok(unanswered.length <= (rung.fault ? 1 : 0), JSON.stringify(outcomes))
  await Promise.allSettled(clients.map((client) => client.close()))
}

function isDone(outcome: Outcome): boolean {
  return 'result' in outcome && JSON.stringify(outcome.result).includes('done')
}

for (const seam of ['socket', 'child'] satisfies Seam[])
  ladder({ name: 'drain', seam, modes: ['fail', 'last', 'hang', 'short'], run: drain }, 6)
