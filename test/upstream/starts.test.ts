import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { namedCaller } from '../../src/access/bearer.ts'
import { until } from '../support/until.ts'
import { modern, open, proxied } from './harness.ts'

/** How a server takes what it does not know: `error` as most do, `silent` and `exit` as some old ones. */
type Kind = 'error' | 'silent' | 'exit' | 'stateless'

const SERVER = `
  const { appendFileSync } = require('node:fs')
  const [, starts, kind] = process.argv
  appendFileSync(starts, process.pid + '\\n')
  const seen = []
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    seen.push(method)
    if (id === undefined) return
    const answer = (body) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
    const complete = kind === 'stateless' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
    const known = kind === 'stateless' ? 'server/discover' : 'initialize'
    if (method === known)
      return answer({
        result: {
          ...complete,
          protocolVersion: '2025-11-25',
          supportedVersions: kind === 'stateless' ? ['2026-07-28'] : undefined,
          capabilities: { tools: {} },
          serverInfo: { name: 'counted', version: '1' },
        },
      })
    if (method === 'tools/list')
      return answer({ result: { ...complete, tools: [{ name: 'seen', inputSchema: { type: 'object' } }] } })
    if (method === 'tools/call')
      return answer({ result: { ...complete, content: [{ type: 'text', text: seen.join() }] } })
    if (kind === 'exit') process.exit(0)
    if (kind !== 'silent') answer({ error: { code: -32601, message: 'Method not found' } })
  })
`
const TIMEOUT = { timeout: 60_000 }

function counted(t: TestContext, kind: Kind, more: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-starts-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'starts')
  const starts = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0)
  const args = ['-e', SERVER, file, kind]
  return { server: { type: 'stdio', command: process.execPath, args, ...more }, starts }
}

for (const kind of ['error', 'silent', 'stateless'] as const)
  for (const client of ['new', 'old'] as const)
    for (const isolation of ['session', 'shared'] as const)
      test(
        `the first call starts the command once: ${kind} server, ${client} client, isolation ${isolation}`,
        TIMEOUT,
        async (t) => {
          const { server, starts } = counted(t, kind, { isolation })
          const { url, proxy } = await proxied(t, [server], { authenticate: async () => namedCaller('me') })
          const made = client === 'new' ? modern(url) : await open(url)
          const seen = await made.call('seen')
          assert.match(seen, kind === 'stateless' ? /server\/discover/ : /initialize/)
          assert.equal(starts(), 1)
          await made.call('seen')
          assert.equal(starts(), 1)
          assert.equal(proxy.status().connections, 1)
        },
      )

test('a server that exits at an unknown method gets a new child for its session', TIMEOUT, async (t) => {
  const { server, starts } = counted(t, 'exit')
  const { url } = await proxied(t, [server], { authenticate: async () => namedCaller('me') })
  const client = modern(url)
  assert.match(await client.call('seen'), /^initialize,notifications\/initialized/)
  assert.equal(starts(), 2)
  await client.call('seen')
  assert.equal(starts(), 2)
  assert.match(await (await open(url)).call('seen'), /^initialize/)
  assert.equal(starts(), 3)
})

test(
  'a probe that had to make a handshake is not the session of a client that said something else',
  TIMEOUT,
  async (t) => {
    const { server, starts } = counted(t, 'silent')
    const { proxy, url } = await proxied(t, [{ ...server, policy: 'onStart' }])
    await proxy.start()
    assert.equal(starts(), 1)
    const client = await open(url, {}, { roots: {} })
    assert.match(await client.call('seen'), /^initialize,notifications\/initialized,tools\/call$/)
    assert.equal(starts(), 2)
    assert.equal(proxy.status().connections, 1)
  },
)

for (const kind of ['error', 'stateless'] as const)
  for (const client of ['new', 'old'] as const) {
    test(
      `onStart: the child that was started serves the first call (${kind}, ${client})`,
      TIMEOUT,
      async (t) => {
        const { server, starts } = counted(t, kind, { policy: 'onStart' })
        const { url, proxy } = await proxied(t, [server], { authenticate: async () => namedCaller('me') })
        await proxy.start()
        assert.equal(starts(), 1)
        const made = client === 'new' ? modern(url) : await open(url)
        assert.match(await made.call('seen'), /server\/discover/)
        // A session is tried first, as the server may know both; the child that refused it is ended.
        assert.equal(starts(), client === 'old' && kind === 'stateless' ? 2 : 1)
        assert.equal(proxy.status().connections, 1)
      },
    )
    test(
      `preinstalled: one start at load, one for the first call (${kind}, ${client})`,
      TIMEOUT,
      async (t) => {
        const { server, starts } = counted(t, kind, { preinstalled: true })
        const { url, proxy } = await proxied(t, [server], { authenticate: async () => namedCaller('me') })
        await proxy.start()
        assert.equal(starts(), 1)
        const made = client === 'new' ? modern(url) : await open(url)
        await made.call('seen')
        assert.equal(starts(), kind === 'stateless' ? 1 : 2)
      },
    )
  }

test('a probed child that nobody uses ends with the others', TIMEOUT, async (t) => {
  const { server, starts } = counted(t, 'error', { policy: 'onStart', idleTimeout: '50ms' })
  const { url, proxy } = await proxied(t, [server])
  await proxy.start()
  assert.equal(proxy.status().connections, 1)
  // Any session makes the gateway look for idle connections.
  await open(url, {}, { roots: {} })
  await until(() => proxy.status().connections === 0)
  assert.equal(starts(), 1)
})
