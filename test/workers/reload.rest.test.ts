import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { toolsFile } from '../cluster/harness.ts'
import { temporaryFolder } from '../support/process.ts'
import { MODERN_META, modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import { ACCEPT, ask, openSession, post, renamed, servedNames, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }
const FAILING = new URL('failing.js', import.meta.url).pathname

const DONE = '"msg":"reloaded"'
const FAILED = '"msg":"reload failed; keeping the current configuration"'

type How = 'throw' | 'abort' | 'kill' | 'stop'

/** A gateway whose workers of these numbers fail at their next reload. */
async function failing(t: TestContext, how: How, workers: string) {
  const text = await toolsFile(t)
  const mark = join(temporaryFolder(t), 'failed-')
  const env = { FAIL_AT: 'reload', FAIL_HOW: how, FAIL_WORKERS: workers, FAIL_MARK: mark }
  const gateway = await serveWorkers(t, { files: { tools: text }, env, node: ['--import', FAILING] })
  let reloads = 0
  const write = (name: string) => writeFileSync(join(gateway.folder, 'tools.yaml'), renamed(text, name))
  /** Not by a request, which the worker that ends may have. @returns what the log says of it */
  const reload = async (name: string) => {
    write(name)
    gateway.child.kill('SIGHUP')
    const line = await until(
      async () => gateway.stderr().match(/"msg":"reload(ed| failed)[^"]*"/g)?.[reloads],
    )
    reloads++
    return line
  }
  const before = (await gateway.workers()).map(({ pid }) => pid)
  /** Resolves when three workers serve, none of which has failed. */
  const replaced = () =>
    until(async () => {
      const pids = (await gateway.workers().catch(() => [])).map(({ pid }) => pid)
      return pids.length === 3 && workers.split(' ').every((worker) => !pids.includes(before[+worker - 1]!))
    })
  return {
    gateway,
    write,
    reload,
    replaced,
    failed: (worker: string) => existsSync(mark + worker) && Number(readFileSync(mark + worker, 'utf8')),
  }
}

for (const worker of ['1', '2'])
  for (const how of ['abort', 'kill', 'stop'] as const)
    test(`worker ${worker} ends at a reload (${how}): its replacement serves it`, TIMEOUT, async (t) => {
      const { gateway, reload, replaced, failed } = await failing(t, how, worker)
      const reloading = reload('second')
      if (how === 'stop') {
        const pid = await until(async () => failed(worker))
        // Until the system has stopped it, it goes on.
        await until(async () => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
        process.kill(pid, 'SIGKILL')
      }
      assert.equal(await reloading, DONE)
      await replaced()
      assert.deepEqual(await servedNames(gateway), ['second'])
      assert.equal(await reload('third'), DONE)
      assert.deepEqual(await servedNames(gateway), ['third'])
    })

test('an exception in the first worker: none serves the reload, the next goes on', TIMEOUT, async (t) => {
  const { gateway, reload } = await failing(t, 'throw', '1')
  const pids = async () => (await gateway.workers()).map(({ pid }) => pid)
  const before = await pids()
  assert.equal(await reload('second'), FAILED)
  assert.deepEqual(await servedNames(gateway), ['echo'])
  assert.equal(await reload('third'), DONE)
  assert.deepEqual(await servedNames(gateway), ['third'])
  assert.deepEqual(await pids(), before)
})

test('who asks for a reload that a worker cannot serve learns why', TIMEOUT, async (t) => {
  const { gateway, write } = await failing(t, 'throw', '1')
  write('second')
  const response = await fetch(`${gateway.origin}/_reload`, { method: 'POST' })
  const { error, message } = (await response.json()) as { error: number; message: string }
  assert.deepEqual([response.status, error], [503, 503])
  assert.match(message, /^The current configurations stay in service: worker 1 cannot serve it: ./)
})

test('a worker that cannot serve what others serve is replaced by one that does', TIMEOUT, async (t) => {
  const { gateway, reload, replaced } = await failing(t, 'throw', '2')
  assert.equal(await reload('second'), DONE)
  await replaced()
  assert.deepEqual(await servedNames(gateway), ['second'])
})

test('a reload that ends two workers is not served: they begin again with what was', TIMEOUT, async (t) => {
  const { gateway, reload, replaced } = await failing(t, 'abort', '1 2')
  assert.equal(await reload('second'), FAILED)
  await replaced()
  assert.deepEqual(await servedNames(gateway), ['echo'])
})

/** A configuration with a folder of skills, of which one has this text. */
function withSkill(folder: string, text: string): string {
  const skill = join(folder, 'watering')
  mkdirSync(skill, { recursive: true })
  writeFileSync(join(skill, 'SKILL.md'), text)
  return stringify({
    name: 'garden',
    routers: [{ server: 'garden', prefix: '/garden' }],
    servers: [{ name: 'garden', description: 'Plants' }],
    skills: folder,
  })
}

const skillOf = (description: string) => `---\nname: watering\ndescription: ${description}\n---\nWater.`

test('what another configuration lacks keeps nothing from being reloaded', TIMEOUT, async (t) => {
  const skills = temporaryFolder(t)
  const [tools, garden] = [await toolsFile(t), withSkill(skills, skillOf('Waters plants'))]
  const gateway = await serveWorkers(t, { files: { tools, garden } })
  const skill = async () => {
    const headers = { ...ACCEPT, ...modernHeaders('resources/list') }
    const body = `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{${MODERN_META}}}`
    const all = Array.from({ length: 6 }, () => ask(gateway.url('garden'), 'POST', headers, body))
    return new Set((await Promise.all(all)).map(({ text }) => /Waters \w+/.exec(text)?.[0] ?? text))
  }
  const reload = async (name: string, body?: string) => {
    writeFileSync(join(gateway.folder, 'tools.yaml'), renamed(tools, name))
    return ask(`${gateway.origin}/_reload`, 'POST', { 'content-type': 'application/json' }, body)
  }
  assert.deepEqual(await skill(), new Set(['Waters plants']))

  withSkill(skills, skillOf('Waters trees'))
  assert.equal((await reload('second', '{"name":"tools"}')).status, 200)
  assert.deepEqual(await servedNames(gateway), ['second'])
  assert.deepEqual(await skill(), new Set(['Waters plants']))

  withSkill(skills, 'no skill')
  assert.equal((await reload('third')).status, 422)
  assert.deepEqual(await servedNames(gateway), ['third'])
  assert.deepEqual(await skill(), new Set(['Waters plants']))

  withSkill(skills, skillOf('Waters trees'))
  assert.equal((await reload('fourth')).status, 200)
  assert.deepEqual(await servedNames(gateway), ['fourth'])
  assert.deepEqual(await skill(), new Set(['Waters trees']))
})

test('clients hear of a change once all workers serve it', TIMEOUT, async (t) => {
  const { gateway, write, failed } = await failing(t, 'stop', '2')
  const { headers } = await openSession(gateway.url('tools'))
  for (let i = 0; i < 6; i++) {
    await post(gateway.url('tools'), { method: 'notifications/initialized' }, headers)
    await post(gateway.url('tools'), { id: i, method: 'tools/list' }, headers)
  }
  const heard: string[] = []
  for (let i = 0; i < 3; i++) {
    const sent = request(gateway.url('tools'), { headers: { ...headers, accept: 'text/event-stream' } }).end()
    const [response] = await once(sent, 'response')
    response
      .setEncoding('utf8')
      .on('data', (text: string) => heard.push(...(text.match(/list_changed/g) ?? [])))
    t.after(() => sent.destroy())
  }
  // Each connection stays with its worker.
  const agents = Array.from({ length: 3 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  t.after(() => {
    for (const agent of agents) agent.destroy()
  })
  const nameOver = async (agent: Agent) => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${MODERN_META}}}`
    const sent = request(gateway.url('tools'), {
      method: 'POST',
      agent,
      headers: { ...ACCEPT, ...modernHeaders('tools/list') },
    })
    sent.on('error', () => {}).end(body)
    const [response] = await once(sent, 'response')
    return /"tools":\[\{"name":"(\w+)"/.exec(await readText(response))?.[1]
  }
  await Promise.all(agents.map(nameOver))

  write('second')
  gateway.child.kill('SIGHUP')
  const pid = await until(async () => failed('2'))
  await until(async () => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
  // The others serve the change.
  const names: (string | undefined)[] = []
  const look = async (agent: Agent) => {
    for (;;) {
      const name = await nameOver(agent)
      if (name === 'second') return names.push(name)
    }
  }
  const looks = Promise.all(agents.map(look))
  await until(async () => names.length === 2)
  assert.deepEqual(heard, [])
  process.kill(pid as number, 'SIGCONT')
  await looks
  await until(async () => heard.length === 3)
})
