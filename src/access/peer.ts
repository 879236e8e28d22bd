import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { isSignOfProxy } from './proxy-signs.ts'
import type { Peer, Stay } from './stay.ts'

const peers = new WeakMap<Socket, Peer>()

/**
 * Who sent a request, where no caller is known: the connection, on which nobody else sends; behind a proxy, which may
 * send the requests of many on one connection, the request alone.
 */
export function peerOf(
  socket: Socket | undefined,
  headers: Readonly<Record<string, string | undefined>>,
  stay: Stay,
): Peer {
  if (!socket || Object.keys(headers).some(isSignOfProxy)) return stay
  const known = peers.get(socket)
  if (known) return known
  const listeners = new Set<() => void>()
  const peer = {
    key: randomUUID(),
    get gone() {
      return socket.destroyed
    },
    onGone(listener: () => void) {
      if (socket.destroyed) queueMicrotask(listener)
      else listeners.add(listener)
    },
  }
  socket.once('close', () => {
    for (const listener of listeners) listener()
  })
  peers.set(socket, peer)
  return peer
}
