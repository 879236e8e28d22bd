import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Node } from '../install.ts'
import type { Launch, Peer, Site } from '../peer.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const LIMITS = { maxSessions: 50_000, maxSessionsPerPrefix: 50_000, maxSessionsPerCaller: 50_000 }

/** This gateway, as it is built in the checkout. @param node undefined: this version of Node could not be installed */
export function plantgw(major: number, node: Node | undefined): Peer {
  const serve = ({ folder, port }: Site, files: object[], path: string): Launch => {
    mkdirSync(join(folder, 'configs'))
    for (const [i, file] of files.entries())
      writeFileSync(join(folder, 'configs', `bench-${i}.yaml`), JSON.stringify(file))
    writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify({ limits: LIMITS }))
    const settings = ['--settings', join(folder, 'plantgw.yaml'), '--port', String(port)]
    const log = ['--log-format', 'json', '--log-level', 'warn']
    return {
      command: [node!.path, 'bin/plantgw.js', 'serve', join(folder, 'configs'), ...settings, ...log],
      path,
    }
  }
  const proxy = (site: Site, server: object, path: string) =>
    serve(
      site,
      [{ name: 'bench', routers: [{ server: 'bench', prefix: '/bench' }], mcpServers: [server] }],
      path,
    )
  const stdio = ({ stdio: [command, ...args] }: Site) => ({ name: 'bench', type: 'stdio', command, args })
  const last = ({ services }: Site) => `/bench-${services - 1}/mcp`
  return {
    name: `plantgw, Node ${major}`,
    version: `${version}, Node ${node?.version}`,
    ...(!node && { absent: `Node ${major} could not be installed from npm` }),
    launch: {
      tool: (site) => serve(site, [service(site.api, 0)], '/bench-0/mcp'),
      services: (site) =>
        serve(
          site,
          Array.from({ length: site.services }, (_, i) => service(site.api, i)),
          last(site),
        ),
      http: (site) => proxy(site, { name: 'bench', type: 'streamable-http', url: site.mcp }, '/bench/mcp'),
      stdio: (site) => proxy(site, stdio(site), '/bench/mcp'),
      sse: (site) => proxy(site, stdio(site), '/bench/sse'),
    },
  }
}

function service(api: string, i: number): object {
  const arg = (name: string, position: string, type: string) => ({ name, position, type, required: true })
  const tool = {
    name: 'get_item',
    description: 'Get an item',
    method: 'GET',
    endpoint: `${api}/items/{{.Args.id}}`,
    args: [arg('id', 'path', 'number'), arg('tag', 'query', 'string')],
  }
  const routers = [{ server: 'bench', prefix: `/bench-${i}` }]
  return { name: `bench-${i}`, routers, servers: [{ name: 'bench' }], tools: [tool] }
}
