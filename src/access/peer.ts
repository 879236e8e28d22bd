import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { isSignOfProxy } from './proxy-signs.ts'
import type { Peer, RequestLease } from './request-lease.ts'

const peers = new WeakMap<Socket, Peer>()

/**
 * An anonymous client: its connection; behind a proxy, which may use one connection for many clients, only the request.
 */
export function peerOf(
  socket: Socket | undefined,
  headers: Readonly<Record<string, string | undefined>>,
  lease: RequestLease,
): Peer {
  if (!socket || Object.keys(headers).some(isSignOfProxy)) return lease
  const peer = peers.get(socket) ?? new ConnectionPeer(socket)
  peers.set(socket, peer)
  return peer
}

class ConnectionPeer implements Peer {
  readonly key = randomUUID()
  private readonly listeners = new Set<() => void>()

  constructor(private readonly socket: Socket) {
    socket.once('close', () => {
      for (const listener of this.listeners) listener()
    })
  }

  get gone(): boolean {
    return this.socket.destroyed
  }
  onGone(listener: () => void): void {
    if (this.gone) queueMicrotask(listener)
    else this.listeners.add(listener)
  }
}
