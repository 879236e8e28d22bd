import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { median } from '../process.ts'
import type { Installed } from './install.ts'
import { usage } from './kernel.ts'
import type { Done, Job } from './load.ts'
import type { Case, Peer, Site } from './peer.ts'

/** The core of the gateway that is measured, and that of everything else. */
const CORES = { gateway: '0', others: '1' } as const
/** Milliseconds for a gateway to answer. */
const PATIENCE = 120_000
/** Below those that the kernel gives to outgoing connections, one of which would be in the way sooner or later. */
const FIRST_PORT = 24_400 + (process.pid % 700) * 10
const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A gateway that serves a case. */
export interface Target {
  peer: Peer
  pid: number
  /** Milliseconds from its start to the first answer at its last path. */
  startup: number
  /** MiB before any load. */
  idle: number
  job: Pick<Job, 'port' | 'path' | 'transport' | 'headers' | 'method' | 'params'>
  stop(): void
}

export interface Round {
  /** CPU of the gateway for a call, in microseconds. */
  micros: number
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** MiB of the gateway at its end. */
  resident: number
}

/** A process that was started. */
interface Started {
  pid: number
  stop(): void
  /** What it wrote to standard error, the end of it. */
  last: { lines: string }
}

/** Characters of it. */
const MAX_LINES = 2_000

