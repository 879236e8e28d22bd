import autocannon from 'autocannon'
import { cpuSeconds, type Running, spread, start } from './process.ts'
import { META } from './stateless-call.ts'

/**
 * A tool call through the gateway beside the same upstream call made by (a) a bare Hono app, (b) a tool of the 1.x
 * SDK's server and (c) the floor, `node:http` with undici's `dispatch`: rounds take turns, the load comes from this
 * process, ratios are within a round.
 */
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 3)
/** Seconds before the first round: the compiler of V8 works for about ten on a gateway, and for three on a bare server. */
const WARM_UP = Number(process.env.WARM_UP ?? 10)
const PORT = 22_000

interface Target {
  name: string
  process: Running
  url: string
  headers: Record<string, string>
  body: string
}

const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const CALL = { name: 'get_item', arguments: { id: 42, tag: 'shade & wet' } }

const message = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

async function session(url: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'b', version: '1' } }
  const response = await fetch(url, { method: 'POST', headers: ACCEPT, body: message('initialize', params) })
  await response.text()
  const id = response.headers.get('mcp-session-id') as string
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
}

async function round({ url, headers, body, process }: Target, seconds: number) {
  const before = cpuSeconds(process.pid)
  const result = await autocannon({
    url,
    method: 'POST',
    connections: 16,
    duration: seconds,
    headers: { ...ACCEPT, authorization: 'Bearer x', ...headers },
    body,
  })
  const calls = result['2xx']
  if (result.errors || result.non2xx)
    throw new Error(`${url}: ${result.errors} errors, ${result.non2xx} refused`)
  return { perCpu: calls / (cpuSeconds(process.pid) - before), perSecond: calls / result.duration }
}

export async function callBench(): Promise<string> {
  const upstream = `http://127.0.0.1:${PORT}`
  const env = (port: number) => ({ PORT: String(port), UPSTREAM: upstream })
  const tsx = ['--import', 'tsx']
  const running: Running[] = []
  const begin = async (args: string[], port: number) => {
    const process = await start(args, env(port))
    running.push(process)
    return process
  }
  try {
    await begin([...tsx, 'bench/servers/upstream.ts'], PORT)
    const bare = await begin([...tsx, 'bench/servers/bare.ts'], PORT + 1)
    const sdk = await begin([...tsx, 'bench/servers/sdk.ts'], PORT + 2)
    const floor = await begin([...tsx, 'bench/servers/floor.ts'], PORT + 4)
    const serve = ['bin/plantgw.js', 'serve', 'bench/servers/tool.yaml', '--port', String(PORT + 3)]
    const gateway = await begin([...serve, '--log-format', 'json', '--log-level', 'warn'], PORT + 3)
    const sdkUrl = `http://127.0.0.1:${PORT + 2}/mcp`
    const url = `http://127.0.0.1:${PORT + 3}/bench/mcp`
    const call = message('tools/call', CALL)
    const stateless = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'get_item',
    }
    const targets: Target[] = [
      { name: 'bare Hono', process: bare, url: `http://127.0.0.1:${PORT + 1}/call`, headers: {}, body: call },
      { name: '1.x SDK server', process: sdk, url: sdkUrl, headers: await session(sdkUrl), body: call },
      { name: 'floor', process: floor, url: `http://127.0.0.1:${PORT + 4}/call`, headers: {}, body: call },
      { name: 'plantgw 2025-11-25', process: gateway, url, headers: await session(url), body: call },
      {
        name: 'plantgw 2026-07-28',
        process: gateway,
        url,
        headers: stateless,
        body: message('tools/call', { ...CALL, _meta: META }),
      },
    ]
    for (const target of targets)
      for (let left = WARM_UP; left > 0; left -= SECONDS) await round(target, SECONDS)
    const rounds: Awaited<ReturnType<typeof round>>[][] = []
    for (let i = 0; i < ROUNDS; i++) {
      const results = []
      for (const target of targets) results.push(await round(target, SECONDS))
      rounds.push(results)
    }
    return table(targets, rounds)
  } finally {
    await Promise.all(running.map((process) => process.stop()))
  }
}

function table(targets: Target[], rounds: { perCpu: number; perSecond: number }[][]): string {
  const ratio = (key: 'perCpu' | 'perSecond', i: number, base: number) =>
    spread(rounds.map((results) => results[i]![key] / results[base]![key]))
  const rows = targets.map(({ name }, i) =>
    [
      name,
      spread(rounds.map((results) => results[i]!.perCpu)).replace(/\.\d\d/g, ''),
      ratio('perCpu', i, 0),
      ratio('perSecond', i, 0),
      ratio('perCpu', i, 1),
      spread(rounds.map((results) => results[2]!.perCpu / results[i]!.perCpu)),
    ].join(' | '),
  )
  return [
    `Tool call, ${ROUNDS} rounds of ${SECONDS} s, median (least…most):`,
    '',
    '| target | calls per CPU-second | to bare, per CPU | to bare, throughput | to the SDK, per CPU | times the CPU of the floor |',
    '|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n')
}
