import type { Launch, Peer, Site } from '../peer.ts'

/** A gateway from PyPI, by a command in the environment, such as `PEER_PYTHON_FASTMCP="uvx fastmcp"`. */
function python(name: string, variable: string, launch: (command: string[]) => Peer['launch']): Peer {
  const command = process.env[variable]?.split(' ')
  return {
    name,
    version: command?.join(' ') ?? '',
    ...(!command && { absent: `${variable} does not name its command` }),
    launch: command ? launch(command) : {},
  }
}

const run = (command: string[], path: string): Launch => ({ command: command as [string], path })

/** stdio servers over streamable HTTP and SSE. https://github.com/sparfenyuk/mcp-proxy */
export const mcpProxyPython = () =>
  python('mcp-proxy (Python)', 'PEER_PYTHON_MCP_PROXY', (command) => {
    const given = ({ port, stdio }: Site) => ['--port', String(port), '--host', '127.0.0.1', '--', ...stdio]
    return {
      stdio: (site) => run([...command, ...given(site)], '/mcp'),
      sse: (site) => run([...command, ...given(site)], '/sse'),
    }
  })

/** A framework that can pass on what another server has. https://github.com/jlowin/fastmcp */
export const fastmcpPython = () =>
  python('FastMCP (Python)', 'PEER_PYTHON_FASTMCP', (command) => ({
    http: ({ mcp, port }) => {
      const listen = ['--transport', 'http', '--host', '127.0.0.1', '--port', String(port)]
      return run([...command, 'run', mcp, ...listen], '/mcp')
    },
  }))
