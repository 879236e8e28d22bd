import { createServer, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from './listening.ts'

/** An HTTP API that answers when its responses are ended, which `waiting` has in the order of the requests. */
export async function heldApi(
  t: Pick<TestContext, 'after'>,
): Promise<{ origin: string; waiting: ServerResponse[] }> {
  const waiting: ServerResponse[] = []
  const api = createServer((_, response) => waiting.push(response))
  const port = await listening(t, api)
  return { origin: `http://127.0.0.1:${port}`, waiting }
}
