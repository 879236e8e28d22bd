import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Env, McpServer } from '../config/index.ts'
import type { FindingCode } from '../findings/index.ts'
import { isObject, type JsonObject } from '../json/index.ts'
import { Cancellation, Fault, STATELESS_REVISIONS } from '../mcp/index.ts'
import { metaOf, ownMeta, SERVER_INFO } from '../mcp/protocol.ts'
import type { HttpRequest } from '../net/index.ts'
import { type Definition, handshakeRefused, type Resolved, UpstreamServer } from '../upstream/index.ts'
import { aborted, ask, hostOf, reach } from './connect.ts'
import { silence } from './faults.ts'
import { type CheckEndpointsOptions, failed, type Run, type Step } from './types.ts'

/** A server over stdio: its command; with `start` its handshake and its tools too. */
export async function checkStdio(
  definition: Definition,
  resolved: Resolved | Fault,
  options: CheckEndpointsOptions,
  run: Run,
): Promise<void> {
  const { server } = definition
  const command = checkCommand(server, options.env)
  run.steps.push(command)
  if (command.status !== 'ok' || !options.start) return
  const fault = await greet(definition, resolved, options, run)
  if (fault === undefined) return
  const late =
    run.signal.aborted && silence(`the server \`${server.name}\` did not complete the handshake`, run.timeout)
  const hint =
    'Run it by hand and see what it writes; set the variables it needs in `env`: it gets only PATH and HOME'
  const step = failed('handshake', 'mcp-handshake', fault, hint)
  run.steps.push({ ...step, ...late, code: step.code, transient: false })
}

/** A server over HTTP: name, connection and TLS of its origin, then its handshake and its tools. */
export async function checkHttp(
  definition: Definition,
  resolved: Resolved,
  options: CheckEndpointsOptions,
  run: Run,
): Promise<void> {
  if (!(await reach(resolved.origin, run))) return
  const fault = await greet(definition, resolved, options, run)
  if (fault !== undefined) run.steps.push(await diagnose(definition, resolved, fault, run))
}

/** Name, connection and TLS of an origin of which no more is known before a call. */
export async function checkReach(origin: string, why: string, run: Run): Promise<void> {
  if (await reach(origin, run)) run.steps.push({ name: 'handshake', status: 'skipped', detail: why })
}

/**
 * One handshake and the list of tools, by connections of its own, which are closed whatever comes. They go the way of
 * the gateway rather than that of the MCP SDK's client: what is asked is whether the gateway can use the server.
 * @returns why there was no handshake, or no list
 */
async function greet(
  definition: Definition,
  resolved: Resolved | Fault,
  { env, limits, log, version }: CheckEndpointsOptions,
  { steps, timeout, signal }: Run,
): Promise<string | undefined> {
  if (resolved instanceof Fault) return resolved.message
  const own = { ...definition.server.limits, timeout, connectTimeout: timeout }
  const server = { ...definition.server, startupTimeout: timeout, limits: own }
  const upstream = new UpstreamServer({ ...definition, server }, { env, limits, log, version }, () => [])
  const cancel = new Cancellation()
  signal.addEventListener('abort', cancel.abort, { once: true })
  let id = 0
  const callOf = (method: string, given: JsonObject = {}) => {
    const params = { ...given, _meta: ownMeta(version) }
    const raw = { jsonrpc: '2.0', id: ++id, method, params }
    const message = { kind: 'request' as const, id, method, params, raw }
    return { message, headers: {}, caller: undefined, resolved, onMessage() {}, signal: cancel }
  }
  try {
    const found = await Promise.race([talk(upstream, resolved, callOf), aborted(signal)])
    if (typeof found === 'string') return found
    steps.push(...found)
    return undefined
  } catch (error) {
    if (signal.aborted) return `The server ${server.name} did not answer in time`
    throw error
  } finally {
    signal.removeEventListener('abort', cancel.abort)
    cancel.abort()
    await upstream.close()
  }
}

/** More pages than these are not counted. */
const MAX_PAGES = 100

async function talk(
  upstream: UpstreamServer,
  resolved: Resolved,
  callOf: (method: string, params?: JsonObject) => Parameters<UpstreamServer['handshake']>[0],
): Promise<Step[] | string> {
  const discover = callOf('server/discover')
  const protocol = await upstream.probe.of(resolved, discover.message.params)
  if (protocol instanceof Fault) return protocol.message
  const bridge = upstream.bridge(protocol)
  const isStateless = protocol === 'stateless'
  const hello = await (isStateless ? bridge.request(discover) : upstream.handshake(discover))
  if (!hello) return 'cancelled'
  if (hello instanceof Fault) return hello.message
  if (isObject(hello.error)) return handshakeRefused(upstream.upstream.name, hello).message
  const detail = isStateless
    ? `${nameOf(metaOf(hello.result)[SERVER_INFO])}, ${STATELESS_REVISIONS[0]} (stateless)`
    : `${nameOf(hello.serverInfo)}, ${String(hello.protocolVersion)} (sessions)`
  const handshake: Step = { name: 'handshake', status: 'ok', detail }
  let count = 0
  let cursor: JsonObject[string] | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await bridge.request(callOf('tools/list', cursor === undefined ? {} : { cursor }))
    if (!answer) return 'cancelled'
    if (answer instanceof Fault) return answer.message
    const { error, result } = answer as { error?: JsonObject; result?: JsonObject }
    // A server may have prompts or resources only.
    if (error?.code === -32601) return [handshake, { name: 'tools', status: 'ok', detail: 'none' }]
    if (error || !Array.isArray(result?.tools)) {
      const detail = error
        ? `it refused tools/list: ${String(error.message).slice(0, 200)}`
        : 'it lists no tools'
      return [handshake, failed('tools', 'mcp-handshake', detail, 'See the log of the server')]
    }
    count += result.tools.length
    cursor = result.nextCursor
    if (cursor === undefined) break
  }
  const tools = `${count} ${count === 1 ? 'tool' : 'tools'}`
  return [handshake, { name: 'tools', status: 'ok', detail: tools }]
}

