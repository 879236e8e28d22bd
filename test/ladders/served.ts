/** A gateway in a ladder: its settings, its requests, and what it acknowledged. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePort, plantgw, ROOT, type Running } from '../support/process.ts'
import { inTime, type Rung } from './ladder.ts'

/** Copies two configurations of the examples into the folder of the run. */
export function examples(rung: Rung): string {
  const folder = join(rung.folder, 'configs')
  mkdirSync(folder)
  for (const name of ['plants.yaml', 'shop.yaml'])
    cpSync(join(ROOT, 'examples/configs', name), join(folder, name))
  return folder
}

const TOKEN = 'ladder-token'

export interface Home {
  port: number
  /** The settings file. */
  settings: string
}

/** Writes settings into the folder of the run, for a port of its own. */
export async function settle(rung: Rung, more: Record<string, unknown> = {}): Promise<Home> {
  const port = await freePort()
  const settings = join(rung.folder, 'plantgw.yaml')
  const all = { port, pid: 'plantgw.pid', drain: { grace: '0s' }, ...more }
  writeFileSync(settings, JSON.stringify(all))
  return { port, settings }
}

export const plantSettings = (storage: Record<string, unknown>) => ({
  storage,
  tokens: [{ token: TOKEN, caller: 'ladder', access: 'all' }],
})

export interface Answer {
  status: number
  body: string
}

/** One request on a connection of its own, which has to be answered. */
export async function ask(
  { port }: Home,
  path: string,
  { method = 'GET', body }: { method?: string; body?: unknown } = {},
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    ...(path.startsWith('/plants') && { authorization: `Bearer ${TOKEN}` }),
  }
  const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false })
  request.end(body === undefined ? undefined : JSON.stringify(body))
  try {
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    const [response] = await inTime(answered, `${method} ${path} was not answered`)
    return { status: response.statusCode!, body: await inTime(text(response), `${path} has no end`) }
  } finally {
    request.destroy()
  }
}

/** Serves without a fault while `work` is done. */
export async function cleanly(
  rung: Rung,
  args: readonly string[],
  work: (running: Running) => Promise<void>,
): Promise<void> {
  const running = plantgw(rung.t, args, { cwd: rung.folder })
  await running.until(/plantgw serves/)
  await work(running)
  running.child.kill('SIGTERM')
  assert.equal(await inTime(running.ended, 'the clean run does not end'), 0, running.stderr())
}

/** Creates and deletes plants of a store, also at the same time, and looks whether what was acknowledged is there. */
export async function planted(rung: Rung, settings: Record<string, unknown>): Promise<void> {
  const home = await settle(rung, { plants: settings })
  const serve = ['serve', '-s', home.settings, examples(rung)]
  const gateway = rung.faulty(serve, { armed: false })
  assert.ok(await gateway.serves())
  await gateway.arm()
  const plants = new Plants(home)
  await plants.create(1)
  await plants.create(2)
  await Promise.all([3, 4, 5].map((id) => plants.create(id)))
  await plants.delete(1)
  await plants.check()
  await Promise.all([plants.delete(2), plants.delete(3), plants.create(6)])
  await plants.check()
  await gateway.stop()
  await cleanly(rung, serve, () => plants.check(true))
}

/** What became of plants, as the answers say: there, gone, or one of both after an error. */
export class Plants {
  readonly #known = new Map<number, 'there' | 'gone' | 'either'>()

  constructor(private readonly home: Home) {}

  async create(id: number): Promise<void> {
    const plant = { id, name: `plant ${id}`, soil: 'loam' }
    this.#known.set(id, 'either')
    const { status, body } = await ask(this.home, '/plants', { method: 'POST', body: plant })
    if (status === 200) this.#known.set(id, 'there')
    else if (failed(status, body) === 507) this.#known.set(id, 'gone')
  }

  async delete(id: number): Promise<void> {
    const before = this.#known.get(id)!
    this.#known.set(id, 'either')
    const { status, body } = await ask(this.home, `/plants/${id}`, { method: 'DELETE' })
    if (status === 204) this.#known.set(id, 'gone')
    else if (status === 404) assert.notEqual(before, 'there', `plant ${id} is lost`)
    else if (failed(status, body) === 507) this.#known.set(id, before)
  }

  /** @param whole whether the list has to be answered */
  async check(whole = false): Promise<void> {
    const { status, body } = await ask(this.home, '/plants')
    if (status !== 200) {
      assert.ok(!whole, `${status} ${body}`)
      failed(status, body)
      return
    }
    const listed = new Set((JSON.parse(body) as { name: string }[]).map(({ name }) => name))
    for (const [id, state] of this.#known) {
      const there = listed.has(`plant ${id}`)
      if (state !== 'either') assert.equal(there ? 'there' : 'gone', state, `plant ${id}: ${body}`)
    }
  }
}

/** An answer that says clearly that it failed. */
export function failed(status: number, body: string): number {
  assert.ok([500, 503, 504, 507].includes(status), `${status} ${body}`)
  const { error, message } = JSON.parse(body)
  assert.equal(error, status)
  assert.equal(typeof message, 'string')
  return status
}
