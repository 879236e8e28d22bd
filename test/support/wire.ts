import type { TestContext } from 'node:test'
import type { Hono } from 'hono'
import { bearerAuthentication } from '../../src/access/bearer.ts'
import { createCors } from '../../src/access/cors.ts'
import { createHostGuard } from '../../src/access/host.ts'
import type { Authorize } from '../../src/access/permissions.ts'
import { Rates } from '../../src/access/rate.ts'
import type { Approval, Authenticate } from '../../src/access/steps.ts'
import { buildTable } from '../../src/build/table.ts'
import type { PublicDocument, Route } from '../../src/build/types.ts'
import type { Cors, RateRule } from '../../src/config/model.ts'
import { pipelineOf, SessionRegistry, type SessionRegistryOptions } from '../../src/mcp/index.ts'
import { type AppParts, createApp } from '../../src/server/app.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { type Service, ToolsBackend } from '../../src/tools/backend.ts'
import type { Method } from '../../src/tools/types.ts'

export interface Wire {
  app: Hono
  registry: SessionRegistry
  /** Calls of the tool `wait` that are under way; each ends when it is called, or by its signal. */
  waiting: Map<string, () => void>
  /** Names of the calls whose signal was aborted. */
  cancelled: string[]
}

export interface WireOptions {
  cors?: Cors
  maxRequestSize?: number
  registry?: SessionRegistryOptions
  bind?: string
  publicUrl?: string
  allowedHosts?: string[]
  allowedOrigins?: string[]
  token?: string
  authenticate?: Authenticate
  authorize?: Authorize
  /** A person has to approve calls. */
  approval?: Approval
  /** Tools that the list names. Default none. */
  listed?: readonly string[]
  documents?: ReadonlyMap<string, PublicDocument>
  plants?: AppParts['plants']
  /** Rules of `/one`. */
  rate?: readonly RateRule[]
  rates?: Rates
  parts?: Partial<AppParts>
}

/** An app with two prefixes, `/one` and `/two`, whose service has tools that the wire's tests need. */
export async function wire(options: WireOptions = {}): Promise<Wire> {
  const waiting = new Map<string, () => void>()
  const cancelled: string[] = []
  const registry = new SessionRegistry(options.registry)
  const log = await createLog({ level: 'silent', format: 'json' })
  const backend = new ToolsBackend(() => testService(waiting, cancelled, options.listed ?? []))
  const { rates = new Rates() } = options
  const ratesOf = (prefix: string) => {
    const rate = rates.of({ prefix, tenant: 'default', ...(prefix === '/one' && { rate: options.rate }) })
    return rate && { rate }
  }
  const routes = ['/one', '/two'].map(
    (prefix): Route => ({
      prefix,
      ssePrefix: prefix,
      access: 'open',
      backend,
      callLog: { tenant: 'default', prefix, log },
      pipeline: pipelineOf({
        authorizes: options.authorize !== undefined,
        approves: options.approval !== undefined,
      }),
      tools: [],
      lists: { tools: '[]', prompts: '[]' },
      configuration: 'test',
      keepsResults: false,
      tenant: 'default',
      maxRequestSize: options.maxRequestSize ?? 100_000,
      ...(options.cors && { cors: createCors(options.cors) }),
      ...(options.token && { authenticate: bearerAuthentication([{ token: options.token, caller: 'me' }]) }),
      ...(options.authenticate && { authenticate: options.authenticate }),
      ...(options.authorize && { authorize: options.authorize }),
      ...(options.approval && { approval: options.approval }),
      ...ratesOf(prefix),
      ...(options.documents && { documents: options.documents }),
    }),
  )
  const table = buildTable(
    1,
    new Map([
      [
        'test',
        {
          id: 'test',
          name: 'test',
          tenant: 'default',
          file: 'test.yaml',
          text: '',
          since: '',
          claims: [],
          servers: new Map(),
          routes,
        },
      ],
    ]),
  )
  const { bind = '127.0.0.1', allowedHosts = [], allowedOrigins = [], plants } = options
  const { publicUrl } = options
  const guard = createHostGuard({
    bind,
    allowedHosts,
    allowedOrigins,
    ...(publicUrl !== undefined && { publicUrl }),
  })
  return {
    app: createApp({ table: () => table, registry, guard, log, ...(plants && { plants }), ...options.parts }),
    registry,
    waiting,
    cancelled,
  }
}