/** `name version`, as far as the server says. */
function nameOf(info: unknown): string {
  if (!isObject(info) || typeof info.name !== 'string') return 'a server without a name'
  return typeof info.version === 'string' ? `${info.name} ${info.version}` : info.name
}

const ACCEPT = 'application/json, text/event-stream'
const DISCOVER = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} })

/** Finds out why a server over HTTP did not complete the handshake: sends one more request, and looks at the head of the response. */
async function diagnose(
  { server, varies }: Definition,
  resolved: Resolved,
  fault: string,
  run: Run,
): Promise<Step> {
  const bad = (detail: string, hint: string, code: FindingCode = 'mcp-handshake') =>
    failed('handshake', code, detail, hint)
  const { at } = hostOf(resolved.origin)
  if (run.signal.aborted)
    return { ...bad('', ''), ...silence(`${at} did not complete the MCP handshake`, run.timeout) }
  const head = await ask(requestOf(server, resolved), run).catch(() => undefined)
  if (!head) return { ...bad(fault, 'See the log of the server'), transient: true }
  const { status, type, location } = head
  const said = `${at} answered ${status}`
  if (status === 401 || status === 403) {
    if (!varies) {
      const hint = `Set them in \`headers\` of the MCP server \`${server.name}\``
      return bad(`${said}: it requires other credentials`, hint, 'endpoint-credentials')
    }
    const hint = 'Nothing is wrong if callers send credentials; there were none to check with'
    const step = bad(`${said} without the credentials of a caller`, hint, 'endpoint-credentials')
    return { ...step, status: 'warning' }
  }
  if (status >= 300 && status < 400)
    return bad(`${said}: it redirects`, `Set \`url\` to the redirect target${whereTo(location)}`)
  if (type === 'text/html') {
    const hint = `This is a page for browsers. ${usual(server)}`
    return bad(`${said} with an HTML page where MCP was expected`, hint)
  }
  if (status === 404 || status === 405) return bad(`${said}: there is no MCP endpoint`, usual(server))
  if (status >= 500) return { ...bad(`${said}: ${fault}`, 'See the log of the server'), transient: true }
  return bad(`${said}, but did not complete the handshake: ${fault}`, usual(server))
}

/** What a client of the server sends first. */
function requestOf({ type }: McpServer, { origin, path, headers }: Resolved): HttpRequest {
  if (type === 'sse')
    return { method: 'GET', origin, path, headers: { ...headers, accept: 'text/event-stream' } }
  const post = { ...headers, accept: ACCEPT, 'content-type': 'application/json' }
  return { method: 'POST', origin, path, headers: post, body: DISCOVER }
}

/** Origin and path; a query may hold secrets. */
function whereTo(location: string | undefined): string {
  if (location === undefined || !URL.canParse(location)) return ''
  const { origin, pathname } = new URL(location)
  return ` (${origin}${pathname})`
}

function usual({ type, url = '' }: McpServer): string {
  const path = url.replace(/[?#].*$/s, '')
  if (type === 'sse' && path.endsWith('/mcp'))
    return 'Is it `type: streamable-http`? Its address ends in /mcp'
  if (type === 'streamable-http' && path.endsWith('/sse'))
    return 'Is it `type: sse`? Its address ends in /sse'
  return `Check the path of \`url\`: for ${type} it usually ends in ${type === 'sse' ? '/sse' : '/mcp'}`
}

/** Looks for the program of a server over stdio as starting it would, without starting it. */
function checkCommand({ command = '', env: own }: McpServer, env: Env): Step {
  const path = own.PATH ?? env.PATH ?? ''
  const isPath = command.includes('/')
  const places = isPath ? [command] : path.split(delimiter).map((each) => join(each, command))
  const files = places.filter(isFile)
  const program = files.find(isExecutable)
  if (program !== undefined) return { name: 'command', status: 'ok', detail: program }
  const bad = (detail: string, hint: string) => failed('command', 'command-not-found', detail, hint)
  if (files[0] !== undefined)
    return bad(`\`${files[0]}\` is not executable`, 'Make it executable: `chmod +x`')
  return isPath
    ? bad(
        `there is no program \`${command}\``,
        'Correct the path; it is relative to where the gateway starts',
      )
    : bad(`there is no program \`${command}\` in PATH`, 'Install it, or write its full path')
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
