import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** An HTTP API that answers when its responses are ended, which `waiting` has in the order of the requests. */
export async function heldApi(
  t: Pick<TestContext, 'after'>,
): Promise<{ origin: string; waiting: ServerResponse[] }> {
  const waiting: ServerResponse[] = []
  const api = createServer((_, response) => waiting.push(response)).listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => {
    api.closeAllConnections()
    api.close()
  })
  return { origin: `http://127.0.0.1:${(api.address() as AddressInfo).port}`, waiting }
}
