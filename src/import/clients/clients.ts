import { posix, win32 } from 'node:path'
import { isObject, type Json, type JsonObject } from '../../json/index.ts'
import { isHere } from '../../net/index.ts'
import { namer, slug } from '../../openapi/tool-names.ts'

/** Where files of a user are. */
export interface Places {
  platform: NodeJS.Platform
  /** The home folder. */
  home: string
  env: Readonly<Record<string, string | undefined>>
}

/** An MCP client and its configuration file. */
export interface Client {
  /** For people. */
  label: string
  form: 'json' | 'toml'
  /** The key of the file below which the servers are. */
  key: string
  /** The file of the user. */
  file(places: Places): string
  /** The file of a project, from its folder; absent: the client has none. */
  project?: string
  /** The client's own form of a server. */
  entry(endpoint: Endpoint, platform: NodeJS.Platform): JsonObject
  /** Inputs for which the client asks the user; absent: none. */
  inputs?(endpoint: Endpoint): JsonObject[]
  /** A link with which the client adds a server; absent: it has none. */
  installLink?(endpoint: Endpoint): string
  /** The remaining step for the user, as a sentence. */
  next: string
}

/** Headers of every request. @param variable the client's syntax for an environment variable */
function bearer({ tokenEnv }: Endpoint, variable: (name: string) => string): JsonObject {
  return tokenEnv === undefined ? {} : { headers: { Authorization: `Bearer ${variable(tokenEnv)}` } }
}

const braces = (name: string) => `\${${name}}`
const prefixed = (name: string) => `\${env:${name}}`

/** `PLANTGW_TOKEN` → `plantgw-token`, the id of an input in a file of VS Code. */
const inputId = (tokenEnv: string) => tokenEnv.toLowerCase().replaceAll('_', '-')

/** The form of Cursor, and of Devin Desktop. */
function inCursor(one: Endpoint): JsonObject {
  return { url: one.url, ...bearer(one, prefixed) }
}

function inVsCode(one: Endpoint): JsonObject {
  return { type: 'http', url: one.url, ...bearer(one, (name) => `\${input:${inputId(name)}}`) }
}

function vsCodeInputs({ tokenEnv }: Endpoint): JsonObject[] {
  if (tokenEnv === undefined) return []
  const description = `${tokenEnv} of plantgw`
  return [{ type: 'promptString', id: inputId(tokenEnv), description, password: true }]
}

/** Where applications of a desktop keep their files. */
function applications({ platform, home, env }: Places): string {
  if (platform === 'win32') return env.APPDATA || win32.join(home, 'AppData', 'Roaming')
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support')
  return configurations({ platform, home, env })
}

/** Where programs of a terminal keep their files. */
function configurations({ platform, home, env }: Places): string {
  if (platform === 'win32') return env.APPDATA || win32.join(home, 'AppData', 'Roaming')
  return (platform !== 'darwin' && env.XDG_CONFIG_HOME) || posix.join(home, '.config')
}

function below({ platform }: Places, ...parts: string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts)
}

