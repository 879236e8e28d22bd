import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, run, temporaryFolder } from '../support/process.ts'
import { noRedis, redisServer } from '../support/redis.ts'
import { mysqlUrl, ownDatabase, postgresUrl, skipUnless, statement } from '../support/services.ts'

const sound = `name: a
routers: [{server: s, prefix: /a}]
servers: [{name: s, description: A test}]
tools: [{name: b, description: A tool, method: GET, endpoint: "http://localhost:9/"}]
`

/** `code place: message` of each finding of `validate` with these settings. */
async function told(t: Parameters<typeof temporaryFolder>[0], settings: object, args: string[], more = '') {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'a.yaml'), sound + more)
  writeFileSync(join(cwd, 'plantgw.yml'), JSON.stringify(settings, null, 1))
  const done = await run(t, ['validate', 'a.yaml', '-s', 'plantgw.yml', '--format', 'json', ...args], { cwd })
  const findings = JSON.parse(done.stdout).findings as {
    code: string
    file: string
    message: string
    hint?: string
    range?: { start: { line: number } }
  }[]
  return {
    ...done,
    hints: findings.map(({ hint }) => hint ?? ''),
    lines: findings.map(
      ({ code, file, range, message }) => `${code} ${file}:${range?.start.line}: ${message}`,
    ),
  }
}

const CHECKS = ['--only', 'connections,pid']

for (const [name, url, wrong] of [
  ['postgres', postgresUrl(), /database ".*" does not exist|no_such/],
  ['mysql', mysqlUrl(), /Unknown database|no_such/],
] as const)
  test(`${name}: a database that lets nobody in is found, one that does is left as it is`, {
    skip: await skipUnless(url),
  }, async (t) => {
    const own = await ownDatabase(t, url)
    const good = await told(t, { storage: { type: name, url: own } }, CHECKS)
    assert.deepEqual([good.lines, good.code], [[], 0])
    // No table was made.
    await statement(own, `create table plantgw_configuration (a int)`)

    const absent = new URL(own)
    absent.pathname = '/no_such_database'
    const plants = { storage: { type: name, url: absent.href }, tokens: [] }
    const missing = await told(t, { plants }, CHECKS)
    assert.match(missing.lines.join(), /^database-unreachable plantgw\.yml:5: /)
    assert.match(missing.lines.join(), wrong)
    assert.match(missing.hints.join(), /^Create the database/)
    assert.equal(missing.code, 1)

    const closed = new URL(own)
    closed.port = String(await freePort())
    closed.username = 'user'
    closed.password = 's3cret'
    const refused = await told(t, { storage: { type: name, url: closed.href } }, [
      '--all',
      '--skip',
      'endpoints',
    ])
    assert.match(refused.lines.join('\n'), /^database-unreachable plantgw\.yml:4: .*ECONNREFUSED/m)
    assert.match(refused.hints.join('\n'), /^Start the server, or correct host and port/m)
    assert.doesNotMatch(refused.lines.join('\n'), /s3cret/)
    // Without being asked nothing is connected to.
    assert.doesNotMatch(
      (await told(t, { storage: { type: name, url: closed.href } }, [])).stdout,
      /unreachable/,
    )
  })

test('a broker that lets nobody in is found, of settings and of configurations', {
  skip: noRedis,
}, async (t) => {
  const server = await redisServer(t, ['--requirepass', 's3cret'])
  const notifier = (more: object) => ({
    notifier: { type: 'redis', redis: { addr: server.addr, topic: 'x', ...more } },
  })
  assert.deepEqual((await told(t, notifier({ password: 's3cret' }), CHECKS)).lines, [])
  const wrong = await told(t, notifier({ password: 'another' }), CHECKS)
  assert.match(wrong.hints.join(), /^Check user, password/)
  assert.match(
    wrong.lines.join(),
    /^broker-unreachable plantgw\.yml:5: redis:\/\/127\.0\.0\.1:\d+: WRONGPASS/,
  )
  const nobody = `notifier: {type: redis, redis: {addr: "127.0.0.1:${await freePort()}", topic: x}}\n`
  const both = await told(t, notifier({}), CHECKS, nobody)
  assert.equal(both.lines.length, 2)
  assert.match(both.lines[0]!, /^broker-unreachable a\.yaml:5: .*ECONNREFUSED/)
  assert.match(both.lines[1]!, /NOAUTH/)
  assert.match((await run(t, ['explain', 'broker-unreachable'])).stdout, /A broker that cannot be used/)
})

test('a file of configurations that is damaged is found, and one that is not there yet is not made', async (t) => {
  const folder = temporaryFolder(t)
  const of = (file: string) => told(t, { storage: { type: 'lowdb', file: join(folder, file) } }, CHECKS)
  writeFileSync(join(folder, 'damaged.json'), '{"x"')
  const damaged = await of('damaged.json')
  assert.match(
    damaged.lines.join(),
    /^database-unreachable plantgw\.yml:4: .*is damaged or another kind of file/,
  )
  assert.equal(damaged.code, 1)
  assert.deepEqual((await of('new/store.json')).lines, [])
  assert.deepEqual(readdirSync(folder), ['damaged.json'])
})

test('a pid file that cannot be written is found', async (t) => {
  const pids = {
    folder: 'taken',
    below: 'plantgw.yml/plantgw.pid',
    absent: 'run/new/plantgw.pid',
    fine: 'plantgw.pid',
    other: 'letter.txt',
  }
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'taken'))
  const of = (pid: string) => told(t, { pid: join(cwd, pid) }, CHECKS)
  writeFileSync(join(cwd, 'plantgw.yml'), '')
  assert.match((await of(pids.folder)).hints.join(), /^Choose another path/)
  writeFileSync(join(cwd, pids.other), 'Dear all, '.repeat(10))
  assert.match((await of(pids.folder)).lines.join(), /^pid-not-writable plantgw\.yml:2: .* it is a folder$/)
  assert.match((await of(pids.below)).lines.join(), /^pid-not-writable .*plantgw\.yml is not a folder$/)
  assert.match((await of(pids.other)).lines.join(), /^pid-not-writable .* the file does not hold a /)
  assert.match((await of(pids.absent)).lines.join(), /^pid-not-writable .*run\/new does not exist$/)
  assert.deepEqual((await of(pids.fine)).lines, [])
})
