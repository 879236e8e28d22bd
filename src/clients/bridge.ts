import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { isHere } from '../net/index.ts'

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
export function bridgeTo({ url, tokenEnv }: Endpoint, platform: NodeJS.Platform): JsonObject {
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
