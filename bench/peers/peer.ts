/** What a gateway is asked to do: to call an HTTP API as a tool, or to pass calls on, to clients of two transports. */
export type Case = 'tool' | 'http' | 'stdio' | 'sse' | 'services'

/** What surrounds a gateway that is started. */
export interface Site {
  /** On 127.0.0.1, which the gateway listens on. */
  port: number
  /** Empty, for files of configuration. */
  folder: string
  /** Address of the HTTP API: `GET /items/{id}?tag=`. */
  api: string
  /** Address of the MCP server over streamable HTTP, which has the tool `get_item`. */
  mcp: string
  /** The command of the same server over stdio. */
  stdio: readonly [string, ...string[]]
  /** How many services the case `services` has, each with one tool. */
  services: number
}

/** How a gateway is started for a case, once its files are written. */
export interface Launch {
  command: readonly [string, ...string[]]
  env?: Record<string, string>
  /** Of its MCP endpoint; for `services` of the last one, for `sse` of the event stream. */
  path: string
  /** There is no MCP at that path: a call is one POST, without a session. */
  isPlain?: true
  /** Arguments of the call, where the gateway changes their shape. */
  arguments?: object
}

export interface Peer {
  name: string
  version: string
  /** It is no gateway but the least program that does the same. */
  isFloor?: true
  /** Why it is not measured. */
  absent?: string
  /** What it can do; may write files into the site's folder. */
  launch: Partial<Record<Case, (site: Site) => Launch>>
}

/** The OpenAPI description of the HTTP API, for gateways that make tools of one. */
export function openapi(api: string): object {
  const parameter = (name: string, place: string, type: string) => ({
    name,
    in: place,
    required: true,
    schema: { type },
  })
  const get = {
    operationId: 'get_item',
    summary: 'Get an item',
    parameters: [parameter('id', 'path', 'integer'), parameter('tag', 'query', 'string')],
    responses: { 200: { description: 'The item', content: { 'application/json': { schema: {} } } } },
  }
  return {
    openapi: '3.0.3',
    info: { title: 'bench', version: '1' },
    servers: [{ url: api }],
    paths: { '/items/{id}': { get } },
  }
}
