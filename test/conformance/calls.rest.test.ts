import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveUpstreams } from '../fixtures/gateway.ts'
import { temporaryFolder } from '../support/process.ts'
import { connect, type Generation, type Target } from './calls/clients.ts'
import type { Recorded } from './calls/record.ts'
import { COMPARED, type Compared } from './calls/servers.ts'

// Servers over stdio, asked by both SDKs' clients, directly and through the gateway: the same answers, and the same
// requests and notifications of the server, in the same order. The two kinds travel on different streams of
// streamable HTTP, so each is compared by itself.

/** Asks a server everything and gives what it answered and what it sent of its own accord. */
async function record(compared: Compared, generation: Generation, target: Target, root: string) {
  compared.prepare?.(root)
  const client = await connect(generation, target, root)
  await compared.run(client, root)
  await client.close()
  const isEvent = (message: Recorded) => 'method' in message
  // Over HTTP the 2.x client probes for 2026-07-28 where it can be seen, over stdio where it cannot.
  const isProbe = ({ id }: Recorded) => id === 'server-discover-probe-1'
  return {
    answers: client.messages.filter((message) => !isEvent(message) && !isProbe(message)),
    events: client.messages.filter(isEvent),
  }
}

for (const compared of COMPARED)
  for (const generation of compared.clients)
    test(`${compared.name}, ${generation} client`, async (t) => {
      const root = join(temporaryFolder(t), 'root')
      const command = compared.command(root)
      const direct = await record(compared, generation, command, root)
      assert.ok(direct.answers.length > 15 && direct.events.length > 0)

      const gateway = await serveUpstreams(t, { compared: { type: 'stdio', ...command } })
      const endpoints = generation === '2.x modern' ? (['mcp'] as const) : (['mcp', 'sse'] as const)
      for (const endpoint of endpoints) {
        const through = await record(compared, generation, gateway.url('compared', endpoint), root)
        assert.deepEqual(through.answers, direct.answers, `the answers over ${endpoint}`)
        assert.deepEqual(through.events, direct.events, `the events over ${endpoint}`)
      }
    })
