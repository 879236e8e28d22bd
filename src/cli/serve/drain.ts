import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { type Guarded, isOut } from '../../access/connection-limits.ts'
import { Fault } from '../../mcp/index.ts'
import type { Gateway } from '../../server/gateway.ts'

export interface DrainLimits {
  /** Milliseconds in which connections are still taken. */
  grace: number
  /** Milliseconds for calls under way after that. */
  timeout: number
}

/** Milliseconds of silence after which a connection that is owed no answer ends. */
const SILENCE = 500
/** Milliseconds between two looks at the connections. */
const SWEEP = 20
/**
 * Milliseconds without a new connection after which the listener closes, and for how long that is waited for: on a busy
 * machine a client may take a while to connect for its next call.
 */
const CALM = 100
const LONGEST_CALM = 500
/** Milliseconds between two looks whether it is calm. */
const LOOK = 20

/** How connections are kept from coming; `closed` resolves once the last one has ended. */
export type Shut = () => Promise<{ closed: Promise<void> }>

/**
 * Ends a server as Envoy drains: for a while everything is answered, each response with `Connection: close`, so that
 * clients and load balancers turn elsewhere by themselves; then the listener closes, calls under way finish, and those
 * that are left end with an error, or are cut off. Event streams end first, and again when the listener has closed.
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
    gateway.hub.cut(new Fault('lost', message))
    // Their answers go out, and whatever had none is cut off.
    limit = setTimeout(() => server.closeAllConnections(), SILENCE)
  }, timeout)
  await gateway.hub.drain(timeout + SILENCE)
  await closed
  silence.stop()
  clearTimeout(limit)
}

type Pair = [request: IncomingMessage, response: ServerResponse]

/**
 * Closes the listener, not its connections. The system resets connections that it has ready and that were not taken yet,
 * so requests are held back for a moment first: a client that waits for its answer does not connect anew.
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

/** Closes a listener of this process in a calm moment. */
export async function shutServer(server: TcpServer): ReturnType<Shut> {
  await calm(server)
  // That of HTTP servers also ends idle connections, even if their next request is already here.
  return {
    closed: new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve())),
  }
}

/** Resolves right after the event loop has taken what connections there were, once new ones do not come in quick succession. */
async function calm(server: TcpServer): Promise<void> {
  let last = performance.now()
  const deadline = last + LONGEST_CALM
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

/** Knows which connections are owed no answer and say nothing, such as idle ones and half-sent requests. */
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
    /** From now on they are closed. */
    end() {
      ending = true
    },
    stop: () => clearInterval(sweep),
  }
}

/** Whether its request has come whole, so that nothing but the response is waited for. */
function isOwed(response: ServerResponse): boolean {
  return response.req.complete && !isOut(response)
}