/** The clients whose files `plantgw connect` writes, each as its documentation has it in November 2026. */
const CLIENTS = {
  'claude-code': {
    label: 'Claude Code',
    form: 'json',
    key: 'mcpServers',
    file: (at) => below(at, at.env.CLAUDE_CONFIG_DIR || at.home, '.claude.json'),
    project: '.mcp.json',
    entry: (one) => ({ type: 'http', url: one.url, ...bearer(one, braces) }),
    next: 'Start Claude Code again, or run /mcp in it.',
  },
  'claude-desktop': {
    label: 'Claude Desktop',
    form: 'json',
    key: 'mcpServers',
    file: (at) => below(at, applications(at), 'Claude', 'claude_desktop_config.json'),
    // Its file can only start commands: an entry with a URL is ignored.
    entry: bridgeTo,
    next: 'Quit Claude Desktop and start it again.',
  },
  cursor: {
    label: 'Cursor',
    form: 'json',
    key: 'mcpServers',
    file: (at) => below(at, at.home, '.cursor', 'mcp.json'),
    project: '.cursor/mcp.json',
    entry: inCursor,
    installLink: (one) => {
      const config = Buffer.from(JSON.stringify(inCursor(one))).toString('base64')
      return `cursor://anysphere.cursor-deeplink/mcp/install?${new URLSearchParams({ name: one.name, config })}`
    },
    next: 'Cursor reads the file at once; switch the server on in its settings, under MCP.',
  },
  vscode: {
    label: 'VS Code',
    form: 'json',
    key: 'servers',
    file: (at) => below(at, applications(at), 'Code', 'User', 'mcp.json'),
    project: '.vscode/mcp.json',
    entry: inVsCode,
    inputs: vsCodeInputs,
    installLink: (one) => {
      const { name } = one
      const server = { name, ...inVsCode(one), inputs: vsCodeInputs(one) }
      return `vscode:mcp/install?${encodeURIComponent(JSON.stringify(server))}`
    },
    next: 'Start the server in VS Code: "MCP: List Servers" of the command palette.',
  },
  windsurf: {
    label: 'Windsurf',
    form: 'json',
    key: 'mcpServers',
    file: (at) => below(at, at.home, '.codeium', 'windsurf', 'mcp_config.json'),
    entry: (one) => ({ serverUrl: one.url, ...bearer(one, prefixed) }),
    next: 'Refresh the MCP servers of Cascade. For Devin Desktop, as Windsurf is named since June 2026, use `devin`.',
  },
  devin: {
    label: 'Devin Desktop',
    form: 'json',
    key: 'mcpServers',
    file: (at) => below(at, configurations(at), 'devin', 'mcp_config.json'),
    project: '.devin/mcp_config.json',
    entry: inCursor,
    next: 'Open the MCP list of Devin Desktop.',
  },
  codex: {
    label: 'Codex',
    form: 'toml',
    key: 'mcp_servers',
    file: (at) => below(at, at.env.CODEX_HOME || below(at, at.home, '.codex'), 'config.toml'),
    project: '.codex/config.toml',
    entry: ({ url, tokenEnv }) => ({
      url,
      ...(tokenEnv !== undefined && { bearer_token_env_var: tokenEnv }),
    }),
    next: 'Start Codex again; `codex mcp list` shows the server.',
  },
  gemini: {
    label: 'Gemini CLI',
    form: 'json',
    key: 'mcpServers',
    file: (at) => below(at, at.home, '.gemini', 'settings.json'),
    project: '.gemini/settings.json',
    entry: (one) => ({ type: 'http', url: one.url, ...bearer(one, braces) }),
    next: 'Start Gemini CLI again; `gemini mcp list` shows the server, in a folder that it trusts.',
  },
  zed: {
    label: 'Zed',
    form: 'json',
    key: 'context_servers',
    file: (at) => below(at, configurations(at), at.platform === 'win32' ? 'Zed' : 'zed', 'settings.json'),
    // Zed sends headers literally: a token would be stored in the file.
    entry: (one, platform) => (one.tokenEnv === undefined ? { url: one.url } : bridgeTo(one, platform)),
    next: 'Zed reads the file at once; its settings show the server, under AI, MCP Servers.',
  },
} satisfies Record<string, Client>

export type ClientName = keyof typeof CLIENTS

export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[]

export function clientOf(name: ClientName): Client {
  return CLIENTS[name]
}

/** The environment variable that has a bearer token for the gateway, unless another one is named. */
export const TOKEN_ENV = 'PLANTGW_TOKEN'

/** Makes names of entries from prefixes: `/shop/orders` → `shop-orders`, `/` → `plantgw`. Each is given once. */
export function entryNamer(): (prefix: string) => string {
  const unique = namer()
  return (prefix) => unique(slug(prefix) || 'plantgw').replaceAll('_', '-')
}

/** The data with which a client reaches a prefix of the gateway. */
export interface Endpoint {
  /** Name of the entry in the client's file. */
  name: string
  /** Streamable HTTP URL, such as `http://127.0.0.1:5235/shop/mcp`. */
  url: string
  /** The environment variable with the bearer token; absent: the client needs none, or logs in by OAuth. */
  tokenEnv?: string | undefined
}

/** An exact version, so that a new release in the registry does not change the started program. */
const MCP_REMOTE = 'mcp-remote@0.15.1'

/**
 * A command that connects a client which can only start commands, or cannot take a token from its environment: it
 * relays standard input and output to the URL, and logs in by OAuth where the server asks for it.
 */
function bridgeTo({ url, tokenEnv }: Endpoint, platform: NodeJS.Platform): JsonObject {
  const isPlain = new URL(url).protocol === 'http:' && !isHere(new URL(url))
  const args = [
    '-y',
    MCP_REMOTE,
    url,
    '--transport',
    'http-only',
    ...(isPlain ? ['--allow-http'] : []),
    // mcp-remote puts the variable in, so that the token is neither in the file nor in the list of processes.
    ...(tokenEnv === undefined ? [] : ['--header', `Authorization:Bearer \${${tokenEnv}}`]),
  ]
  // On Windows npx is a script, whose arguments lose their spaces unless the shell is started for it.
  return platform === 'win32' ? { command: 'cmd', args: ['/c', 'npx', ...args] } : { command: 'npx', args }
}

/** The URL in an entry of a client's file, in any client's form. */
export function urlOf(entry: Json | undefined): string | undefined {
  if (!isObject(entry)) return undefined
  const { url, serverUrl, httpUrl, args } = entry
  const candidates = [url, serverUrl, httpUrl, ...(Array.isArray(args) ? args : [])]
  return candidates.find((one): one is string => typeof one === 'string' && /^https?:\/\//i.test(one))
}
