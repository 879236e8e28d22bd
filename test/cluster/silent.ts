import type { TestContext } from 'node:test'
import { heldApi } from '../support/held-api.ts'
import { messages, send } from '../upstream/harness.ts'
import { type Replica, serveReplicas, toolsFile } from './harness.ts'

/** Replicas in front of a tool `echo` whose API does not answer. */
export async function serveSilent(t: TestContext, count: number) {
  const { origin, waiting: held } = await heldApi(t)
  const tools = (await toolsFile(t)).replace(/http:\/\/127\.0\.0\.1:\d+\//, `${origin}/`)
  const { all } = await serveReplicas(t, { files: { tools }, count })
  const call = ({ url }: Replica, headers: Record<string, string>) => {
    const params = { name: 'echo', arguments: { text: 'x' } }
    return send(url('tools'), { id: 'c', method: 'tools/call', params }, headers).then(messages)
  }
  return { all: all as [Replica, Replica, Replica, Replica], held, call }
}
