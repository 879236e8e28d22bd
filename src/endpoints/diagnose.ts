import type { McpServer } from '../config/index.ts'
import type { Resolved } from '../upstream/index.ts'
import { ask, type HttpAsk, type HttpHead } from './ask.ts'
import { connectTo, hostOf } from './connect.ts'
import { silence } from './faults.ts'
import type { Step } from './types.ts'

const ACCEPT = 'application/json, text/event-stream'
const DISCOVER = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} })

/** Says why a server over HTTP gave no handshake: asks it once more, and looks at the head of its answer. */
export async function diagnose(
  server: McpServer,
  resolved: Resolved,
  varies: boolean,
  fault: string,
  timeout: number,
  signal: AbortSignal,
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
    return { name: 'handshake', status: 'failed', ...silence(`${at} gave no MCP handshake`, timeout) }
  const head = await peek(server, resolved, signal)
  if (!head) return { ...failed(fault, 'See the log of the server'), transient: true }
  const { status, type, location } = head
  const said = `${at} answered ${status}`
  if (status === 401 || status === 403) {
    if (!varies)
      return failed(
        `${said}: it wants other credentials`,
        `Give them by \`headers\` of the MCP server \`${server.name}\``,
        'endpoint-credentials',
      )
    const hint = 'Nothing is wrong if callers bring credentials; they were not there to be checked'
    return {
      ...failed(`${said} without the credentials of a caller`, hint, 'endpoint-credentials'),
      status: 'warning',
    }
  }
  if (status >= 300 && status < 400)
    return failed(`${said}: it redirects`, `Write the address it redirects to${whereTo(location)} as \`url\``)
  if (type === 'text/html')
    return failed(
      `${said} with an HTML page where MCP was expected`,
      `This is a page for browsers. ${usual(server)}`,
    )
  if (status === 404 || status === 405) return failed(`${said}: there is no MCP endpoint`, usual(server))
  if (status >= 500) return { ...failed(`${said}: ${fault}`, 'See the log of the server'), transient: true }
  return failed(`${said}, but gave no handshake: ${fault}`, usual(server))
}

async function peek(
  server: McpServer,
  resolved: Resolved,
  signal: AbortSignal,
): Promise<HttpHead | undefined> {
  const socket = await connectTo(hostOf(resolved.origin), [], 0, signal)
  if (!socket) return undefined
  const own = Object.entries(resolved.headers).flat()
  const asked: HttpAsk =
    server.type === 'sse'
      ? { method: 'GET', path: resolved.path, headers: [...own, 'Accept', 'text/event-stream'] }
      : {
          method: 'POST',
          path: resolved.path,
          headers: [...own, 'Accept', ACCEPT, 'Content-Type', 'application/json'],
          body: DISCOVER,
        }
  try {
    return await ask(socket, resolved.origin, asked, signal)
  } catch {
    return undefined
  } finally {
    socket.destroy()
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
