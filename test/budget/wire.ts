import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { freePort, temporaryFolder } from '../support/process.ts'
import { type Scripted, scripted } from '../support/scripted.ts'
import { type Served, served } from '../support/served.ts'
import { PLANTS_TOKEN, PREFIXES, type Shape } from './shapes.ts'
import { budgetTools } from './tools.ts'

/** Milliseconds that one input may hold the event loop, on the machine that `REFERENCE` was measured on. */
export const BUDGET = 100
/** Milliseconds of `speedTest` on a quiet machine of the kind that the budget is for. */
const REFERENCE = 60
/** Milliseconds after which a loop that is held is given up: the input has failed by far. */
const GIVEN_UP = 10_000
/** Milliseconds that a client waits for an answer; some inputs get none. */
const PATIENCE = 2_000
const TRIES = 10

export interface Measured {
  name: string
  /** Milliseconds of the longest turn, at best of its tries. Garbage collection counts: nobody is answered meanwhile. */
  held: number
  /** The status of the answer; 0 without one. */
  status: number
}

export interface Budget {
  /** Milliseconds that an input may take on this machine at the moment. */
  limit: number
  measure(shape: Shape): Promise<Measured>
}

/** Starts the gateway with every kind of prefix, and measures from inside its process what each input costs. */
export async function startBudget(t: TestContext): Promise<Budget> {
  const limit = BUDGET * Math.max(1, speedTest() / REFERENCE)
  const upstreams = await scripted(t)
  const settings = plantSettings(join(temporaryFolder(t), 'plants.json'))
  const probe = await freePort()
  const preload = pathToFileURL(join(import.meta.dirname, 'preload.js'))
  const env = { NODE_OPTIONS: `--import=${preload}`, PLANTGW_TEST_PROBE: String(probe) }
  let gateway: Served | undefined
  let sessions = new Map<string, Record<string, string>>()

  async function running(): Promise<Served> {
    if (gateway && gateway.child.exitCode === null && gateway.child.signalCode === null) return gateway
    gateway = await served(t, configurationsOf(upstreams), { env, settings })
    sessions = new Map()
    return gateway
  }
  async function headersOf(
    { path, headers, session }: Shape,
    gateway: Served,
  ): Promise<Record<string, string>> {
    if (!session) return headers ?? {}
    const prefix = `/${path.split('/')[1]}`
    const open = sessions.get(prefix) ?? (await gateway.open(prefix))
    sessions.set(prefix, open)
    return { ...open, ...headers }
  }
  async function once(shape: Shape, attempts = 3): Promise<Measured> {
    const gateway = await running()
    const { name, path, method = 'POST', body } = shape
    if (shape.script) upstreams.scripts.set('shape', shape.script)
    upstreams.type = shape.type ?? 'application/json'
    let headers: Record<string, string>
    try {
      headers = await headersOf(shape, gateway)
      await longestTurn(probe)
    } catch (error) {
      // What came before may have ended it, or hold it for good.
      gateway.child.kill('SIGKILL')
      await gateway.ended
      if (attempts === 1) throw error
      return once(shape, attempts - 1)
    }
    const own = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    }
    const answer = await gateway.send({
      path,
      method,
      headers: method === 'POST' ? own : headers,
      timeout: PATIENCE,
      ...(body !== undefined && { body }),
    })
    if (answer.status === 404 && shape.session) sessions.delete(`/${path.split('/')[1]}`)
    // Who holds the loop for so long does not answer the probe either.
    const held = await longestTurn(probe).catch(() => undefined)
    if (held === undefined) {
      gateway.child.kill('SIGKILL')
      const gone = (await gateway.ended) !== 'SIGKILL'
      return { name: gone ? `${name} (it ended the gateway)` : name, held: GIVEN_UP, status: 0 }
    }
    return { name, held, status: answer.status }
  }
  await running()
  // The first requests compile code.
  for (const prefix of PREFIXES) {
    const warm = {
      name: 'warm',
      path: `/${prefix}/mcp`,
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      session: true,
    }
    for (let i = 0; i < 5; i++) await once(warm)
  }
  return {
    limit,
    async measure(shape) {
      let best = await once(shape)
      for (let tries = 1; tries < TRIES && best.held > limit && best.held < GIVEN_UP; tries++) {
        const next = await once(shape)
        if (next.held < best.held) best = next
      }
      return best
    },
  }
}

/** A store of 100,000 plants. */
function plantSettings(file: string): object {
  const plant = (_: unknown, i: number) => ({ id: String(i), owner: 'me', name: `plant ${i}`, tag: 'a tag' })
  writeFileSync(file, JSON.stringify({ version: 1, plants: Array.from({ length: 100_000 }, plant) }))
  return { plants: { file, tokens: [{ token: PLANTS_TOKEN, caller: 'me', access: 'all' }] } }
}

function configurationsOf({ servers, api }: Scripted): { name: string }[] {
  const proxy = (name: string, entries: [string, object][]) => ({
    name,
    routers: [{ server: entries.length > 1 ? entries.map(([each]) => each) : name, prefix: `/${name}` }],
    mcpServers: entries.map(([each, server]) => ({ name: each, ...server })),
  })
  return [
    budgetTools(api) as { name: string },
    ...Object.entries(servers).map((entry) => proxy(entry[0], [entry])),
    proxy('several', [
      ['one', servers.stdio],
      ['two', servers.streamable],
    ]),
  ]
}

/** Asks the preload. @throws when it does not answer */
async function longestTurn(port: number): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(GIVEN_UP, () => socket.destroy(new Error('no answer')))
  return JSON.parse(await readText(socket))
}

/** Milliseconds of CPU for reading and writing 4 MiB of JSON, at best of ten times. */
function speedTest(): number {
  const item = (_: unknown, i: number) => ({ name: `plant ${i}`, tags: ['a', i, null], deep: { n: i / 3 } })
  const text = JSON.stringify(Array.from({ length: 60_000 }, item))
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < 10; i++) {
    const started = process.cpuUsage()
    JSON.stringify(JSON.parse(text))
    const { user, system } = process.cpuUsage(started)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

/** The slowest inputs, as lines of a table. */
export function slowest(measured: readonly Measured[], count = 10): string {
  const rows = measured.toSorted((one, other) => other.held - one.held).slice(0, count)
  return rows
    .map(
      ({ name, held, status }) => `${held.toFixed(0).padStart(7)} ms  ${String(status).padStart(3)}  ${name}`,
    )
    .join('\n')
}
