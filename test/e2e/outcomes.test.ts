import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { serveFiles } from '../support/served.ts'
import { ACCEPT, type Loose } from '../support/wire.ts'
import { open } from '../upstream/harness.ts'

const TOKEN = 'token-of-ann-0123456789'

test('the log names who calls and who was refused, and never a credential', async (t) => {
  const auth = { type: 'bearer', tokens: [{ token: TOKEN, caller: 'ann' }] }
  const tools = await toolsFile(t, { auth })
  const anyone = (await toolsFile(t)).replaceAll('tools\n', 'open\n').replace('/tools', '/open')
  const settings = { admin: { token: 'admin-token-0123456789' }, plants: {} }
  const args = ['--log-level', 'debug']
  const gateway = await serveFiles(t, { files: { tools, open: anyone }, settings, args })
  const url = gateway.origin
  const lines = (message: string): Loose[] =>
    gateway
      .stderr()
      .split('\n')
      .filter((line) => line.includes(`"${message}"`))
      .map((line) => JSON.parse(line))

  await (await open(`${url}/tools/mcp`, { authorization: `Bearer ${TOKEN}` })).call('echo', { text: 'x' })
  await (await open(`${url}/open/mcp`, { authorization: 'Bearer of-nobody' })).call('echo', { text: 'x' })
  await gateway.until(/"prefix":"\/open".*"tool call"/)
  const [known, unknown] = lines('tool call')
  assert.deepEqual([known.caller, known.address], ['ann', undefined])
  assert.deepEqual([unknown.caller, unknown.address], [undefined, '127.0.0.1'])

  const ask = (path: string, token?: string) =>
    fetch(url + path, {
      headers: { accept: ACCEPT, ...(token && { authorization: `Bearer ${token}` }) },
    }).then(({ status }) => assert.equal(status, 401))
  for (let i = 0; i < 5; i++) await ask('/tools/mcp', `wrong-token-${i}`)
  await ask('/tools/mcp')
  await ask('/_status', 'wrong-token-5')
  await ask('/plants', 'wrong-token-6')
  await gateway.until(/"prefix":"\/plants".*credentials refused/)
  const refused = lines('credentials refused').map(({ level, prefix, reason, address }) =>
    [level, prefix, reason, address].join(' '),
  )
  assert.deepEqual(refused, [
    'warn /tools unknown 127.0.0.1',
    'info /tools missing 127.0.0.1',
    'warn /_status unknown 127.0.0.1',
    'warn /plants unknown 127.0.0.1',
  ])
  const metrics = await (
    await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer admin-token-0123456789' } })
  ).text()
  for (const line of [
    'prefix="/tools",reason="unknown"} 5',
    'prefix="/tools",reason="missing"} 1',
    'prefix="/_status",reason="unknown"} 1',
    'prefix="/plants",reason="unknown"} 1',
  ])
    assert.ok(metrics.includes(`plantgw_refused_credentials_total{${line}\n`), line)
  assert.doesNotMatch(gateway.stderr(), /token-of-ann|of-nobody|wrong-token/)
})
