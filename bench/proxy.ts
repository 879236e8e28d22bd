import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { cpuSeconds, type Running, spread, start } from './process.ts'
import { META } from './stateless-call.ts'

/**
 * A `tools/call` through the gateway to an MCP server: over streamable HTTP beside a bare undici relay and the floor
 * (`node:http` with undici's `dispatch`), over stdio beside a bare pipe, and beside other gateways from npm on the same
 * server. Then what an idle session costs. CPU is of the relaying process; the server behind it is not counted.
 */
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 3)
/** Seconds before the first round: the compiler of V8 works for about ten on a gateway, and for three on a bare server. */
const WARM_UP = Number(process.env.WARM_UP ?? 10)
const SESSIONS = Number(process.env.SESSIONS ?? 10_000)
const PORT = 22_100
const PEERS = { supergateway: '4.0.0', 'mcp-proxy': '6.7.19' }

const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const CALL = { name: 'get_item', arguments: { id: 42 } }
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'get_item' }

const message = (method: string, params: object, id = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

interface Target {
  name: string
  process: Running
  url: string
  headers: Record<string, string>
  params: object
}

async function session(url: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'b', version: '1' } }
  const response = await fetch(url, { method: 'POST', headers: ACCEPT, body: message('initialize', params) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
  const id = response.headers.get('mcp-session-id')
  const headers = { 'mcp-protocol-version': '2025-11-25', ...(id && { 'mcp-session-id': id }) }
  const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  await (await fetch(url, { method: 'POST', headers: { ...ACCEPT, ...headers }, body })).text()
  return headers
}

async function round({ url, headers, params, process }: Target, seconds: number) {
  const before = cpuSeconds(process.pid)
  // Calls that are under way at once have ids of their own, or all but one would be refused.
  let connections = 0
  const result = await autocannon({
    url,
    method: 'POST',
    connections: 16,
    duration: seconds,
    headers: { ...ACCEPT, ...headers },
    setupClient: (client) => client.setBody(message('tools/call', params, ++connections)),
    verifyBody: (body) => String(body).includes('"result"'),
  })
  const calls = result['2xx']
  if (result.errors || result.non2xx || result.mismatches)
    throw new Error(
      `${url}: ${result.errors} errors, ${result.non2xx} refused, ${result.mismatches} without result`,
    )
  return { perCpu: calls / (cpuSeconds(process.pid) - before), perSecond: calls / result.duration }
}

/** Rounds that take turns, as rows of a table; ratios are to the first target. */
async function compare(targets: Target[]): Promise<string[]> {
  for (const target of targets)
    for (let left = WARM_UP; left > 0; left -= SECONDS) await round(target, SECONDS)
  const rounds: Awaited<ReturnType<typeof round>>[][] = []
  for (let i = 0; i < ROUNDS; i++) {
    const results = []
    for (const target of targets) results.push(await round(target, SECONDS))
    rounds.push(results)
  }
  return targets.map(({ name }, i) => {
    const ratio = (key: 'perCpu' | 'perSecond') =>
      spread(rounds.map((results) => results[i]![key] / results[0]![key]))
    const own = spread(rounds.map((results) => results[i]!.perCpu)).replace(/\.\d\d/g, '')
    return `| ${name} | ${own} | ${ratio('perCpu')} | ${ratio('perSecond')} |`
  })
}

/** Other gateways, installed beside the packages of this one when the registry can be reached. */
function peers(): string | undefined {
  const folder = 'node_modules/.cache/plantgw-bench'
  if (Object.keys(PEERS).every((name) => existsSync(join(folder, 'node_modules', name)))) return folder
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const wanted = Object.entries(PEERS).map(([name, version]) => `${name}@${version}`)
  const { status } = spawnSync('npm', ['install', '--silent', '--no-audit', '--no-fund', ...wanted], {
    cwd: folder,
  })
  return status === 0 ? folder : undefined
}

function binOf(folder: string, name: string): string {
  const root = join(folder, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return join(root, typeof bin === 'string' ? bin : bin[name])
}

export async function proxyBench(): Promise<string> {
  const running: Running[] = []
  let next = PORT
  const begin = async (args: string[], env: Record<string, string> = {}) => {
    const port = ++next
    const process = await start(
      args.map((arg) => arg.replace('{port}', String(port))),
      { PORT: String(port), ...env },
    )
    running.push(process)
    return { process, url: `http://127.0.0.1:${port}` }
  }
  const tsx = ['--import', 'tsx']
  const child = [process.execPath, ...tsx, 'bench/servers/mcp.ts', 'stdio']
  try {
    const server = await begin([...tsx, 'bench/servers/mcp.ts'])
    const folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
    const routers = ['http', 'stdio'].map((name) => ({ server: name, prefix: `/${name}` }))
    const [command, ...args] = child
    const mcpServers = [
      { name: 'http', type: 'streamable-http', url: `${server.url}/mcp` },
      { name: 'stdio', type: 'stdio', command, args },
    ]
    writeFileSync(join(folder, 'bench.yaml'), JSON.stringify({ name: 'bench', routers, mcpServers }))
    // The sessions of the last figure all have one caller.
    const limits = { maxSessions: 200_000 }
    const settings = join(mkdtempSync(join(tmpdir(), 'plantgw-bench-')), 'plantgw.yaml')
    writeFileSync(settings, JSON.stringify({ limits }))
    const flags = ['--settings', settings, '--port', '{port}', '--log-format', 'json', '--log-level', 'warn']
    const gateway = await begin(['bin/plantgw.js', 'serve', folder, ...flags])
    const relay = await begin([...tsx, 'bench/servers/relay.ts'], { UPSTREAM: server.url })
    const floor = await begin([...tsx, 'bench/servers/floor.ts'], { UPSTREAM: server.url })
    const pipe = await begin([...tsx, 'bench/servers/relay.ts', ...child])

    const target = async (
      name: string,
      { process, url }: typeof server,
      path: string,
      modern = false,
    ): Promise<Target> => {
      const at = `${url}${path}`
      return modern
        ? { name, process, url: at, headers: MODERN, params: { ...CALL, _meta: META } }
        : { name, process, url: at, headers: await session(at), params: CALL }
    }
    const sections: [string, string[]][] = []
    for (const modern of [false, true]) {
      const revision = modern ? '2026-07-28' : '2025-11-25'
      const rows = await compare([
        await target('bare undici relay', relay, '/mcp', modern),
        await target('floor', floor, '/mcp', modern),
        await target('plantgw', gateway, '/http/mcp', modern),
      ])
      sections.push([`Streamable HTTP, ${revision}`, rows])
    }
    const folderOfPeers = peers()
    const others: Target[] = []
    if (folderOfPeers) {
      const [name, ...rest] = child as [string, ...string[]]
      const line = [name, ...rest].join(' ')
      const supergateway = [
        '--stdio',
        line,
        '--outputTransport',
        'streamableHttp',
        '--stateful',
        '--port',
        '{port}',
        '--logLevel',
        'none',
      ]
      others.push(await other('supergateway', [binOf(folderOfPeers, 'supergateway'), ...supergateway]))
      const mcpProxy = ['--port', '{port}', '--host', '127.0.0.1', '--server', 'stream', '--', name, ...rest]
      others.push(await other('mcp-proxy', [binOf(folderOfPeers, 'mcp-proxy'), ...mcpProxy]))
    }
    for (const modern of [false, true]) {
      const own = [
        await target('bare pipe', pipe, '/mcp', modern),
        await target('plantgw', gateway, '/stdio/mcp', modern),
      ]
      // The others do not speak 2026-07-28.
      const rows = await compare(modern ? own : [...own, ...others])
      sections.push([`stdio, ${modern ? '2026-07-28' : '2025-11-25'}`, rows])
    }
    const memory = await idleSessions(gateway.process, `${gateway.url}/http/mcp`)
    return [
      `Proxied tools/call, ${ROUNDS} rounds of ${SECONDS} s, median (least…most):`,
      ...sections.flatMap(([title, rows]) => ['', title, '', HEAD, '|---|---|---|---|', ...rows]),
      ...(folderOfPeers ? [] : ['', 'Other gateways could not be installed, so they are not compared.']),
      '',
      memory,
    ].join('\n')

    async function other(name: string, args: string[]): Promise<Target> {
      const at = ++next
      const given = args.map((arg) => arg.replace('{port}', String(at)))
      const process = await startQuiet(given, `http://127.0.0.1:${at}/mcp`)
      running.push(process)
      return target(name, { process, url: `http://127.0.0.1:${at}` }, '/mcp')
    }
  } finally {
    await Promise.all(running.map((process) => process.stop()))
  }
}

const HEAD = '| target | calls per CPU-second | to the first, per CPU | throughput |'

/** Starts a program that prints nothing when it is ready. */
async function startQuiet(args: string[], url: string): Promise<Running> {
  const process = await start(['-e', LAUNCH, ...args], {})
  for (;;) {
    try {
      await (await fetch(url, { method: 'GET' })).text()
      return process
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
/** Prints a line, then becomes the program named by its arguments, with their output thrown away. */
const LAUNCH = `
console.log('started'); console.log = () => {}; process.stdout.write = () => true; process.stderr.write = () => true
process.argv.splice(1, 0); import(require('node:url').pathToFileURL(require('node:path').resolve(process.argv[1])).href)
`

/** Resident memory that sessions of streamable HTTP add to the gateway, with nothing else going on. */
async function idleSessions({ pid }: Running, url: string): Promise<string> {
  const before = residentMiB(pid)
  for (let i = 0; i < SESSIONS; i += 50) await Promise.all(Array.from({ length: 50 }, () => session(url)))
  const after = residentMiB(pid)
  return `${SESSIONS} idle sessions of streamable HTTP: ${Math.round(after - before)} MiB (${Math.round(before)} before)`
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024
}
