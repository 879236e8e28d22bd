import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Installed } from '../install.ts'
import { openapi, type Peer, type Site } from '../peer.ts'

/** stdio servers over streamable HTTP or SSE. https://github.com/supercorp-ai/supergateway */
export function supergateway({ node, packages }: Installed): Peer {
  const run = ({ stdio, port }: Site, path: string, ...more: string[]) => {
    const given = ['--stdio', stdio.join(' '), '--port', String(port), '--logLevel', 'none', ...more]
    return { command: [node.path, packages.supergateway!.bin, ...given] as const, path }
  }
  return {
    name: 'supergateway',
    version: `${packages.supergateway?.version}, Node ${node.version}`,
    ...(!packages.supergateway && { absent: 'it could not be installed from npm' }),
    launch: {
      stdio: (site) => run(site, '/mcp', '--outputTransport', 'streamableHttp', '--stateful'),
      sse: (site) => run(site, '/sse', '--outputTransport', 'sse'),
    },
  }
}

/** stdio servers over streamable HTTP and SSE. https://github.com/punkpeye/mcp-proxy */
export function mcpProxy({ node, packages }: Installed): Peer {
  const found = packages['mcp-proxy']
  const run = ({ stdio, port }: Site, kind: string, path: string) => {
    const given = ['--port', String(port), '--host', '127.0.0.1', '--server', kind, '--', ...stdio]
    return { command: [node.path, found!.bin, ...given] as const, path }
  }
  return {
    name: 'mcp-proxy (TypeScript)',
    version: `${found?.version}, Node ${node.version}`,
    ...(!found && { absent: 'it could not be installed from npm' }),
    launch: {
      stdio: (site) => run(site, 'stream', '/mcp'),
      sse: (site) => run(site, 'sse', '/sse'),
    },
  }
}

/** A framework whose servers can be made of an OpenAPI description. https://github.com/punkpeye/fastmcp */
export function fastmcp({ node, packages }: Installed): Peer {
  return {
    name: 'fastmcp (TypeScript)',
    version: `${packages.fastmcp?.version}, Node ${node.version}`,
    ...(!packages.fastmcp && { absent: 'it could not be installed from npm' }),
    launch: {
      tool: ({ folder, port, api }) => {
        const module = JSON.stringify(join(packages.fastmcp!.folder, 'dist/openapi/index.js'))
        const start = { transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } }
        const program = [
          `import { fromOpenAPI } from ${module}`,
          `const server = await fromOpenAPI({ spec: ${JSON.stringify(openapi(api))} })`,
          `await server.start(${JSON.stringify(start)})`,
        ]
        writeFileSync(join(folder, 'server.mjs'), program.join('\n'))
        return { command: [node.path, join(folder, 'server.mjs')], path: '/mcp' }
      },
    },
  }
}
