import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A server of HTTP that stops and starts again on the same port. */
export interface Restartable {
  origin: string
  stop(): Promise<void>
  start(): Promise<void>
}

/** @param answer gets each request with its body; what it throws closes the connection */
export async function restartable(
  t: Pick<TestContext, 'after'>,
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => unknown,
): Promise<Restartable> {
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => response.destroy(error as Error))
  })
  async function respond(request: IncomingMessage, response: ServerResponse) {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    await answer(request, response, body)
  }
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  t.after(close)
  return {
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      close()
      await once(server, 'close')
    },
    start: () => listen(port),
  }
}