function testService(
  waiting: Map<string, () => void>,
  cancelled: string[],
  listed: readonly string[],
): Service {
  const call: Method = async (params, { signal }) => {
    const name = String(params.name)
    if (name === 'fail') throw new Error('a bug')
    if (name !== 'wait') return { result: JSON.stringify({ content: [{ type: 'text', text: name }] }) }
    const key = String((params.arguments as { key?: string } | undefined)?.key)
    return new Promise((resolve) => {
      const done = () => resolve({ result: '{"content":[]}' })
      waiting.set(key, done)
      signal.addEventListener('abort', () => {
        cancelled.push(key)
        done()
      })
    })
  }
  return {
    info: { name: 'test', version: '1.2.3' },
    instructions: 'Be kind.',
    capabilities: { tools: { listChanged: true } },
    lists: { tools: '[]', prompts: '[]' },
    methods: new Map<string, Method>([
      [
        'tools/list',
        async () => ({
          result: JSON.stringify({
            tools: listed.map((name) => ({ name, inputSchema: { type: 'object' } })),
          }),
        }),
      ],
      ['tools/call', call],
    ]),
    paramHeaders: (tool) => (tool === 'region' ? [{ path: ['region'], header: 'mcp-param-region' }] : []),
    cacheScope: 'public',
  }
}

export const ACCEPT = 'application/json, text/event-stream'

/** POSTs a JSON-RPC message, or any text, as a client does. */
export function post(app: Hono, path: string, body: unknown, headers: Record<string, string> = {}) {
  return app.request(path, {
    method: 'POST',
    headers: { host: 'localhost', 'content-type': 'application/json', accept: ACCEPT, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

export function rpc(method: string, params?: object, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) }
}

/** The first message of a session-based client that can do nothing. */
export const INITIALIZE = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {} })

/** Opens a session and returns the header that names it. */
export async function open(
  app: Hono,
  prefix = '/one',
  protocolVersion = '2025-11-25',
  headers = {},
  capabilities = {},
) {
  const params = { protocolVersion, capabilities, clientInfo: { name: 'test', version: '1' } }
  const response = await post(app, `${prefix}/mcp`, rpc('initialize', params), headers)
  return { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }
}

export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** POSTs a request of 2026-07-28 with its headers; `headers` replaces or, when undefined, takes away. */
export function stateless(
  app: Hono,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string | undefined> = {},
  init: { signal?: AbortSignal; id?: unknown } = {},
) {
  const name = params.name ?? params.uri
  const all = {
    host: 'localhost',
    'content-type': 'application/json',
    accept: ACCEPT,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...headers,
  }
  const kept = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return app.request('/one/mcp', {
    method: 'POST',
    headers: Object.fromEntries(kept),
    body: JSON.stringify(rpc(method, { _meta: META, ...params }, init.id ?? 1)),
    ...(init.signal && { signal: init.signal }),
  })
}

/** What `JSON.parse` gives: anything, so that a test can look into it. */
export type Loose = ReturnType<typeof JSON.parse>

/** The JSON of an answer; of a stream, which slow calls get, its last message. */
export async function body(response: Response | Promise<Response>): Promise<Loose> {
  const answer = await response
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.json()
  const last = [...(await answer.text()).matchAll(/^data: (.+)$/gm)].at(-1)
  return JSON.parse(last?.[1] ?? '')
}

export interface StreamEvent {
  id: string | undefined
  event: string
  data: string
}

/**
 * The next events of a stream, fewer when it ends; keep-alive comments are left out.
 * @param primed whether events without data count, which only give an id
 */
export async function readEvents(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  count: number,
  primed = false,
): Promise<StreamEvent[]> {
  const found: StreamEvent[] = []
  const decoder = new TextDecoder()
  let text = ''
  while (found.length < count) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end)
      text = text.slice(end + 2)
      const data = (primed ? /^data: ?(.*)$/m : /^data: (.*)$/m).exec(block)?.[1]
      if (data === undefined) continue
      const [id, event = 'message'] = [/^id: (.*)$/m, /^event: (.*)$/m].map((field) => field.exec(block)?.[1])
      found.push({ id, event, data })
    }
  }
  return found
}

/** Reads events of a stream until `count` have come; keep-alive comments are left out. */
export async function events(response: Response, count: number): Promise<StreamEvent[]> {
  const reader = response.body!.getReader()
  const found = await readEvents(reader, count)
  reader.releaseLock()
  return found
}

/** The gateway's own timer does not keep a process alive, and without a socket nothing else does here. */
export function holdOpen(t: TestContext): void {
  const timer = setInterval(() => {}, 1000)
  t.after(() => clearInterval(timer))
}
