import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { listening } from '../support/listening.ts'
import { freePort, temporaryFolder } from '../support/process.ts'
import { type Gateway, serveFiles, type Upstream, writeConfigurations } from '../support/served.ts'

export type Replica = Gateway

export interface Replicas {
  /** Where their configurations are. */
  folder: string
  all: Replica[]
  a: Replica
  b: Replica
  balancer: Balancer
}

export interface Options {
  /** Each behind the prefix of its name. */
  upstreams?: Record<string, Upstream>
  /** Other configuration files by name. */
  files?: Record<string, string>
  /** Of each replica; a shared one by default. Of two the second one is only accepted. */
  secrets?: (string | [secret: string, accepted: string])[]
  count?: number
}

const SECRET = 'a secret of at least 32 characters'

/** Several gateways of the built binary that share configurations and a secret. */
export async function serveReplicas(t: TestContext, options: Options): Promise<Replicas> {
  const { upstreams = {}, files = {}, count = 2 } = options
  const folder = temporaryFolder(t)
  writeConfigurations(folder, upstreams, files)
  const starting = Array.from({ length: count }, async (_, i) => {
    const [secret = SECRET, accepted] = [options.secrets?.[i]].flat()
    return startReplica(t, folder, { secret, port: await freePort(), ...(accepted && { accepted }) })
  })
  const all = await Promise.all(starting)
  const balancer = await balance(t, all)
  return { folder, all, a: all[0]!, b: all[1]!, balancer }
}

export async function startReplica(
  t: TestContext,
  folder: string,
  options: { port: number; secret?: string; accepted?: string; advertise?: string },
): Promise<Replica> {
  const { port, secret = SECRET, accepted, advertise } = options
  const cluster = {
    secret: '${SECRET}',
    ...(accepted && { acceptedSecret: '${ACCEPTED}' }),
    advertise: advertise ?? `http://\${POD_IP}:${port}`,
  }
  const env = { SECRET: secret, POD_IP: '127.0.0.1', ...(accepted && { ACCEPTED: accepted }) }
  return serveFiles(t, { folder, port, settings: { cluster }, args: ['--log-level', 'debug'], env })
}

export interface Balancer {
  url(name: string, endpoint?: 'mcp' | 'sse'): string
  /** To which replica each request went: `POST 0`, `GET 1`. */
  went: string[]
}

/** A load balancer without stickiness: each request goes to the next replica, or to another when that one is down. */
export async function balance(
  t: TestContext,
  replicas: readonly Pick<Replica, 'origin'>[],
): Promise<Balancer> {
  const went: string[] = []
  let next = 0

  function pass(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer, tries: number): void {
    const i = next++ % replicas.length
    const { hostname, port } = new URL(replicas[i]!.origin)
    const { method, url: path, headers } = incoming
    const upstream = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
      went.push(`${method} ${i}`)
      outgoing.writeHead(answer.statusCode!, answer.headers)
      outgoing.flushHeaders()
      answer.pipe(outgoing)
      answer.on('error', () => outgoing.destroy())
    })
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && tries > 0) return pass(incoming, outgoing, body, tries - 1)
      outgoing.destroy()
    })
    outgoing.on('close', () => upstream.destroy())
    upstream.end(body)
  }

  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    pass(incoming, outgoing, Buffer.concat(chunks), replicas.length)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A client may send its next request just as an idle connection is closed.
  server.keepAliveTimeout = 0
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { went, url: (name, endpoint = 'mcp') => `${origin}/${name}/${endpoint}` }
}

/** An HTTP API behind a tool `echo`, as a configuration file for the prefix `/tools`. */
export async function toolsFile(t: TestContext, more: object = {}): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/plain' }).end(`echo ${incoming.url}`)
  })
  const port = await listening(t, server)
  const arg = { name: 'text', position: 'query', required: true, type: 'string', description: 'Comes back' }
  const endpoint = `http://127.0.0.1:${port}/`
  return stringify({
    name: 'tools',
    routers: [{ server: 'tools', prefix: '/tools', ...more }],
    servers: [{ name: 'tools', description: 'Echoes' }],
    tools: [{ name: 'echo', description: 'Says it again', method: 'GET', endpoint, args: [arg] }],
  })
}
