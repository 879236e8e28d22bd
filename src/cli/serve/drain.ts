import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { type Guarded, isOut } from '../../access/connection-limits.ts'
import { Fault } from '../../mcp/index.ts'
import type { Gateway } from '../../server/gateway.ts'

export interface DrainLimits {
  /** Milliseconds during which connections are still accepted. */
  grace: number
  /** Milliseconds allowed for running calls after that. */
  timeout: number
}

/** Milliseconds of silence after which a connection without a pending answer is closed. */
const SILENCE = 500
/** Milliseconds between checks of connections. */
const SWEEP = 20
/**
 * Milliseconds without a new connection after which the listener closes, and the maximum wait: on a busy machine a
 * client may take a while to connect for its next call.
 */
const CALM = 100
/** Milliseconds between checks for such a pause. */
const LOOK = 20

/** Stops new connections; `closed` resolves once the last one has ended. */
type Shut = () => Promise<{ closed: Promise<void> }>

/**
 * Ends a server as Envoy drains: for a while everything is answered with `Connection: close`, so that clients and load
 * balancers move elsewhere; then the listener closes, running calls finish, and the rest end with an error or are cut
 * off. Event streams end first, and again after the listener has closed.
 */
export async function drain(
  guarded: Guarded,
  gateway: Gateway,
  { grace, timeout }: DrainLimits,
  shut: Shut = () => shutServer(guarded.server),
): Promise<void> {
  const { server } = guarded
  const silence = watchSilence(guarded)
  server.prependListener('request', (_, response) => {
    response.shouldKeepAlive = false
  })
  gateway.beginDrain()
  await pause(grace)
  const { closed } = await closeListener(server, shut)
  silence.end()
  let limit = setTimeout(() => {
    const message = `The gateway is shutting down: the call did not end within ${timeout / 1000} s (drain.timeout)`
    gateway.registry.cut(new Fault('lost', message))
    // Answers are sent; connections without one are cut off.
    limit = setTimeout(() => server.closeAllConnections(), SILENCE)
  }, timeout)
  await gateway.registry.drain(timeout + SILENCE)
  await closed
  silence.stop()
  clearTimeout(limit)
}

type Pair = [request: IncomingMessage, response: ServerResponse]

/**
 * Closes the listener, not its connections. The kernel resets connections that were not accepted yet, so requests are
 * held briefly first: a client that waits for its answer does not connect again.
 */
async function closeListener(server: Server, shut: Shut): ReturnType<Shut> {
  const listeners = server.listeners('request') as ((...pair: Pair) => void)[]
  const held: Pair[] = []
  const hold = (...pair: Pair) => void held.push(pair)
  server.removeAllListeners('request').on('request', hold)
  const shutting = await shut()
  server.off('request', hold)
  for (const listener of listeners) server.on('request', listener)
  for (const pair of held) server.emit('request', ...pair)
  return shutting
}

/** Closes a listener of this process during a pause. */
export async function shutServer(server: TcpServer): ReturnType<Shut> {
  await calm(server)
  // `close` of HTTP servers also ends idle connections, even if their next request has arrived.
  return {
    closed: new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve())),
  }
}

/** Resolves right after pending connections were accepted, once new ones do not follow quickly. */
async function calm(server: TcpServer): Promise<void> {
  let last = performance.now()
  const deadline = last + 500
  const connected = () => {
    last = performance.now()
  }
  server.on('connection', connected)
  for (let now = last; now - last < CALM && now < deadline; now = performance.now()) {
    await pause(LOOK)
    await turn()
  }
  server.off('connection', connected)
}

/** Detects connections without a pending answer and without traffic, such as idle ones and half-sent requests. */
function watchSilence({ connections }: Guarded): { end(): void; stop(): void } {
  const heard = new WeakMap<Socket, { bytes: number; at: number }>()
  let ending = false
  const sweep = setInterval(() => {
    const now = performance.now()
    for (const [socket, responses] of connections) {
      const known = heard.get(socket)
      if (known?.bytes !== socket.bytesRead || responses.some(isOwed))
        heard.set(socket, { bytes: socket.bytesRead, at: now })
      else if (ending && now - known.at >= SILENCE) socket.destroy()
    }
  }, SWEEP)
  return {
    /** From now on such connections are closed. */
    end() {
      ending = true
    },
    stop: () => clearInterval(sweep),
  }
}

/** Whether the request is complete and only the response is missing. */
function isOwed(response: ServerResponse): boolean {
  return response.req.complete && !isOut(response)
}
