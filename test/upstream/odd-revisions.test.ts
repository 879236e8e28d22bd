import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { open, proxied } from './harness.ts'

const ECHO = fileURLToPath(new URL('../fixtures/odd-revision.ts', import.meta.url))
const echo = (revision = '') => ({
  type: 'stdio',
  command: process.execPath,
  args: ['--import=tsx', ECHO, revision],
})
const TIMEOUT = { timeout: 60_000 }

for (const list of [false, true]) {
  test(
    `a server is asked for a revision of the gateway only${list ? ', in a list' : ''}`,
    TIMEOUT,
    async (t) => {
      // This one agrees to any revision, as many do.
      const { url } = await proxied(t, [echo()], { list })
      for (const asked of ['2024-10-07', '2026-07-28', '2030-01-01', '']) {
        const { result } = (await open(url, {}, {}, asked)).initialized
        assert.equal(result.protocolVersion, '2025-11-25', asked)
      }
      for (const asked of ['2025-06-18', '2024-11-05'])
        assert.equal((await open(url, {}, {}, asked)).initialized.result.protocolVersion, asked)
    },
  )

  for (const revision of ['2024-10-07', 'none', '7'])
    test(
      `a client can use a server of revision ${revision}${list ? ' in a list' : ''}`,
      TIMEOUT,
      async (t) => {
        const { url } = await proxied(t, [echo(revision)], { list })
        const first = await open(url)
        const { protocolVersion } = first.initialized.result
        assert.equal(protocolVersion, '2024-11-05')
        // Clients send the revision with every request.
        Object.assign(first.headers, { 'mcp-protocol-version': protocolVersion })
        assert.equal(await first.call(list ? 's1__a' : 'a'), 'hello')
      },
    )
}
