import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Cleanup, startEverything } from '../fixtures/everything/start.ts'
import type { Loose } from '../support/wire.ts'
import { stateful } from '../upstream/stateful.ts'
import type { Speaks } from './clients.ts'
import type { Seam } from './ladder.ts'

/** What is behind a prefix, and what a client asks it. */
export interface Kind {
  name: string
  seams: readonly Seam[]
  speaks: readonly Speaks[]
  /** A configuration, without its name. */
  configuration(prefix: string): object
  /** A request whose result holds the token. */
  ask(token: string): { method: string; params: object }
  /** The same with progress on the way, whose token holds the token. */
  progress?(token: string): { method: string; params: object }
}

const ALL: readonly Speaks[] = ['session', 'modern', 'sse']
/** What hangs ends soon. */
const TIMES = { limits: { timeout: '1s', connectTimeout: '1s' }, startupTimeout: '2s', idleTimeout: '1s' }

function proxied(servers: Record<string, object>): (prefix: string) => object {
  const names = Object.keys(servers)
  return (prefix) => ({
    routers: [{ server: names.length > 1 ? names : names[0], prefix }],
    mcpServers: Object.entries(servers).map(([name, server]) => ({ name, ...server, ...TIMES })),
  })
}

const called = (name: string, args: object, more: object = {}) => ({
  method: 'tools/call',
  params: { name, arguments: args, ...more },
})

function asksEverything(prefix = ''): Pick<Kind, 'ask' | 'progress'> {
  return {
    ask: (token) => ({
      method: 'prompts/get',
      params: { name: `${prefix}test_prompt_with_arguments`, arguments: { arg1: token, arg2: '' } },
    }),
    progress: (token) => called(`${prefix}test_tool_with_progress`, {}, { _meta: { progressToken: token } }),
  }
}

/** Every kind of upstream, with servers that run as long as the test. */
export async function startKinds(t: Cleanup): Promise<Kind[]> {
  const api = createServer((request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ asked: request.url }))
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => {
    api.closeAllConnections()
    api.close()
  })
  const [session, modern, sse] = await Promise.all([
    startEverything(t, 'http', 'session'),
    startEverything(t, 'http', 'modern'),
    startEverything(t, 'sse', 'session'),
  ])
  const endpoint = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`
  const streamable = (url: string) => ({ type: 'streamable-http', url })
  const noisy = { ask: (token: string) => called('noisy', { about: token }) }
  const tool = {
    name: 'echo',
    description: 'Repeats a text',
    method: 'GET',
    endpoint,
    args: [{ name: 'text', position: 'query', required: true, type: 'string', description: 'The text' }],
  }
  const web = { seams: ['socket'] as const, speaks: ALL }
  const program = { seams: ['child'] as const, speaks: ALL, ...noisy }
  const several = proxied({ web: streamable(session), program: stateful('session') })
  return [
    {
      ...web,
      name: 'an HTTP tool',
      configuration: (prefix) => ({
        routers: [{ server: 's', prefix }],
        servers: [{ name: 's', description: 'A test', limits: TIMES.limits }],
        tools: [tool],
      }),
      ask: (text) => called('echo', { text }),
    },
    { ...program, name: 'a stdio server', configuration: proxied({ s: stateful('session') }) },
    { ...program, name: 'a stdio server of 2026-07-28', configuration: proxied({ s: stateful('modern') }) },
    {
      ...web,
      name: 'an SSE server',
      configuration: proxied({ s: { type: 'sse', url: sse } }),
      ...asksEverything(),
    },
    {
      ...web,
      name: 'a streamable HTTP server',
      configuration: proxied({ s: streamable(session) }),
      ...asksEverything(),
    },
    {
      ...web,
      name: 'a streamable HTTP server of 2026-07-28',
      configuration: proxied({ s: streamable(modern) }),
      ...asksEverything(),
    },
    {
      name: 'several servers',
      seams: ['socket', 'child'],
      speaks: ALL,
      configuration: several,
      ask: asksEverything('web__').ask,
      progress: (token) => called('program__noisy', { about: token }),
    },
  ]
}

/** The requests of one conversation, the first of which lists. */
export function conversation(kind: Kind): ((token: string) => { method: string; params: object })[] {
  const list = () => ({ method: 'tools/list', params: {} })
  return [list, kind.ask, ...(kind.progress ? [kind.progress] : [])]
}

export function holds(answer: Loose, token: string): boolean {
  return JSON.stringify(answer).includes(token)
}
