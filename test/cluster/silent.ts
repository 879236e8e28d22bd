import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { messages, send } from '../upstream/harness.ts'
import { type Replica, serveReplicas, toolsFile } from './harness.ts'

/** Replicas in front of a tool `echo` whose API does not answer. */
export async function serveSilent(t: TestContext, count: number) {
  const held: ServerResponse[] = []
  const server = createServer((_, response) => held.push(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const tools = (await toolsFile(t)).replace(/http:\/\/127\.0\.0\.1:\d+\//, `http://127.0.0.1:${port}/`)
  const { all } = await serveReplicas(t, { files: { tools }, count })
  const call = ({ url }: Replica, headers: Record<string, string>) => {
    const params = { name: 'echo', arguments: { text: 'x' } }
    return send(url('tools'), { id: 'c', method: 'tools/call', params }, headers).then(messages)
  }
  return { all: all as [Replica, Replica, Replica, Replica], held, call }
}
