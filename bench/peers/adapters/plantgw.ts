import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Node } from '../install.ts'
import type { Launch, Peer, Site } from '../peer.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const LIMITS = { maxSessions: 500_000 }

/**
 * This gateway, as it is built in the checkout, with these configurations in the folder `configs` of the site.
 * @param node the command and options of Node
 */
export function serving(
  node: readonly [string, ...string[]],
  { folder, port }: Site,
  files: readonly object[],
  path: string,
  settings: object = {},
): Launch {
  const configs = join(folder, 'configs')
  mkdirSync(configs)
  for (const [i, file] of files.entries())
    writeFileSync(join(configs, `bench-${i}.yaml`), JSON.stringify(file))
  const own = join(folder, 'plantgw.yaml')
  writeFileSync(own, JSON.stringify(settings))
  const flags = ['--settings', own, '--port', String(port), '--log-format', 'json', '--log-level', 'warn']
  return { command: [...node, 'bin/plantgw.js', 'serve', configs, ...flags], path }
}

/** @param node undefined: this version of Node could not be installed */
export function plantgw(major: number, node: Node | undefined): Peer {
  const serve = (site: Site, files: object[], path: string) =>
    serving([node!.path], site, files, path, { limits: LIMITS })
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
