import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Env, McpServer } from '../config/index.ts'
import { isFile } from '../config/plain-file.ts'
import { TRANSPORTS } from '../config/transports.ts'
import type { FindingCode } from '../findings/index.ts'
import { isObject, type JsonObject } from '../json/index.ts'
import {
  Cancellation,
  Fault,
  listPages,
  METHOD_NOT_FOUND,
  ownRequest,
  STATELESS_REVISIONS,
} from '../mcp/index.ts'
import { metaOf, ownMeta, SERVER_INFO } from '../mcp/protocol.ts'
import { type Connection, guardsOfCommands, type HttpRequest } from '../net/index.ts'
import { counted, firstOf, quote } from '../text/index.ts'
import {
  type Definition,
  handshakeRefused,
  type Resolved,
  repairedList,
  UpstreamServer,
} from '../upstream/index.ts'
import { aborted, ask, hostOf, reach } from './connect.ts'
import { silence } from './faults.ts'
import { type CheckEndpointsOptions, credentialsHint, failed, type Run, type Step } from './types.ts'

/** Checks a stdio server: its command; with `start` also its handshake and tools. */
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

/** Checks an HTTP server: name, connection and TLS, then its handshake and tools. */
export async function checkHttp(
  definition: Definition,
  resolved: Resolved,
  options: CheckEndpointsOptions,
  run: Run,
): Promise<void> {
  if (!(await reach(resolved.origin, run, definition.connection))) return
  const fault = await greet(definition, resolved, options, run)
  if (fault !== undefined) run.steps.push(await diagnose(definition, resolved, fault, run))
}

/** Checks name, connection and TLS of an origin, as far as known before a call. */
export async function checkReach(
  origin: string,
  why: string,
  run: Run,
  connection?: Connection,
): Promise<void> {
  if (await reach(origin, run, connection))
    run.steps.push({ name: 'handshake', status: 'skipped', detail: why })
}

/**
 * A handshake and the list of tools over temporary connections. Uses the gateway's client instead of the MCP SDK's, to
 * check whether the gateway can use the server.
 * @returns why there was no handshake or list
 */
async function greet(
  definition: Definition,
  resolved: Resolved | Fault,
  options: CheckEndpointsOptions,
  run: Run,
): Promise<string | undefined> {
  const found = await converse<Step[]>(definition, resolved, options, run, async ({ hello, list }) => {
    const handshake: Step = { name: 'handshake', status: 'ok', detail: hello.detail }
    const tools = await list('tools')
    if (tools === undefined) return [handshake, { name: 'tools', status: 'ok', detail: 'none' }]
    if (tools instanceof Fault) return tools.message
    if (typeof tools === 'string')
      return [handshake, failed('tools', 'mcp-handshake', tools, 'See the log of the server')]
    const count = counted(tools.length, 'tool')
    return [handshake, { name: 'tools', status: 'ok', detail: [count, ...faultsOf(tools)].join('; ') }]
  })
  if (typeof found === 'string') return found
  run.steps.push(...found)
  return undefined
}

/** Tools that clients could not read as declared. */
function faultsOf(tools: JsonObject[]): string[] {
  const faults: string[] = []
  repairedList('tools', { tools }, (_, name, fault) => faults.push(`${quote(name)}: ${fault}`))
  return firstOf(faults)
}

/**
 * All declarations of a server that models read.
 * @returns the reason if unreadable
 */
export function readDeclared(
  definition: Definition,
  resolved: Resolved | Fault,
  options: ServerOptions,
  run: Pick<Run, 'timeout' | 'signal'>,
): Promise<Declared | string> {
  return converse(definition, resolved, options, run, async ({ hello, list }) => {
    const [tools = [], prompts = []] = [await list('tools'), await list('prompts')]
    for (const each of [tools, prompts]) {
      if (each instanceof Fault) return each.message
      if (typeof each === 'string') return each
    }
    const { instructions } = hello.result
    return {
      ...(typeof instructions === 'string' && { instructions }),
      tools: tools as JsonObject[],
      prompts: prompts as JsonObject[],
    }
  })
}

