import type { Installed } from '../install.ts'
import type { Peer } from '../peer.ts'

/** The least that does the same work on the same Node: Hono and undici, without MCP. */
export function floor({ node, servers }: Installed): Peer {
  const start = (file: string, env: Record<string, string>, ...args: string[]) => ({
    command: [node.path, `${servers}/${file}.mjs`, ...args] as const,
    env,
  })
  return {
    name: 'bare relay',
    version: `Hono, Node ${node.version}`,
    isFloor: true,
    launch: {
      tool: ({ port, api }) => ({
        ...start('bare', { PORT: String(port), UPSTREAM: api }),
        path: '/call',
        isPlain: true,
      }),
      http: ({ port, mcp }) => ({
        ...start('relay', { PORT: String(port), UPSTREAM: new URL(mcp).origin }),
        path: '/mcp',
      }),
      stdio: ({ port, stdio }) => ({ ...start('relay', { PORT: String(port) }, ...stdio), path: '/mcp' }),
    },
  }
}
