import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
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

/** Headers that only proxies, load balancers and CDNs send; `_` counts as `-`. */
const SIGN_OF_A_PROXY = new RegExp(
  `^(?:${[
    '(?:x-)?(?:http-)?(?:x-)?forward(?:ed)?(?:-.*)?|(?:x-)?(?:\\w+-)?via|cdn-.*|max-forwards|(?:x-)?proxy-?.*|x-nginx-.*',
    '(?:.*-)?(?:real|client|original|originating|remote|source|src|connecting|edge)-?(?:ip|addr|address|port|host|proto|cert|user)',
    'x-original-.*|x-envoy-.*|x-host|x-scheme|x-url-scheme|x-script-name|x-request-start|front-end-https|early-data',
    'x-amzn-.*|x-amz-cf-.*|x-cloud-trace-context|x-appengine-.*|x-google-.*|x-goog-.*|x-serverless-.*|surrogate-.*',
    'cf-.*|cloudfront-.*|fastly-.*|fly-.*|x-azure-.*|x-arr-.*|x-vercel-.*|x-varnish|x-akamai-.*|akamai-.*|tailscale-.*',
    '(?:x-)?ssl-.*|x-auth-request-.*|x-webauth-.*|x-kong-.*|x-consumer-.*|x-replaced-path|x-haproxy-.*|incap-.*|x-sucuri-.*',
  ].join('|')})$`,
  'i',
)

/** Whether a header shows that a proxy sent the request, so that clients may share its connection. */
export function isSignOfProxy(name: string): boolean {
  return SIGN_OF_A_PROXY.test(name.replaceAll('_', '-'))
}