/** Definitions as sent by the server. */
export interface Declared {
  instructions?: string
  tools: JsonObject[]
  prompts: JsonObject[]
}

const guards = guardsOfCommands()

type ServerOptions = Pick<CheckEndpointsOptions, 'env' | 'limits' | 'log' | 'version'>

interface Conversation {
  hello: {
    /** Result of `initialize` or `server/discover`. */
    result: JsonObject
    /** Name and protocol of the server. */
    detail: string
  }
  /**
   * All entries of a list; undefined: the server lacks the list; a text: its unexpected answer; a fault: it did not
   * answer.
   */
  list(kind: 'tools' | 'prompts'): Promise<JsonObject[] | string | Fault | undefined>
}

/**
 * Opens temporary connections to a server and completes a handshake.
 * @returns the result of `use`, or why there was no handshake
 */
async function converse<Outcome>(
  definition: Definition,
  resolved: Resolved | Fault,
  { env, limits, log, version }: ServerOptions,
  { timeout, signal }: Pick<Run, 'timeout' | 'signal'>,
  use: (conversation: Conversation) => Promise<Outcome | string>,
): Promise<Outcome | string> {
  if (resolved instanceof Fault) return resolved.message
  const own = { ...definition.server.limits, timeout, connectTimeout: timeout }
  const server = { ...definition.server, startupTimeout: timeout, limits: own }
  const upstream = new UpstreamServer(
    { ...definition, server },
    { env, limits, log, version, guards },
    () => [],
  )
  const cancel = new Cancellation()
  signal.addEventListener('abort', cancel.abort, { once: true })
  let id = 0
  const callOf = (method: string, given: JsonObject = {}) => {
    const params = { ...given, _meta: ownMeta(version) }
    return {
      message: ownRequest(method, params, id++),
      headers: {},
      caller: undefined,
      resolved,
      onMessage() {},
      signal: cancel,
    }
  }
  try {
    return await Promise.race([talk(upstream, resolved, callOf, use), aborted(signal)])
  } catch (error) {
    if (signal.aborted) return `The server ${server.name} did not answer in time`
    throw error
  } finally {
    signal.removeEventListener('abort', cancel.abort)
    cancel.abort()
    await upstream.close()
  }
}

async function talk<Outcome>(
  upstream: UpstreamServer,
  resolved: Resolved,
  callOf: (method: string, params?: JsonObject) => Parameters<UpstreamServer['handshake']>[0],
  use: (conversation: Conversation) => Promise<Outcome | string>,
): Promise<Outcome | string> {
  const discover = callOf('server/discover')
  const protocol = await upstream.probe.of(resolved, discover.message.params)
  if (protocol instanceof Fault) return protocol.message
  const bridge = upstream.bridge(protocol, resolved, false)
  const isStateless = protocol === 'stateless'
  const hello = await (isStateless ? bridge.request(discover) : upstream.handshake(discover))
  if (!hello) return 'cancelled'
  if (hello instanceof Fault) return hello.message
  if (isObject(hello.error)) return handshakeRefused(upstream.upstream.name, hello).message
  const result = isStateless && isObject(hello.result) ? hello.result : hello
  const detail = isStateless
    ? `${nameOf(metaOf(hello.result)[SERVER_INFO])}, ${STATELESS_REVISIONS[0]} (stateless)`
    : `${nameOf(hello.serverInfo)}, ${String(hello.protocolVersion)} (sessions)`
  const list: Conversation['list'] = async (kind) => {
    const entries: JsonObject[] = []
    for await (const answer of listPages((page) => bridge.request(callOf(`${kind}/list`, page)))) {
      if (!answer) return new Fault('cancelled', 'cancelled')
      if (answer instanceof Fault) return answer
      const { error, result } = answer as { error?: JsonObject; result?: JsonObject }
      // A server may lack either list.
      if (error?.code === METHOD_NOT_FOUND) return undefined
      if (error) return `it refused ${kind}/list: ${String(error.message).slice(0, 200)}`
      const listed = result?.[kind]
      if (!Array.isArray(listed)) return `it lists no ${kind}`
      for (const entry of listed) if (isObject(entry)) entries.push(entry)
    }
    return entries
  }
  return use({ hello: { result, detail }, list })
}

