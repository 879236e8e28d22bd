import { lstatSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { Server as TlsServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { Hono } from 'hono'
import { type Guarded, guardedServer } from '../../access/connection-limits.ts'
import { type ListenAddress, listenText, type Settings } from '../../config/index.ts'
import { isLoopback, OwnAddresses } from '../../net/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { ListenerTls } from './tls.ts'

const ADVICE: Record<string, (address: { host: string; port: number }) => string> = {
  EADDRINUSE: ({ port, host }) =>
    `port ${port} on ${host} is in use: stop the process that uses it, or choose another port`,
  EADDRNOTAVAIL: ({ host }) => `this machine has no address ${host}: choose another host`,
  EACCES: ({ port }) => `port ${port} is not allowed for this user: choose a port above 1023`,
  ENOTFOUND: ({ host }) => `cannot resolve the host name ${host}: choose another host`,
}

const SOCKET_ADVICE: Record<string, string> = {
  EADDRINUSE: 'is in use, by another gateway or as another file: choose another path',
  EACCES: 'cannot be made by this user: choose another folder',
  ENOENT: 'is in a folder that does not exist: make the folder',
  ENOTDIR: 'is below a file: choose another folder',
  EROFS: 'is on a read-only file system: choose another folder',
  EINVAL: 'is too long for a socket: choose a shorter one',
}

/**
 * Serves at an address, within the connection limits.
 * @param what the setting of the address, for messages
 * @throws Error with advice if it cannot listen
 */
export async function listen(
  app: Hono,
  address: ListenAddress,
  limits: Settings['limits'],
  what: string,
  tls?: ListenerTls,
): Promise<Guarded> {
  const guarded = serveApp(app, limits, tls)
  await bind(guarded.server, address, limits, what)
  return guarded
}

/**
 * A server that does not listen yet.
 * @param counted surplus connections, if another process counts them
 */
export function serveApp(
  app: Hono,
  limits: Settings['limits'],
  tls: ListenerTls | undefined,
  counted?: WeakSet<Socket>,
): Guarded {
  const guarded = guardedServer(
    answerBy(app),
    limits,
    tls && { ...tls.context, requestCert: tls.clientCertificates, rejectUnauthorized: true },
    counted,
  )
  const { server } = guarded
  if (tls && server instanceof TlsServer) {
    tls.onRenewal((context) => server.setSecureContext(context))
    server.on('tlsClientError', ({ code }: NodeJS.ErrnoException, { remoteAddress }) =>
      tls.refused(remoteAddress, code),
    )
  }
  return guarded
}

/**
 * Makes a server listen.
 * @param what the setting of the address, for messages
 * @throws Error with advice if it cannot listen
 */
export async function bind(
  server: Server,
  address: ListenAddress,
  { maxConnections }: Pick<Settings['limits'], 'maxConnections'>,
  what: string,
): Promise<void> {
  if (address.path !== undefined) await removeStale(address.path)
  return new Promise((resolve, reject) => {
    const failed = ({ code = '', message }: NodeJS.ErrnoException) => {
      const advice =
        address.path === undefined
          ? ADVICE[code]?.(address)
          : `the socket ${address.path} ${SOCKET_ADVICE[code] ?? message}`
      reject(new Error(`${advice ?? message} (${what})`))
    }
    server.once('error', failed)
    listenAt(server, address, maxConnections, () => {
      server.off('error', failed)
      const fault = misnamed(server, address)
      if (fault === undefined) return resolve()
      server.close()
      reject(new Error(`${fault} (${what})`))
    })
  })
}

/**
 * Checks early that the port is free, as otherwise a running gateway's lock would be reported instead. It connects
 * instead of listening: closing a listener would reset connections of a proxy that waits for this gateway.
 * @throws Error if the port is in use
 */
export async function mustBeFree(
  { host, port }: { host: string; port: number },
  what: string,
): Promise<void> {
  const isAny = host === '0.0.0.0' || host === '::'
  const own = new OwnAddresses()
  own.add({ address: '0.0.0.0', port })
  // Other faults are reported when listening.
  if (!isAny && !isLoopback(host) && !own.has(host, port)) return
  const refusal = await refusalOf({ host: isAny ? '127.0.0.1' : host, port })
  if (refusal === undefined) throw new Error(`${ADVICE.EADDRINUSE?.({ host, port })} (${what})`)
}

/** The error code of a failed connection; undefined if it succeeds. */
function refusalOf(address: { host: string; port: number } | { path: string }): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(address, () => {
      socket.destroy()
      resolve(undefined)
    }).once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(code))
  })
}

/** @param backlog connections waiting to be accepted; the kernel resets or delays further ones */
function listenAt(server: Server, address: ListenAddress, backlog: number, then: () => void): void {
  if (address.path === undefined) {
    const { port, host } = address
    return void server.listen({ port, host, backlog }, then)
  }
  // The umask restricts the socket to its owner.
  const mask = process.umask(0o177)
  try {
    server.listen({ path: address.path, backlog }, then)
  } finally {
    process.umask(mask)
  }
}

/** Access without credentials depends on the name, which the system resolves to any address. */
function misnamed(server: Server, { host, path }: { host?: string; path?: string }): string | undefined {
  if (path !== undefined || host === undefined || !isLoopback(host)) return undefined
  const { address } = server.address() as AddressInfo
  return isLoopback(address)
    ? undefined
    : `${host} is ${address} on this machine, which others reach: write 127.0.0.1`
}

/** Removes the socket of a killed process; a socket in use stays. */
async function removeStale(path: string): Promise<void> {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSocket()) return
  if ((await refusalOf({ path })) === 'ECONNREFUSED') rmSync(path, { force: true })
}

/** Answers a server's requests by the app. */
export function answerBy(app: Hono): RequestListener {
  const handle = getRequestListener(app.fetch, {
    errorHandler: failed,
    // For requests without a Host header, which would be refused; the steps see that it is missing.
    hostname: 'localhost',
  })
  return (request, response) => {
    handle(request, response).catch(unexpected('a request', () => response.destroy()))
  }
}

/** Answers a request whose target or `Host` is invalid, or whose answer could not be sent. */
function failed(error: unknown): Response {
  if (error instanceof RequestError) {
    const message = 'The target of the request and its Host header are not a valid URL'
    return Response.json({ error: 400, message }, { status: 400 })
  }
  unexpected('an answer')(error)
  return Response.json({ error: 500, message: 'Internal error' }, { status: 500 })
}

/** Ends a listener with its connections. */
export function endListener({ server }: Guarded): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Where a server listens, with its actual port. */
export function boundText({ server }: Guarded, address: ListenAddress): string {
  if (address.path !== undefined) return listenText(address)
  return listenText({ host: address.host, port: (server.address() as AddressInfo).port })
}
