import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { faultyStdio, startFaulty } from '../fixtures/faulty/start.ts'
import { until } from '../support/until.ts'
import { modern, modernSend, open, proxied, send } from './harness.ts'

type Era = 'session' | 'modern'

interface Started {
  server: object
  /** Ends the server, where it is a process of its own. */
  kill?: () => void
}

async function overHttp(t: TestContext, transport: 'http' | 'sse', era: Era): Promise<Started> {
  const { url, child } = await startFaulty(t, transport, era)
  const type = transport === 'sse' ? 'sse' : 'streamable-http'
  return { server: { type, url }, kill: () => child.kill('SIGKILL') }
}

/** Each kind of server that the gateway can stand before. */
const SERVERS: Record<string, (t: TestContext) => Promise<Started>> = {
  'stdio with sessions': async () => ({ server: { type: 'stdio', ...faultyStdio('session') } }),
  'stdio of 2026-07-28': async () => ({ server: { type: 'stdio', ...faultyStdio('modern') } }),
  'http with sessions': (t) => overHttp(t, 'http', 'session'),
  'http of 2026-07-28': (t) => overHttp(t, 'http', 'modern'),
  sse: (t) => overHttp(t, 'sse', 'session'),
}

for (const [name, start] of Object.entries(SERVERS))
  for (const era of ['session', 'modern'] as Era[])
    for (const list of [false, true]) {
      const named = (tool: string) => (list ? `s1__${tool}` : tool)
      const title = `${name}${list ? ' in a list' : ''}, a client of ${era}`

      test(`a call that times out is one at warn: ${title}`, { timeout: 60_000 }, async (t) => {
        const tool = named('silent')
        const server = { ...(await start(t)).server, limits: { timeout: '300ms' } }
        const { url, logged } = await proxied(t, [server], { list })
        const client = era === 'session' ? await open(url) : modern(url)
        assert.match(await client.call(tool), /^error: .*(?:timed out|in time|within)/)
        const line = logged.find((each) => each.tool === tool)
        assert.deepEqual([line.level, line.outcome], ['warn', 'timeout'])
      })

      test(`a call that is cancelled is no error: ${title}`, { timeout: 60_000 }, async (t) => {
        const tool = named('silent-streaming')
        const { server, kill } = await start(t)
        const { url, logged } = await proxied(t, [server], { list })
        const client = era === 'session' ? await open(url) : modern(url)
        const params = { name: tool, arguments: {}, _meta: { progressToken: 'p' } }
        const leave = new AbortController()
        const message = { id: 'c', method: 'tools/call', params }
        // Progress comes first: the call is under way when the answer begins.
        const answer =
          era === 'session'
            ? await send(url, message, client.headers)
            : await modernSend(url, 'tools/call', params, {}, leave.signal)
        const ended = answer.text().catch(() => '')
        if (era === 'modern') leave.abort()
        else {
          const cancelled = { method: 'notifications/cancelled', params: { requestId: 'c' } }
          assert.equal((await send(url, cancelled, client.headers)).status, 202)
          // The end of a server that leaves the answer open is no failure of the call, either.
          kill?.()
        }
        await ended
        await until(() => logged.some((each) => each.tool === tool))
        const line = logged.find((each) => each.tool === tool)
        assert.deepEqual([line.level, line.outcome], ['info', 'cancelled'])
      })
    }