/** `name version`, as far as given. */
function nameOf(info: unknown): string {
  if (!isObject(info) || typeof info.name !== 'string') return 'a server without a name'
  return typeof info.version === 'string' ? `${info.name} ${info.version}` : info.name
}

const ACCEPT = 'application/json, text/event-stream'
const DISCOVER = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} })

/** Determines why an HTTP server did not complete the handshake, by the head of the response to another request. */
async function diagnose(
  { server, varies, connection }: Definition,
  resolved: Resolved,
  fault: string,
  run: Run,
): Promise<Step> {
  const bad = (detail: string, hint: string, code: FindingCode = 'mcp-handshake') =>
    failed('handshake', code, detail, hint)
  const { at } = hostOf(resolved.origin)
  if (run.signal.aborted)
    return { ...bad('', ''), ...silence(`${at} did not complete the MCP handshake`, run.timeout) }
  const header = await resolved.credential?.header()
  if (header instanceof Fault) return bad(header.message, credentialsHint(server), 'endpoint-credentials')
  const sent = { ...resolved.headers, ...(header && { [header.name]: header.value }) }
  const head = await ask(requestOf(server, { ...resolved, headers: sent }), run, connection).catch(
    () => undefined,
  )
  if (!head) return { ...bad(fault, 'See the log of the server'), transient: true }
  const { status, type, location, challenges } = head
  const said = `${at} answered ${status}`
  if (status === 401 && server.credentials?.type === 'oauth')
    return bad(fault, credentialsHint(server), 'endpoint-credentials')
  if (status === 401 || (status === 403 && (challenges || varies))) {
    if (!varies) {
      const key = server.credentials ? 'credentials' : 'headers'
      const hint = `Set them in \`${key}\` of the MCP server \`${server.name}\``
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
  if (status === 403) {
    const hint = `See what it says. Some servers accept one name of their host only; \`url\` has ${at}`
    return bad(`${said}: ${fault}`, hint)
  }
  if (status === 404 || status === 405) return bad(`${said}: there is no MCP endpoint`, usual(server))
  if (status >= 500) return { ...bad(`${said}: ${fault}`, 'See the log of the server'), transient: true }
  return bad(`${said}, but did not complete the handshake: ${fault}`, usual(server))
}

/** The first request of a client. */
function requestOf({ type }: McpServer, { origin, path, headers }: Resolved): HttpRequest {
  if (TRANSPORTS[type].messages === 'events')
    return { method: 'GET', origin, path, headers: { ...headers, accept: 'text/event-stream' } }
  const post = { ...headers, accept: ACCEPT, 'content-type': 'application/json' }
  return { method: 'POST', origin, path, headers: post, body: DISCOVER }
}

/** Origin and path; a query may contain secrets. */
function whereTo(location: string | undefined): string {
  if (location === undefined || !URL.canParse(location)) return ''
  const { origin, pathname } = new URL(location)
  return ` (${origin}${pathname})`
}

function usual({ type, url = '' }: McpServer): string {
  const path = url.replace(/[?#].*$/s, '')
  for (const [other, { pathEnd }] of Object.entries(TRANSPORTS))
    if (other !== type && pathEnd !== undefined && path.endsWith(pathEnd))
      return `Is it \`type: ${other}\`? Its address ends in ${pathEnd}`
  return `Check the path of \`url\`: for ${type} it usually ends in ${TRANSPORTS[type].pathEnd}`
}

/** Looks up the program of a stdio server without starting it. */
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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
