import type { McpServer } from '../config/index.ts'
import type { HttpRequest } from '../net/index.ts'
import type { Resolved } from '../upstream/index.ts'
import { ask, connectTo, type HttpHead, hostOf, type Run } from './connect.ts'
import { silence } from './faults.ts'
import type { Step } from './types.ts'

const ACCEPT = 'application/json, text/event-stream'
const DISCOVER = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} })

/** Finds out why a server over HTTP did not complete the handshake: sends one more request, and looks at the head of the response. */
export async function diagnose(
  server: McpServer,
  resolved: Resolved,
  varies: boolean,
  fault: string,
  { timeout, signal }: Run,
): Promise<Step> {
  const failed = (detail: string, hint: string, code: Step['code'] = 'mcp-handshake'): Step => ({
    name: 'handshake',
    status: 'failed',
    detail,
    hint,
    code: code as NonNullable<Step['code']>,
  })
  const at = hostOf(resolved.origin).at
  if (signal.aborted)
    return {
      name: 'handshake',
      status: 'failed',
      ...silence(`${at} did not complete the MCP handshake`, timeout),
    }
  const head = await peek(server, resolved, signal)
  if (!head) return { ...failed(fault, 'See the log of the server'), transient: true }
  const { status, type, location } = head
  const said = `${at} answered ${status}`
  if (status === 401 || status === 403) {
    if (!varies)
      return failed(
        `${said}: it requires other credentials`,
        `Set them in \`headers\` of the MCP server \`${server.name}\``,
        'endpoint-credentials',
      )
    const hint = 'Nothing is wrong if callers send credentials; there were none to check with'
    return {
      ...failed(`${said} without the credentials of a caller`, hint, 'endpoint-credentials'),
      status: 'warning',
    }
  }
  if (status >= 300 && status < 400)
    return failed(`${said}: it redirects`, `Set \`url\` to the redirect target${whereTo(location)}`)
  if (type === 'text/html')
    return failed(
      `${said} with an HTML page where MCP was expected`,
      `This is a page for browsers. ${usual(server)}`,
    )
  if (status === 404 || status === 405) return failed(`${said}: there is no MCP endpoint`, usual(server))
  if (status >= 500) return { ...failed(`${said}: ${fault}`, 'See the log of the server'), transient: true }
  return failed(`${said}, but did not complete the handshake: ${fault}`, usual(server))
}

async function peek(
  server: McpServer,
  resolved: Resolved,
  signal: AbortSignal,
): Promise<HttpHead | undefined> {
  const { origin, path } = resolved
  const socket = await connectTo(hostOf(origin), { steps: [], timeout: 0, signal })
  if (!socket) return undefined
  const post = { ...resolved.headers, accept: ACCEPT, 'content-type': 'application/json' }
  const request: HttpRequest =
    server.type === 'sse'
      ? { method: 'GET', origin, path, headers: { ...resolved.headers, accept: 'text/event-stream' } }
      : { method: 'POST', origin, path, headers: post, body: DISCOVER }
  try {
    return await ask(socket, request, signal)
  } catch {
    return undefined
  }
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
