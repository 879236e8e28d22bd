import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { issuer } from './issuer.ts'
import { cpuSeconds, type Running, spread, start } from './process.ts'
import { statelessCall } from './stateless-call.ts'

/**
 * What the steps of a route cost, and what traces and the audit log do: calls of one tool by 2026-07-28 clients at
 * prefixes that differ in one step each, of gateways that differ in their settings, and at one with all of it. Rounds
 * take turns, ratios are within a round.
 */
const ROUNDS = Number(process.env.ROUNDS ?? 7)
const SECONDS = Number(process.env.SECONDS ?? 3)
const PORT = 22_200

const bearer = {
  auth: { type: 'bearer', tokens: [{ token: 'b'.repeat(32), caller: 'bench', scopes: ['read'] }] },
}
const rules = {
  authorize: { rules: [{ tools: ['list_*'] }, { tools: ['get_*', 'find_*'], scopes: ['read'] }] },
}
/** All that a router may have. */
const ROUTER = 'jwt + rules + rate'
const rate = { rate: [{ per: 'caller', limit: 100_000_000, window: '1s' }] }

/** What a router has besides, by the name of its prefix. @param auth by JSON Web Tokens */
const routersOf = (auth: object): Record<string, object> => ({
  none: {},
  bearer,
  jwt: { auth },
  'bearer + rules': { ...bearer, ...rules },
  rate,
  [ROUTER]: { auth, ...rules, ...rate },
})

const SINK = PORT + 10
const trace = { telemetry: { otlp: { endpoint: `http://127.0.0.1:${SINK}`, sampling: 1 } } }
const audit = { audit: { to: 'file', path: 'audit.jsonl' } }

/** The settings of each gateway; all of them serve the same configuration. */
const GATEWAYS: Record<string, object> = { plain: {}, trace, audit, all: { ...trace, ...audit } }

/** What is measured beside the routers of the plain gateway, by the prefix that is called. */
const OTHERS: Record<string, string> = { trace: 'none', audit: 'none', all: ROUTER }

const pathOf = (name: string) => `/${name.replace(/\W+/g, '-')}`

function configuration(parts: Record<string, object>): string {
  const routers = Object.entries(parts).map(([name, more]) => ({
    server: 'bench',
    prefix: pathOf(name),
    ...more,
  }))
  const tool = {
    name: 'get_item',
    description: 'Get an item',
    method: 'GET',
    endpoint: `http://127.0.0.1:${PORT}/items/{{.Args.id}}`,
    args: [{ name: 'id', position: 'path', required: true, type: 'number', description: 'Which item' }],
  }
  return JSON.stringify({ name: 'bench', routers, servers: [{ name: 'bench' }], tools: [tool] })
}

async function round(
  { pid, port }: { pid: number; port: number },
  prefix: string,
  token: string,
  seconds: number,
): Promise<number> {
  const before = cpuSeconds(pid)
  const usesJwt = prefix.startsWith('jwt')
  const result = await autocannon({
    url: `http://127.0.0.1:${port}${pathOf(prefix)}/mcp`,
    connections: 16,
    duration: seconds,
    ...statelessCall({ id: 42 }, usesJwt ? token : 'b'.repeat(32)),
  })
  if (result.errors || result.non2xx)
    throw new Error(`${prefix}: ${result.errors} errors, ${result.non2xx} refused`)
  return result['2xx'] / (cpuSeconds(pid) - before)
}

export async function stepsBench(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  const running: Running[] = []
  const issued = await issuer(PORT + 1)
  const routers = routersOf(issued.auth)
  const sink = createServer((request, response) => request.resume().on('end', () => response.end()))
  sink.listen(SINK, '127.0.0.1')
  try {
    writeFileSync(join(folder, 'bench.yaml'), configuration(routers))
    running.push(await start(['--import', 'tsx', 'bench/servers/upstream.ts'], { PORT: String(PORT) }))
    const gateways: Record<string, { pid: number; port: number }> = {}
    for (const [i, [name, settings]] of Object.entries(GATEWAYS).entries()) {
      const port = PORT + 2 + i
      const file = join(folder, `${name}.settings`)
      writeFileSync(file, JSON.stringify({ port, publicUrl: 'https://bench.example.com', ...settings }))
      const serve = ['bin/plantgw.js', 'serve', join(folder, 'bench.yaml'), '--settings', file]
      const gateway = await start([...serve, '--log-format', 'json', '--log-level', 'warn'], {})
      running.push(gateway)
      gateways[name] = { pid: gateway.pid, port }
    }
    const names = [...Object.keys(routers), ...Object.keys(OTHERS)]
    const token = await issued.token('bench')
    const measure = (name: string, seconds: number) =>
      round(gateways[name in OTHERS ? name : 'plain']!, OTHERS[name] ?? name, token, seconds)
    // Each gateway is to be as warm as the plain one, which has many prefixes.
    for (const name of names) await measure(name, name in OTHERS ? 2 * Object.keys(routers).length : 2)
    const rounds: number[][] = []
    for (let i = 0; i < ROUNDS; i++) {
      const results: number[] = []
      for (const name of names) results.push(await measure(name, SECONDS))
      rounds.push(results)
    }
    return table(names, rounds)
  } finally {
    issued.close()
    sink.closeAllConnections()
    sink.close()
    await Promise.all(running.map((each) => each.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

function table(names: readonly string[], rounds: readonly number[][]): string {
  const rows = names.map((name, i) => {
    const own = spread(rounds.map((results) => results[i]!)).replace(/\.\d\d/g, '')
    return `| ${name} | ${own} | ${spread(rounds.map((results) => results[i]! / results[0]!))} |`
  })
  return [
    `Steps of a route, ${ROUNDS} rounds of ${SECONDS} s, median (least…most):`,
    '',
    '| step | calls per CPU-second | to none, per CPU |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}
