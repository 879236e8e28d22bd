import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** Lets a server listen on loopback until the test ends, with all its connections. @returns its port */
export async function listening(t: Pick<TestContext, 'after'>, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
