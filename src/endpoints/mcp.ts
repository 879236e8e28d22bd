import type { McpServer } from '../config/index.ts'
import type { JsonObject } from '../json/index.ts'
import { Cancellation, Fault } from '../mcp/index.ts'
import { type Client, openClient, type Resolved } from '../upstream/index.ts'
import { checkCommand } from './command.ts'
import { aborted, connectTo, hostOf } from './connect.ts'
import { diagnose } from './diagnose.ts'
import { silence } from './faults.ts'
import type { CheckEndpointsOptions, Step } from './types.ts'

/** A server over stdio: its command; with `start` its handshake and its tools too. */
export async function checkStdio(
  server: McpServer,
  timeout: number,
  options: CheckEndpointsOptions,
  signal: AbortSignal,
): Promise<Step[]> {
  const command = checkCommand(server, options.env)
  if (command.status !== 'ok' || !options.start) return [command]
  const found = await greet(server, timeout, options, signal)
  if (!('fault' in found)) return [command, ...found.steps]
  const late =
    signal.aborted && silence(`the server \`${server.name}\` did not answer the handshake`, timeout)
  const detail = found.fault
  const hint = `Run it by hand and see what it writes; give the child what it needs by \`env\`: it sees PATH and HOME only`
  const fault = { detail, hint, ...late, code: 'mcp-handshake' as const }
  return [command, { name: 'handshake', status: 'failed', ...fault, transient: false }]
}

/** A server over HTTP: name, connection and TLS of its origin, then its handshake and its tools. */
export async function checkHttp(
  server: McpServer,
  resolved: Resolved,
  varies: boolean,
  timeout: number,
  options: CheckEndpointsOptions,
  signal: AbortSignal,
): Promise<Step[]> {
  const steps: Step[] = []
  const socket = await connectTo(hostOf(resolved.origin), steps, timeout, signal)
  if (!socket) return steps
  socket.destroy()
  const found = await greet(server, timeout, options, signal)
  if (!('fault' in found)) return [...steps, ...found.steps]
  return [...steps, await diagnose(server, resolved, varies, found.fault, timeout, signal)]
}

/** Name, connection and TLS of an origin of which no more is known before a call. */
export async function checkReach(
  origin: string,
  why: string,
  timeout: number,
  signal: AbortSignal,
): Promise<Step[]> {
  const steps: Step[] = []
  const socket = await connectTo(hostOf(origin), steps, timeout, signal)
  if (!socket) return steps
  socket.destroy()
  return [...steps, { name: 'handshake', status: 'skipped', detail: why }]
}

/** Opens a client of its own for one handshake and the list of tools, and closes it whatever comes. */
async function greet(
  server: McpServer,
  timeout: number,
  { env, limits, log, version }: CheckEndpointsOptions,
  signal: AbortSignal,
): Promise<{ steps: Step[] } | { fault: string }> {
  const own = { ...server.limits, timeout, connectTimeout: timeout }
  const context = { env, limits, log, version, capabilities: {} }
  const client = openClient({ ...server, startupTimeout: timeout, limits: own }, context)
  const cancel = new Cancellation()
  signal.addEventListener('abort', cancel.abort, { once: true })
  try {
    return await Promise.race([talk(client, cancel), aborted(signal)])
  } catch (error) {
    if (signal.aborted) return { fault: `The server ${server.name} did not answer in time` }
    throw error
  } finally {
    signal.removeEventListener('abort', cancel.abort)
    cancel.abort()
    await client.close()
  }
}

/** More pages than these are not counted. */
const MAX_PAGES = 100

async function talk(client: Client, signal: Cancellation): Promise<{ steps: Step[] } | { fault: string }> {
  const hello = await client.handshake({ signal })
  if (!hello) return { fault: 'cancelled' }
  if (hello instanceof Fault) return { fault: hello.message }
  const { protocol, revision, server = 'a server without a name' } = hello
  const kind = protocol === 'stateless' ? 'stateless' : 'sessions'
  const steps: Step[] = [{ name: 'handshake', status: 'ok', detail: `${server}, ${revision} (${kind})` }]
  let count = 0
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = (cursor === undefined ? {} : { cursor }) as JsonObject
    const answer = await client.request('tools/list', params, { signal })
    if (!answer) return { fault: 'cancelled' }
    if (answer instanceof Fault) return { fault: answer.message }
    const { error, result } = answer as { error?: JsonObject; result?: JsonObject }
    // A server may have prompts or resources only.
    if (error?.code === -32601) return { steps: [...steps, { name: 'tools', status: 'ok', detail: 'none' }] }
    if (error || !Array.isArray(result?.tools)) {
      const detail = error
        ? `it refused tools/list: ${String(error.message).slice(0, 200)}`
        : 'it lists no tools'
      const hint = 'See the log of the server'
      return { steps: [...steps, { name: 'tools', status: 'failed', detail, hint, code: 'mcp-handshake' }] }
    }
    count += result.tools.length
    cursor = result.nextCursor
    if (cursor === undefined) break
  }
  const detail = `${count} ${count === 1 ? 'tool' : 'tools'}`
  return { steps: [...steps, { name: 'tools', status: 'ok', detail }] }
}