/** The servers behind the gateways, the load in front of them, and the gateways themselves. */
export class Lab {
  readonly #folder = mkdtempSync(join(tmpdir(), 'plantgw-bench-'))
  readonly #groups = new Set<number>()
  readonly #loader: ChildProcess
  #ports = FIRST_PORT
  #api = ''
  #servers = new Map<number, string>()
  /** What is started is in process groups of its own, which an interrupt from the terminal does not reach. */
  readonly #interrupted = () => {
    this.close()
    process.exit(130)
  }

  constructor(readonly installed: Installed) {
    this.#loader = fork('bench/peers/load.ts', { execArgv: ['--import', 'tsx'] })
    process.once('SIGINT', this.#interrupted).once('SIGTERM', this.#interrupted)
    pin(process.pid, CORES.others)
    pin(this.#loader.pid!, CORES.others)
  }

  /** The command of the server over stdio: pinned by itself, as a child would inherit the core of its gateway. */
  get stdio(): [string, ...string[]] {
    const { node, servers } = this.installed
    return ['taskset', '-c', CORES.others, node.path, `${servers}/mcp.mjs`, 'stdio']
  }

  /** Starts a gateway and waits for its first answer. @param tools how many the MCP server lists */
  async start(peer: Peer, kind: Case, { services = 1, tools = 1 } = {}): Promise<Target> {
    const port = ++this.#ports
    const folder = join(this.#folder, String(port))
    mkdirSync(folder)
    const [api, mcp] = [await this.#apiServer(), await this.#mcpServer(tools)]
    const site: Site = { port, folder, api, mcp, stdio: this.stdio, services }
    const launch = peer.launch[kind]!(site)
    const began = performance.now()
    const started = this.#spawn(CORES.gateway, launch.command, launch.env)
    const { pid, stop } = started
    const transport = kind === 'sse' ? 'sse' : 'post'
    const params = { name: 'get_item', arguments: launch.arguments ?? { id: 42, tag: 'wet' } }
    const job: Target['job'] = {
      port,
      path: launch.path,
      transport,
      headers: {},
      method: 'tools/call',
      params,
    }
    try {
      const url = `http://127.0.0.1:${port}${launch.path}`
      // Some gateways do not survive an event stream that ends before it began: of SSE any answer will do.
      if (transport === 'sse') await answers(new URL('/', url).href, started, true)
      else await answers(url, started, launch.isPlain)
      const startup = performance.now() - began
      if (transport === 'post' && !launch.isPlain) {
        job.headers = await session(url)
        params.name = await nameOf(url, job.headers)
      }
      return { peer, pid, startup, idle: this.resident(pid), job, stop }
    } catch (error) {
      stop()
      throw error
    }
  }

  /** Calls for so many seconds. */
  async round(target: Target, connections: number, seconds: number, more: Partial<Job> = {}): Promise<Round> {
    this.#loader.send({ ...target.job, connections, seconds, ...more } satisfies Job)
    const [told] = (await once(this.#loader, 'message')) as ['ready' | Done]
    if (told !== 'ready') throw new Error(told.faults.join('; '))
    const before = usage(target.pid, 'mcp.mjs').cpu
    this.#loader.send('go')
    const [done] = (await once(this.#loader, 'message')) as [Done]
    const { cpu, resident } = usage(target.pid, 'mcp.mjs')
    if (done.faults.length || !done.calls) throw new Error(`no result: ${done.faults.join('; ')}`)
    const { calls, p50, p99 } = done
    return { micros: ((cpu - before) / calls) * 1e6, perSecond: calls / done.seconds, p50, p99, resident }
  }

  /** Opens sessions that stay idle; the headers of each. */
  async openSessions({ job }: Target, count: number): Promise<Record<string, string>[]> {
    const url = `http://127.0.0.1:${job.port}${job.path}`
    const opened: Record<string, string>[] = []
    for (let i = 0; i < count; i += 50)
      opened.push(...(await Promise.all(Array.from({ length: Math.min(50, count - i) }, () => session(url)))))
    return opened
  }

  /** MiB of the gateway now. */
  resident(pid: number): number {
    return usage(pid, 'mcp.mjs').resident
  }

  close(): void {
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted)
    for (const group of this.#groups) kill(group)
    this.#loader.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #apiServer(): Promise<string> {
    this.#api ||= await this.#server('upstream', {})
    return this.#api
  }

  async #mcpServer(tools: number): Promise<string> {
    const at = this.#servers.get(tools) ?? `${await this.#server('mcp', { TOOLS: String(tools) })}/mcp`
    this.#servers.set(tools, at)
    return at
  }

  async #server(name: string, env: Record<string, string>): Promise<string> {
    const port = ++this.#ports
    const { node, servers } = this.installed
    const command = [node.path, `${servers}/${name}.mjs`] as const
    const started = this.#spawn(CORES.others, command, { ...env, PORT: String(port) })
    await answers(`http://127.0.0.1:${port}/`, started)
    return `http://127.0.0.1:${port}`
  }

  #spawn(core: string, command: readonly string[], env: Record<string, string> = {}): Started {
    const child = spawn('taskset', ['-c', core, ...command], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    child.on('error', () => {})
    const last = { lines: '' }
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      last.lines = (last.lines + text).slice(-MAX_LINES)
    })
    const pid = child.pid
    if (pid === undefined) throw new Error('taskset of util-linux is not here')
    this.#groups.add(pid)
    const stop = () => {
      this.#groups.delete(pid)
      kill(pid)
    }
    return { pid, stop, last }
  }
}

/** Ends a process and those it started in its group; what it started in others ends with its pipes. */
function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function pin(pid: number, core: string): void {
  spawn('taskset', ['-acp', core, String(pid)], { stdio: 'ignore' }).on('error', () => {})
}

/** Waits for any answer but 404 and 5xx. @param isPlain any answer will do */
async function answers(url: string, { pid, last }: Started, isPlain = false): Promise<void> {
  const until = performance.now() + PATIENCE
  for (;;) {
    const cut = AbortSignal.timeout(5_000)
    const response = await fetch(url, { ...first(), signal: cut }).catch(() => undefined)
    await response?.body?.cancel()
    if (response && (isPlain || (response.status !== 404 && response.status < 500))) return
    if (performance.now() > until) throw new Error(`no answer at ${url}`)
    try {
      process.kill(pid, 0)
    } catch {
      throw new Error(`it ended at once: ${last.lines.trim()}`)
    }
    await pause(20)
  }
}

function first() {
  const clientInfo = { name: 'bench', version: '1' }
  return posted('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
}

function posted(method: string, params: object, headers: Record<string, string> = {}, id = 0) {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return { method: 'POST', headers: { ...ACCEPT, ...headers }, body }
}

/** Opens a session; the headers of its messages. */
async function session(url: string): Promise<Record<string, string>> {
  const response = await fetch(url, first())
  const text = await response.text()
  if (!response.ok) throw new Error(`initialize: ${response.status} ${text.slice(0, 200)}`)
  const revision = /"protocolVersion":\s*"([^"]+)"/.exec(text)?.[1]
  const id = response.headers.get('mcp-session-id')
  const headers = {
    ...(revision && { 'mcp-protocol-version': revision }),
    ...(id && { 'mcp-session-id': id }),
  }
  const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  await (await fetch(url, { method: 'POST', headers: { ...ACCEPT, ...headers }, body })).text()
  return headers
}

/** The name that a gateway gives the tool `get_item`. */
async function nameOf(url: string, headers: Record<string, string>): Promise<string> {
  const text = await (await fetch(url, posted('tools/list', {}, headers, 1))).text()
  const name = /"name":\s*"([^"]*get_item)"/.exec(text)?.[1]
  if (!name) throw new Error(`it does not list get_item: ${text.slice(0, 200)}`)
  return name
}

/** Rounds that take turns: of each target so many. A target that fails is told and left out of the rest. */
export async function turns(
  targets: readonly Target[],
  rounds: number,
  measure: (target: Target) => Promise<Round>,
  failed: (target: Target, error: unknown) => void,
): Promise<Map<Target, Round>> {
  const results = new Map<Target, Round[]>(targets.map((target) => [target, []]))
  for (let i = 0; i < rounds; i++)
    for (const [target, of] of results)
      try {
        of.push(await measure(target))
      } catch (error) {
        results.delete(target)
        failed(target, error)
      }
  return new Map([...results].map(([target, of]) => [target, middle(of)]))
}

/** The median of each figure; of memory the most. */
function middle(rounds: readonly Round[]): Round {
  const of = (key: keyof Round) => median(rounds.map((round) => round[key]))
  const resident = Math.max(...rounds.map((round) => round.resident))
  return { micros: of('micros'), perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), resident }
}
