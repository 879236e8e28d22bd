import { posix, win32 } from 'node:path'
import type { JsonObject } from '../json/index.ts'
import { bridgeTo, type Endpoint } from './bridge.ts'

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
export const CLIENTS = {
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
    entry: (one) => ({ url: one.url, ...bearer(one, prefixed) }),
    next: 'Cursor reads the file at once; switch the server on in its settings, under MCP.',
  },
  vscode: {
    label: 'VS Code',
    form: 'json',
    key: 'servers',
    file: (at) => below(at, applications(at), 'Code', 'User', 'mcp.json'),
    project: '.vscode/mcp.json',
    entry: (one) => ({ type: 'http', url: one.url, ...bearer(one, (name) => `\${input:${inputId(name)}}`) }),
    inputs: ({ tokenEnv }) =>
      tokenEnv === undefined
        ? []
        : [
            {
              type: 'promptString',
              id: inputId(tokenEnv),
              description: `${tokenEnv} of plantgw`,
              password: true,
            },
          ],
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
    entry: (one) => ({ url: one.url, ...bearer(one, prefixed) }),
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
