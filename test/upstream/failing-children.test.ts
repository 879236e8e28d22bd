import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { modern, open } from '../support/client.ts'
import { gatewayHere } from '../support/gateway.ts'
import { temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'

const TIMEOUT = { timeout: 60_000 }

/** A server that ends at the method that a file names (`start`: at once), or is as that file says. */
const PROGRAM = `
const { appendFileSync, closeSync, readFileSync } = require('node:fs')
const [starts, mode] = process.argv.slice(2)
appendFileSync(starts, 'x')
const end = (method) => {
  if (readFileSync(mode, 'utf8') !== method) return false
  process.stderr.write('starting\\ncannot read the database\\n', () => process.exit(3))
  return true
}
const answer = (id, more) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...more }))
const RESULTS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'gone' }] }),
}
if (!end('start'))
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (end(method) || id === undefined) return
    const how = readFileSync(mode, 'utf8')
    if (how === 'logs')
      for (const line of [{ level: 30, id, msg: 'got it' }, { jsonrpc: '2.0', id, method: 'x', params: [1] }])
        console.log(JSON.stringify(line))
    if (how === 'deaf' && method === 'tools/call') {
      process.stdin.destroy()
      closeSync(0)
      setInterval(() => {}, 1000)
    }
    const result = how === 'refuse' ? undefined : RESULTS[method]?.(params)
    answer(id, result ? { result } : { error: { code: -32601, message: 'unknown' } })
  })
`

async function world(t: TestContext, mode: string) {
  const folder = temporaryFolder(t)
  const [program, starts, file] = ['program.cjs', 'starts', 'mode'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(program, PROGRAM)
  writeFileSync(starts, '')
  const become = (next: string) => writeFileSync(file, next)
  become(mode)
  const server = { name: 'x', type: 'stdio', command: process.execPath, args: [program, starts, file] }
  const gateway = await gatewayHere(t, {
    name: 'x',
    routers: [
      { server: 'x', prefix: '/x' },
      { server: ['x'], prefix: '/list' },
    ],
    mcpServers: [server],
  })
  const url = `${gateway.base}/x/mcp`
  const call = () => modern(url).call('go')
  const status = async () => {
    const { prefixes } = (await (await fetch(`${gateway.base}/_status`)).json()) as {
      prefixes: [{ upstream: { state: string; faults?: string[] } }]
    }
    return prefixes[0].upstream
  }
  return {
    url,
    logged: gateway.logged,
    become,
    call,
    status,
    /** Calls are answered, and the state says so. A child from before may end after the first good answer. */
    recovered: () => until(async () => (await call()) === 'gone' && (await status()).state === 'connected'),
    /** Children that were started since the last question. */
    started() {
      const { length } = readFileSync(starts, 'utf8')
      writeFileSync(starts, '')
      return length
    },
  }
}

const FAULT = 'The server x ended with exit code 3; its last line on standard error: cannot read the database'

test(
  'a server whose children end at their start fails until one answers, and each attempt starts one',
  TIMEOUT,
  async (t) => {
    const { become, started, call, status, recovered } = await world(t, 'start')
    assert.equal((await status()).state, 'idle')
    assert.match(await call(), /ended with exit code 3/)
    // The first question may have been the reason, so another child gets another one.
    assert.equal(started(), 2)
    const { state, faults } = await status()
    assert.deepEqual({ state, faults }, { state: 'failing', faults: [FAULT] })
    assert.match(await call(), /ended with exit code 3/)
    assert.equal(started(), 1)
    assert.match(await call(), /It failed twice|It failed 2 times in a row; the next attempt is in 1 s/)
    assert.equal(started(), 0)
    // The reason stays after the pause.
    await until(async () => /; the call was not repeated$/.test(await call()))
    assert.equal(started(), 1)
    assert.deepEqual((await status()).faults, [FAULT])
    become('well')
    await recovered()
    assert.equal((await status()).faults, undefined)
  },
)

test('a server whose children end at an unknown method is repaired, and found again', TIMEOUT, async (t) => {
  const { become, started, call, status, recovered } = await world(t, 'server/discover')
  assert.equal(await call(), 'gone')
  assert.equal((await status()).state, 'connected')
  become('start')
  await call()
  started()
  become('server/discover')
  await recovered()
})

test('a server whose children end during calls fails', TIMEOUT, async (t) => {
  const { become, call, status, recovered } = await world(t, 'tools/call')
  assert.match(await call(), /ended with exit code 3/)
  await until(async () => (await status()).state === 'failing')
  assert.deepEqual((await status()).faults, [FAULT])
  become('well')
  await recovered()
})

for (const kind of ['session', '2026-07-28'])
  test(`a server whose children end in each call is given a pause: ${kind}`, TIMEOUT, async (t) => {
    const { url, become, started } = await world(t, 'tools/call')
    const client = kind === 'session' ? await open(url) : modern(url)
    const answers: string[] = []
    await until(async () => /times in a row/.test(answers[answers.push(await client.call('go')) - 1]!))
    assert.match(
      answers.at(-1)!,
      /The server x ended with exit code 3\. It failed \d+ times in a row; the next/,
    )
    assert.ok(answers.length > 10, answers.join())
    started()
    assert.match(
      await (await open(url)).call('go'),
      /; the call was not repeated/,
      'other sessions may go on',
    )
    become('well')
    await until(async () => (await client.call('go')) === 'gone')
  })

for (const [mode, failure] of [
  ['initialize', 'The server x ended with exit code 3'],
  ['refuse', 'unknown'],
] as const)
  test(`a handshake that fails is logged, as its client sends nothing else: ${mode}`, TIMEOUT, async (t) => {
    const { url, logged } = await world(t, mode)
    const { initialized } = await open(url)
    assert.ok(initialized.error.message.startsWith(failure), initialized.error.message)
    const line = logged.find(({ method }) => method === 'initialize')
    assert.equal(line?.outcome, 'failed')
    assert.equal(line?.level, 'warn')
    assert.ok(line?.failure.startsWith(failure), line?.failure)
    const inList = (await open(url.replace('/x/', '/list/'))).initialized
    assert.match(inList.error.message, new RegExp(`^The server x .*${failure.slice(-7)}`))
  })

test('lines with the id of a call that are no answer to it change nothing', TIMEOUT, async (t) => {
  const { url } = await world(t, 'logs')
  for (const client of [await open(url), modern(url)]) assert.equal(await client.call('go'), 'gone')
})

test('a server that reads no more is ended at once, and started again', TIMEOUT, async (t) => {
  const { url } = await world(t, 'deaf')
  const client = await open(url)
  assert.equal(await client.call('go'), 'gone')
  const answers: string[] = []
  await until(async () =>
    (answers[answers.push(await client.call('go')) - 1] ?? '').includes('closed its input'),
  )
  assert.equal(await client.call('go'), 'gone')
})
