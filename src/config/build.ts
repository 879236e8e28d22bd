import type { JsonObject } from '../json/index.ts'
import type {
  Arg,
  Configuration,
  Cors,
  Limits,
  McpServer,
  Prompt,
  Router,
  Server,
  ServerLimits,
  Tool,
} from './model.ts'
import { buildNotifier } from './notifier.ts'
import { parseDuration, parseSize } from './units.ts'

/** A value that the schema has accepted, with keys as optional as in a file. */
// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field that is read here
type Checked = Record<string, any>

/** What MCP needs of a browser, and what it is given when a router's `cors` does not say. */
const CORS_DEFAULTS: Cors = {
  allowOrigins: [],
  allowMethods: ['GET', 'POST', 'DELETE', 'OPTIONS'],
  allowHeaders: [
    'Content-Type',
    'Authorization',
    'Mcp-Session-Id',
    'mcp-protocol-version',
    'Mcp-Method',
    'Mcp-Name',
    'Last-Event-ID',
  ],
  exposeHeaders: ['Mcp-Session-Id', 'mcp-protocol-version'],
  allowCredentials: false,
}

/** The model of a value that the schema has accepted. Defaults of arguments are set by `readDefaults`. */
export function buildConfiguration(value: Checked): Configuration {
  return {
    name: value.name,
    tenant: value.tenant ?? 'default',
    ...some(value, ['createdAt', 'updatedAt']),
    routers: (value.routers ?? []).map(buildRouter),
    servers: (value.servers ?? []).map(buildServer),
    tools: (value.tools ?? []).map(buildTool),
    prompts: (value.prompts ?? []).map(buildPrompt),
    mcpServers: (value.mcpServers ?? []).map(buildMcpServer),
    ...(value.notifier && { notifier: buildNotifier(value.notifier) }),
  }
}

/** Those of the keys that are given. */
function some(value: Checked, keys: readonly string[]): Checked {
  return Object.fromEntries(keys.filter((key) => value[key] !== undefined).map((key) => [key, value[key]]))
}

function buildRouter(router: Checked): Router {
  const { auth, cors } = router
  return {
    server: router.server,
    prefix: router.prefix,
    ...some(router, ['ssePrefix']),
    ...(cors && { cors: buildCors(cors) }),
    ...(auth && {
      auth: {
        mode: auth.mode,
        tokens: (auth.tokens ?? []).map((entry: Checked, i: number) => ({
          token: entry.token,
          caller: entry.caller ?? `caller-${i + 1}`,
        })),
      },
    }),
  }
}

function buildCors(cors: Checked): Cors {
  const given = some(cors, Object.keys(CORS_DEFAULTS)) as Partial<Cors>
  const merged = { ...CORS_DEFAULTS, ...given }
  return { ...merged, allowMethods: merged.allowMethods.map((method) => method.toUpperCase()) }
}

function buildServer(server: Checked): Server {
  return {
    name: server.name,
    ...some(server, ['namespace', 'description', 'allowedTools']),
    config: server.config ?? {},
    ...(server.limits && { limits: buildLimits(server.limits) }),
  }
}

/** Only what is given. */
export function buildLimits(limits: Checked): Partial<Limits> {
  const built: Partial<Limits> = {}
  for (const key of ['connectTimeout', 'timeout'] as const) {
    const duration = parseDuration(limits[key] ?? '')
    if (duration !== undefined) built[key] = duration
  }
  for (const key of ['maxResponseSize', 'maxRequestSize'] as const) {
    const size = parseSize(limits[key] ?? '')
    if (size !== undefined) built[key] = size
  }
  return built
}

/** Only what is given. */
export function buildServerLimits(limits: Checked): Partial<ServerLimits> {
  const built: Partial<ServerLimits> = {}
  for (const key of ['headersTimeout', 'requestTimeout', 'writeTimeout'] as const) {
    const duration = parseDuration(limits[key] ?? '')
    if (duration !== undefined) built[key] = duration
  }
  for (const key of ['maxQueued', 'maxBuffered'] as const) {
    const size = parseSize(limits[key] ?? '')
    if (size !== undefined) built[key] = size
  }
  return { ...built, ...some(limits, SERVER_COUNTS) }
}

const SERVER_COUNTS = [
  'maxConnections',
  'maxConnectionsPerAddress',
  'maxSessions',
  'maxSessionsPerPrefix',
  'maxSessionsPerCaller',
  'maxCallsPerPrefix',
  'maxCallsPerCaller',
]

function buildTool(tool: Checked): Tool {
  const { inputSchema, outputSchema } = tool
  return {
    name: tool.name,
    ...some(tool, ['title', 'description']),
    method: (tool.method ?? 'GET').toUpperCase(),
    endpoint: tool.endpoint,
    headers: tool.headers ?? {},
    args: (tool.args ?? []).map(buildArg),
    // Files that a database wrote hold every key, with an empty text for what is not given.
    ...Object.fromEntries(
      ['requestBody', 'responseBody', 'errorBody'].filter((key) => tool[key]).map((key) => [key, tool[key]]),
    ),
    ...(inputSchema && { inputSchema: objectSchema(inputSchema) }),
    ...(outputSchema && { outputSchema: objectSchema(outputSchema) }),
    ...some(tool, ['annotations', 'meta', 'proxy', 'redirectBody']),
    followRedirects: tool.followRedirects ?? false,
    ...(tool.limits && { limits: buildLimits(tool.limits) }),
  }
}

/** MCP wants `type: object` at the top of a tool's schema; properties alone say as much. */
function objectSchema(schema: JsonObject): JsonObject {
  return schema.type === undefined && schema.properties !== undefined ? { type: 'object', ...schema } : schema
}

function buildArg(arg: Checked): Arg {
  return {
    name: arg.name,
    position: arg.position,
    required: arg.required ?? false,
    type: arg.type ?? 'string',
    ...some(arg, ['description', 'default', 'enum', 'items', 'properties']),
  }
}

function buildPrompt(prompt: Checked): Prompt {
  return {
    name: prompt.name,
    ...some(prompt, ['title', 'description']),
    arguments: (prompt.arguments ?? []).map((argument: Checked) => ({
      name: argument.name,
      ...some(argument, ['description']),
      required: argument.required ?? false,
    })),
    promptResponse: (prompt.promptResponse ?? []).map(({ role, content }: Checked) => ({
      role,
      content: { type: 'text', text: content.text },
    })),
  }
}

function buildMcpServer(server: Checked): McpServer {
  return {
    type: server.type,
    name: server.name,
    ...some(server, ['command', 'url']),
    args: server.args ?? [],
    env: server.env ?? {},
    headers: server.headers ?? {},
    policy: server.policy ?? 'onDemand',
    preinstalled: server.preinstalled ?? false,
    isolation: server.isolation ?? 'session',
    startupTimeout: duration(server.startupTimeout, 30_000),
    idleTimeout: duration(server.idleTimeout, 1_800_000),
    maxSessions: server.maxSessions ?? (server.type === 'stdio' ? 100 : 100_000),
    ...some(server, ['allowedTools']),
    blockedTools: server.blockedTools ?? [],
    toolOverrides: server.toolOverrides ?? {},
    ...(server.limits && { limits: buildLimits(server.limits) }),
  }
}

function duration(value: string | undefined, otherwise: number): number {
  return parseDuration(value ?? '') ?? otherwise
}
