import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Env, McpServer } from '../config/index.ts'
import type { JsonObject } from '../json/index.ts'
import { Cancellation, Fault } from '../mcp/index.ts'
import { type Client, openClient, type Resolved } from '../upstream/index.ts'
import { aborted, connectTo, hostOf, type Run } from './connect.ts'
import { diagnose } from './diagnose.ts'
import { silence } from './faults.ts'
import type { CheckEndpointsOptions, Step } from './types.ts'

/** A server over stdio: its command; with `start` its handshake and its tools too. */
export async function checkStdio(
  server: McpServer,
  options: CheckEndpointsOptions,
  run: Run,
): Promise<Step[]> {
  const command = checkCommand(server, options.env)
  if (command.status !== 'ok' || !options.start) return [command]
  const found = await greet(server, options, run)
  if (!('fault' in found)) return [command, ...found.steps]
  const late =
    run.signal.aborted && silence(`the server \`${server.name}\` did not complete the handshake`, run.timeout)
  const detail = found.fault
  const hint =
    'Run it by hand and see what it writes; set the variables it needs in `env`: it gets only PATH and HOME'
  const fault = { detail, hint, ...late, code: 'mcp-handshake' as const }
  return [command, { name: 'handshake', status: 'failed', ...fault, transient: false }]
}

/** A server over HTTP: name, connection and TLS of its origin, then its handshake and its tools. */
export async function checkHttp(
  server: McpServer,
  resolved: Resolved,
  varies: boolean,
  options: CheckEndpointsOptions,
  run: Run,
): Promise<Step[]> {
  const socket = await connectTo(hostOf(resolved.origin), run)
  if (!socket) return run.steps
  socket.destroy()
  const found = await greet(server, options, run)
  if (!('fault' in found)) return [...run.steps, ...found.steps]
  return [...run.steps, await diagnose(server, resolved, varies, found.fault, run)]
}

/** Name, connection and TLS of an origin of which no more is known before a call. */
export async function checkReach(origin: string, why: string, run: Run): Promise<Step[]> {
  const socket = await connectTo(hostOf(origin), run)
  if (!socket) return run.steps
  socket.destroy()
  return [...run.steps, { name: 'handshake', status: 'skipped', detail: why }]
}

/** Opens a client of its own for one handshake and the list of tools, and closes it whatever comes. */
async function greet(
  server: McpServer,
  { env, limits, log, version }: CheckEndpointsOptions,
  { timeout, signal }: Run,
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

/** Looks for the program of a server over stdio as starting it would, without starting it. */
function checkCommand({ command = '', env: own }: McpServer, env: Env): Step {
  const path = own.PATH ?? env.PATH ?? ''
  const places = command.includes('/') ? [command] : path.split(delimiter).map((each) => join(each, command))
  const found = places.map((place) => [place, look(place)] as const)
  const sound = found.find(([, what]) => what === 'program')
  if (sound) return { name: 'command', status: 'ok', detail: sound[0] }
  const failed = (detail: string, hint: string): Step => ({
    name: 'command',
    status: 'failed',
    detail,
    hint,
    code: 'command-not-found',
  })
  const locked = found.find(([, what]) => what === 'locked')
  if (locked) return failed(`\`${locked[0]}\` is not executable`, 'Make it executable: `chmod +x`')
  return command.includes('/')
    ? failed(
        `there is no program \`${command}\``,
        'Correct the path; it is relative to where the gateway starts',
      )
    : failed(`there is no program \`${command}\` in PATH`, 'Install it, or write its full path')
}

function look(path: string): 'program' | 'locked' | undefined {
  try {
    if (!statSync(path).isFile()) return undefined
  } catch {
    return undefined
  }
  try {
    accessSync(path, constants.X_OK)
    return 'program'
  } catch {
    return 'locked'
  }
}
