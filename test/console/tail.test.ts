import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const ADMIN = 'an-admin-token-of-30-characters'

test('serve prints a link to the console, and tail prints calls as they end', {
  timeout: 60_000,
}, async (t) => {
  const cwd = temporaryFolder(t)
  const port = await freePort()
  writeFileSync(join(cwd, 'plantgw.yaml'), JSON.stringify({ port, admin: { token: ADMIN } }))
  writeFileSync(
    join(cwd, 'a.yaml'),
    JSON.stringify({
      name: 'a',
      routers: [{ server: 'a', prefix: '/a' }],
      servers: [{ name: 'a' }],
      tools: [{ name: 'get_a', description: 'Gets', endpoint: 'http://127.0.0.1:9/' }],
    }),
  )
  const gateway = plantgw(t, ['serve', 'a.yaml', '--settings', 'plantgw.yaml'], { cwd })
  await gateway.until(/_console\?code=[\w-]{32}/)
  const [link = ''] = /http:\S+_console\?code=\S+/.exec(gateway.stdout()) ?? []
  const opened = await fetch(link, { redirect: 'manual' })
  assert.equal(opened.status, 303)
  const tail = plantgw(t, ['tail', '--settings', 'plantgw.yaml'], { cwd })
  await tail.until(/^following the calls/m)
  const json = plantgw(t, ['tail', '--json', '--settings', 'plantgw.yaml'], { cwd })
  await json.until(/^following the calls/m)
  await run(t, ['call', '/a', 'get_a', '--settings', 'plantgw.yaml'], { cwd })
  await tail.until(/^\d\d:\d\d:\d\d \/a get_a \w+.* \d+ ms 127\.0\.0\.1$/m)
  await json.until(/^\{.*\}$/m)
  const { id, at, ms, ...call } = JSON.parse(json.stdout())
  assert.equal(id, '1')
  assert.ok(Date.parse(at) > 0 && ms > 0)
  assert.deepEqual(call, {
    tenant: 'default',
    prefix: '/a',
    method: 'tools/call',
    name: 'get_a',
    caller: '127.0.0.1',
    revision: '2026-07-28',
    outcome: 'failed',
    failure: 'connect',
    savedTokens: 0,
  })
  // A name is a client's text.
  await run(t, ['call', '/a', 'x\u001b[31m\u202e', '--settings', 'plantgw.yaml'], { cwd })
  await tail.until(/ x\ufffd\[31m\ufffd /)
  const refused = await run(t, ['tail', '--url', `http://127.0.0.1:${port}`], { cwd: temporaryFolder(t) })
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /requires the admin token/)
  const nowhere = await run(t, ['tail', '--url', `unix:${cwd}/none`], { cwd })
  assert.deepEqual(
    [nowhere.code, nowhere.stderr],
    [2, `plantgw: unix:${cwd}/none: the socket does not exist\n`],
  )
})
