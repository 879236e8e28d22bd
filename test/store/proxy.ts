import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface Proxy {
  /** The same URL through the proxy. */
  url: string
  /** Breaks every connection and refuses new ones. */
  stop(): Promise<void>
  start(): Promise<void>
  /** From now on takes connections and says nothing, until `start`. */
  freeze(): void
}

/** What becomes of bytes that came, and of the connection: `last` passes them on and cuts, `cut` drops them. */
export type Fate = 'pass' | 'last' | 'cut'

/**
 * Stands between a store and its server, so that a test can take the server away from that store alone.
 * @param fateOf is asked whenever bytes came, and may take its time
 */
export async function proxyTo(
  t: Pick<TestContext, 'after'>,
  target: string,
  fateOf?: () => Promise<Fate>,
): Promise<Proxy> {
  const { hostname, port, protocol } = new URL(target)
  const to = Number(port) || (protocol.startsWith('postgres') ? 5432 : 3306)
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let own = 0
  let frozen = false
  const hold = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  async function start() {
    frozen = false
    if (server) return
    server = createServer((client) => {
      hold(client)
      if (frozen) return
      const upstream = connect(to, hostname)
      hold(upstream)
      if (fateOf) {
        relay(client, upstream, fateOf)
        relay(upstream, client, fateOf)
        return
      }
      client.pipe(upstream).pipe(client)
      client.on('close', () => upstream.destroy())
      upstream.on('close', () => client.destroy())
    }).listen(own, '127.0.0.1')
    await once(server, 'listening')
    own = (server.address() as AddressInfo).port
  }
  async function stop() {
    const ending = server
    server = undefined
    for (const socket of sockets) socket.destroy()
    if (!ending) return
    ending.close()
    await once(ending, 'close')
  }
  await start()
  t.after(stop)
  const url = new URL(target)
  url.host = `127.0.0.1:${own}`
  return {
    url: url.href,
    start,
    stop,
    freeze() {
      frozen = true
      for (const socket of sockets) socket.unpipe()
    },
  }
}

/** What was sent before an end still arrives, so that a change can take effect after its process was killed. */
async function relay(from: Socket, to: Socket, fateOf: () => Promise<Fate>): Promise<void> {
  let fate: Fate = 'pass'
  try {
    for await (const bytes of from) {
      fate = await fateOf()
      if (fate !== 'cut') to.write(bytes)
      if (fate !== 'pass') break
    }
  } catch {
    // A reset is an end like any other.
  }
  if (fate === 'cut') to.destroy()
  else to.end()
}
