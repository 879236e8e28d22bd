import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Launch, openapi, type Peer, type Site } from '../peer.ts'

/** A gateway whose program is named by a variable of the environment. */
function compiled(name: string, variable: string, launch: (program: string) => Peer['launch']): Peer {
  const program = process.env[variable]
  const told = program ? spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout?.split('\n')[0] : ''
  return {
    name,
    version: told || 'unknown version',
    ...(!program && { absent: `${variable} does not name its program` }),
    launch: program ? launch(program) : {},
  }
}

/** Written in Rust; one worker, as it has one core. https://github.com/agentgateway/agentgateway */
export const agentgateway = () =>
  compiled('agentgateway', 'PEER_AGENTGATEWAY', (program) => {
    const run = ({ folder, port }: Site, target: object, args?: object): Launch => {
      const file = join(folder, 'config.json')
      const routes = [{ backends: [{ mcp: { targets: [{ name: 'bench', ...target }] } }] }]
      writeFileSync(file, JSON.stringify({ binds: [{ port, listeners: [{ routes }] }] }))
      const env = { CPU_LIMIT: '1', WORKER_THREADS: '1', RUST_LOG: 'warn' }
      return { command: [program, '-f', file], env, path: '/mcp', ...(args && { arguments: args }) }
    }
    return {
      tool: (site) => {
        const schema = join(site.folder, 'openapi.json')
        writeFileSync(schema, JSON.stringify(openapi(site.api)))
        const target = { openapi: { schema: { file: schema }, host: new URL(site.api).host } }
        return run(site, target, { path: { id: 42 }, query: { tag: 'wet' } })
      },
      http: (site) => run(site, { mcp: { host: site.mcp } }),
      stdio: (site) => run(site, { stdio: { cmd: site.stdio[0], args: site.stdio.slice(1) } }),
    }
  })

/** Written in Go; its files are like ours. https://github.com/amoylab/unla */
export const unla = () =>
  compiled('Unla', 'PEER_UNLA', (program) => {
    const run = ({ folder, port }: Site, parts: object): Launch => {
      mkdirSync(join(folder, 'configs'))
      const routers = [{ server: 'bench', prefix: '/bench' }]
      const file = { name: 'bench', tenant: 'default', routers, ...parts }
      writeFileSync(join(folder, 'configs/bench.yaml'), JSON.stringify(file))
      const settings = {
        port,
        pid: join(folder, 'pid'),
        reload_interval: '600s',
        logger: { level: 'error', format: 'json', output: 'stdout' },
        storage: { type: 'disk', disk: { path: join(folder, 'configs') } },
        notifier: {
          role: 'receiver',
          type: 'signal',
          signal: { signal: 'SIGHUP', pid: join(folder, 'pid') },
        },
        session: { type: 'memory' },
      }
      writeFileSync(join(folder, 'mcp-gateway.yaml'), JSON.stringify(settings))
      return { command: [program, '--conf', join(folder, 'mcp-gateway.yaml')], path: '/bench/mcp' }
    }
    const arg = (name: string, position: string, type: string) => ({ name, position, type, required: true })
    return {
      tool: (site) => {
        const args = [arg('id', 'path', 'number'), arg('tag', 'query', 'string')]
        const tool = { name: 'get_item', method: 'GET', endpoint: `${site.api}/items/{{.Args.id}}`, args }
        const responseBody = '{{.Response.Body}}'
        const servers = [{ name: 'bench', allowedTools: ['get_item'] }]
        return run(site, { servers, tools: [{ ...tool, description: 'Get an item', responseBody }] })
      },
      http: (site) =>
        run(site, {
          mcpServers: [{ name: 'bench', type: 'streamable-http', url: site.mcp, policy: 'onDemand' }],
        }),
      stdio: (site) => {
        const [command, ...args] = site.stdio
        return run(site, {
          mcpServers: [{ name: 'bench', type: 'stdio', command, args, policy: 'onDemand' }],
        })
      },
    }
  })

/** Written in Rust; it maps the names of tools. https://github.com/joshrotenberg/mcp-proxy */
export const mcpProxyRust = () =>
  compiled('mcp-proxy (Rust)', 'PEER_MCP_PROXY_RUST', (program) => {
    const run = ({ folder, port }: Site, backend: string): Launch => {
      const file = join(folder, 'proxy.toml')
      const listen = `[proxy]\nname = "bench"\n[proxy.listen]\nhost = "127.0.0.1"\nport = ${port}\n`
      writeFileSync(file, `${listen}[[backends]]\nname = "bench"\n${backend}\n`)
      return { command: [program, '--config', file], env: { RUST_LOG: 'warn' }, path: '/mcp' }
    }
    return {
      http: (site) => run(site, `transport = "http"\nurl = ${JSON.stringify(site.mcp)}`),
      stdio: (site) => {
        const [command, ...args] = site.stdio
        return run(site, `transport = "stdio"\ncommand = "${command}"\nargs = ${JSON.stringify(args)}`)
      },
    }
  })
