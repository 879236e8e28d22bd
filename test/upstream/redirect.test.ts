import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { startEverything } from '../fixtures/everything/start.ts'
import { listening } from '../support/listening.ts'
import { modern, open, proxied } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }

/** A server at whose origin `/mcp/` is the given one, and any other path is redirected as `to` says. */
async function redirecting(t: TestContext, target: string, status: number, to: (url: string) => string) {
  const seen: string[] = []
  const server = createServer((incoming: IncomingMessage, response) => {
    const { method, url = '', headers } = incoming
    seen.push(`${method} ${url}`)
    if (url !== '/mcp/') {
      response.writeHead(status, { location: to(url) }).end()
      return
    }
    const passed = request(
      target,
      { method, headers: { ...headers, host: new URL(target).host } },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      },
    )
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  const port = await listening(t, server)
  return { url: `http://127.0.0.1:${port}/mcp`, seen }
}

for (const era of ['session', 'modern'] as const)
  for (const status of [307, 308])
    test(`a ${era} server that redirects to its own origin is followed: ${status}`, TIMEOUT, async (t) => {
      const target = await startEverything(t, 'http', era)
      const { url: from, seen } = await redirecting(t, target, status, (path) => `${path}/`)
      const { url } = await proxied(t, [{ type: 'streamable-http', url: from }])
      for (const client of [await open(url), modern(url)])
        assert.match(await client.call('test_simple_text'), /simple text/)
      assert.ok(seen.includes('POST /mcp') && seen.includes('POST /mcp/'))
    })

test('a redirect to another origin, without end or without a place is not followed', TIMEOUT, async (t) => {
  const target = await startEverything(t, 'http', 'session')
  const elsewhere = await redirecting(t, target, 307, () => '/mcp/')
  for (const [to, most] of [
    [() => elsewhere.url, 1],
    [(path: string) => `${path}x`, 4],
    [() => 'http://', 1],
  ] as const) {
    const { url: from, seen } = await redirecting(t, target, 307, to)
    const { url } = await proxied(t, [{ type: 'streamable-http', url: from }])
    const { initialized } = await open(url)
    assert.equal(initialized.error.message, 'The server s1 answered with a redirect (307)')
    // A probe may come before the handshake.
    assert.ok(seen.length <= most * 2, seen.join())
  }
  assert.deepEqual(elsewhere.seen, [])
})
