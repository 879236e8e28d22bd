import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface Silent {
  port: number
  /** The connections, one by one. */
  next(): Promise<Socket>
}

/** Takes connections and says nothing. */
export async function silent(t: TestContext): Promise<Silent> {
  const sockets: Socket[] = []
  const came: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
    came.push(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    async next() {
      if (!came.length) await once(server, 'connection')
      return came.shift() as Socket
    },
  }
}

export interface Mute {
  configuration: { name: string }
  /** Resolves when the server was started; the connection ends with it. */
  started(): Promise<Socket>
}

/** A configuration of a stdio server, behind the prefix of its name, that says nothing to its client. */
export async function mute(t: TestContext, name: string, more: object = {}): Promise<Mute> {
  const { port, next } = await silent(t)
  const code = 'require("node:net").connect(process.argv[1], "127.0.0.1"); process.stdin.resume()'
  const args = ['-e', code, String(port)]
  const server = { name: 's', type: 'stdio', command: process.execPath, args, policy: 'onStart', ...more }
  const configuration = { name, routers: [{ server: 's', prefix: `/${name}` }], mcpServers: [server] }
  return { configuration, started: next }
}
