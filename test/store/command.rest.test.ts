import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConfigurationStore, openStore } from '../../src/store/index.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'
import type { Kind } from './contract.ts'
import { sound } from './files.ts'
import { KINDS } from './kinds.ts'

async function set(t: TestContext, kind: Kind) {
  const folder = temporaryFolder(t)
  const storage = await kind.make(t)
  const settings = join(folder, 'plantgw.yaml')
  // JSON is YAML.
  writeFileSync(settings, JSON.stringify({ storage }))
  const write = (file: string, text: string) => {
    const path = join(folder, file)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text)
    return path
  }
  const config = async (args: string[], input?: string) => {
    const [command = '', ...rest] = args
    const done = await run(t, ['config', command, '-s', settings, ...rest], {
      env: { SECRET_TOKEN: 's3cret' },
      ...(input !== undefined && { input }),
    })
    return { ...done, json: () => JSON.parse(done.stdout) }
  }
  const open = async (): Promise<ConfigurationStore> => {
    const store = await openStore(storage, {})
    t.after(() => store.close())
    return store
  }
  return { folder, settings, storage, write, config, open }
}

for (const kind of KINDS) {
  const { type, skip = false } = kind
  const hasHistory = type !== 'directory'

  // The commands are thin over the stores, which have tests of their own; here two of them will do.
  const isFile = type === 'directory' || type === 'lowdb'
  if (isFile)
    test(`${type}: a folder is applied, listed, changed, compared, rolled back and deleted`, {
      skip,
    }, async (t) => {
      const { write, config } = await set(t, kind)
      write('in/a.yaml', sound('a'))
      write('in/sub/b.yml', sound('b', 'first', 'shop'))
      const folder = join(write('in/note.txt', ''), '..')

      const added = await config([
        'apply',
        '-f',
        folder,
        '-m',
        'the first',
        '--author',
        'ann',
        '--format',
        'json',
      ])
      assert.equal(added.code, 0, added.stderr)
      assert.deepEqual(
        added
          .json()
          .applied.map(({ name, tenant, change }: Record<string, string>) => [name, tenant, change]),
        [
          ['a', 'default', 'added'],
          ['b', 'shop', 'added'],
        ],
      )
      const [first] = added.json().applied
      const again = await config(['apply', '-f', folder])
      assert.equal(again.code, 0)
      assert.match(again.stdout, /unchanged +a .*\nunchanged +b /)

      const list = await config(['list'])
      assert.equal(list.code, 0)
      assert.match(list.stdout, /^NAME +TENANT +VERSION/)
      assert.match(list.stdout, /\na +default .*\nb +shop /)
      if (hasHistory) assert.match(list.stdout, /ann +the first/)
      assert.deepEqual(
        (await config(['list', '--tenant', 'shop', '--format', 'json'])).json().configurations.length,
        1,
      )
      assert.equal((await config(['get', 'a'])).stdout, sound('a'))
      assert.equal((await config(['get', 'a', '--format', 'json'])).json().text, sound('a'))

      write('in/a.yaml', sound('a', 'second'))
      const diff = await config(['diff', '-f', folder])
      assert.equal(diff.code, 1)
      assert.match(
        diff.stdout,
        /^--- a \(.*\)\n\+\+\+ a \(.*a\.yaml\)\n@@ .*\n(?: .*\n)*-.*first.*\n\+.*second/,
      )
      assert.doesNotMatch(diff.stdout, /--- b/)
      const changed = await config(['apply', '-f', join(folder, 'a.yaml')])
      assert.equal(changed.code, 0, changed.stderr)
      assert.match(changed.stdout, /changed +a /)
      assert.equal((await config(['diff', '-f', folder])).code, 0)

      const wrong = await config(['apply', '-f', folder, '--expect', first.version])
      assert.equal(wrong.code, 2)
      assert.match(wrong.stderr, /--expect is for one configuration/)
      const stale = await config(['apply', '-f', '-', '--expect', first.version], sound('a', 'stale'))
      assert.equal(stale.code, 1)
      assert.ok(
        stale.stderr.includes(`based on version ${first.version}, the store holds version`),
        stale.stderr,
      )

      const history = await config(['history', 'a'])
      const rolled = await config(['rollback', 'a'])
      if (hasHistory) {
        assert.equal(history.code, 0)
        const who = `${userInfo().username}@${hostname()}`
        assert.match(history.stdout, /^VERSION.*\n2 .*\n1 .*ann +the first\n$/)
        assert.ok(history.stdout.includes(who))
        assert.match((await config(['diff', 'a'])).stdout, /^--- a \(2\)\n\+\+\+ a \(3\)\n/)
        assert.equal(rolled.code, 0, rolled.stderr)
        assert.equal((await config(['get', 'a'])).stdout, sound('a'))
        const versions = (await config(['history', 'a', '--format', 'json'])).json().versions
        assert.deepEqual([versions[0].version, versions[0].message], ['3', 'back to version 1'])
      } else
        for (const refused of [history, rolled]) {
          assert.equal(refused.code, 2)
          assert.match(refused.stderr, /keeps no history/)
        }

      const deleted = await config(['delete', 'a', 'nope'])
      assert.equal(deleted.code, 1)
      assert.match(deleted.stderr, /there is no configuration "nope"; nothing was deleted/)
      assert.equal((await config(['delete', 'a', 'b', '-m', 'gone'])).code, 0)
      assert.equal((await config(['list', '--format', 'json'])).json().configurations.length, 0)
      if (hasHistory) {
        assert.match((await config(['history', 'a'])).stdout, /\n4 .*\(deleted\) gone\n/)
        assert.equal((await config(['rollback', 'a', '--to', '2'])).code, 0)
        assert.equal((await config(['get', 'a'])).stdout, sound('a', 'second'))
      }
    })

  if (isFile)
    test(`${type}: nothing is written unless everything is sound, also beside what is there`, {
      skip,
    }, async (t) => {
      const { write, config, open } = await set(t, kind)
      const store = await open()
      assert.equal((await config(['apply', '-f', write('a.yaml', sound('a'))])).code, 0)
      const bad: [string, RegExp][] = [
        [sound('x', 'first', undefined, '/A/'), /the prefix `\/A\/`/],
        [sound('x', 'first', undefined, '/a'), /two routers have the prefix `\/a` \[duplicate-prefix\]/],
        ['name: [', /yaml-syntax/],
        [sound('x').replace('http://127.0.0.1:9/', '{{.Args.nope}'), /template-/],
        [`${sound('x')}prot: 1\n`, /unknown-key/],
        [sound('x').replace('first', '"${NOT_SET}"'), /env-unset/],
      ]
      for (const [index, [text, finding]] of bad.entries()) {
        const folder = join(write(`bad${index}/x.yaml`, text), '..')
        write(`bad${index}/good.yaml`, sound('good'))
        const { code, stderr, stdout } = await config(['apply', '-f', folder])
        assert.equal(code, 1)
        assert.match(stderr, finding)
        assert.match(stderr, /nothing was written/)
        assert.equal(stdout, '')
      }
      assert.deepEqual(
        (await store.list()).map(({ name }) => name),
        ['a'],
      )
    })

  test(`${type}: serve without paths serves what the store holds, and reloads it`, { skip }, async (t) => {
    const { settings, config, write } = await set(t, kind)
    assert.equal((await config(['apply', '-f', write('a.yaml', sound('a'))])).code, 0)
    const port = await freePort()
    const serving = plantgw(t, ['serve', '-s', settings, '--port', `${port}`, '--log-format', 'json'])
    await serving.until(/plantgw serves 1 prefix/)
    assert.match(serving.stdout(), /\/a\/mcp\n +tools: hello/)
    assert.equal((await config(['apply', '-f', write('b.yaml', sound('b'))])).code, 0)
    serving.child.kill('SIGHUP')
    await serving.until(/"added":\["b"\],"changed":\[\],"removed":\[\]/)
    assert.equal((await config(['delete', 'a'])).code, 0)
    serving.child.kill('SIGHUP')
    await serving.until(/"removed":\["a"\]/)
    serving.child.kill('SIGTERM')
    assert.equal(await serving.ended, 0)
  })
}

const LOWDB = KINDS.find(({ type }) => type === 'lowdb')!

test('a tenant sees and changes its own configurations only', async (t) => {
  const { write, config, open } = await set(t, LOWDB)
  const mine = ['--tenant', 'mine']
  await config([
    'apply',
    '-f',
    write('all/a.yaml', sound('a', 'secret words', 'yours')),
    write('m.yaml', sound('m', '', 'mine')),
  ])
  assert.doesNotMatch((await config(['list', ...mine])).stdout, /yours/)
  for (const args of [
    ['get', 'a'],
    ['history', 'a'],
    ['diff', 'a'],
    ['rollback', 'a'],
    ['delete', 'a'],
  ]) {
    const { code, stdout, stderr } = await config([...args, ...mine])
    assert.equal(code, 1, args.join(' '))
    assert.equal(stdout, '')
    assert.match(stderr, /there is no/)
  }
  const other = await config(['apply', '-f', '-', ...mine], sound('x'))
  assert.equal(other.code, 1)
  assert.match(other.stderr, /"x" says `tenant: default`, not `mine`; nothing was written/)
  const taken = await config(['apply', '-f', '-', ...mine], sound('a', 'x', 'mine', '/other'))
  assert.equal(taken.code, 1)
  assert.match(taken.stderr, /the name "a" is taken/)
  const prefix = await config(['apply', '-f', '-', ...mine], sound('n', 'x', 'mine', '/a'))
  assert.equal(prefix.code, 1)
  assert.match(prefix.stderr, /duplicate-prefix/)
  assert.doesNotMatch(prefix.stderr + prefix.stdout, /yours|secret words/)
  const json = await config(['apply', '-f', '-', '--format', 'json', ...mine], sound('n', 'x', 'mine', '/a'))
  assert.equal(json.json().findings[0].code, 'duplicate-prefix')
  assert.doesNotMatch(json.stdout, /yours|secret words|store\.json/)
  assert.deepEqual(
    (await (await open()).list()).map(({ name }) => name),
    ['a', 'm'],
  )
})

const TENANTS = ['green', 'blue'].map((name) => ({ name, prefix: `/${name}` }))

for (const kind of KINDS.filter(({ type }) => type === 'lowdb' || type === 'directory'))
  test(`${kind.type}: names are per tenant where the settings list tenants`, async (t) => {
    const { config, open, settings } = await set(t, kind)
    writeFileSync(
      settings,
      JSON.stringify({ ...JSON.parse(readFileSync(settings, 'utf8')), tenants: TENANTS }),
    )
    const green = sound('same', 'g', 'green', '/green/same')
    const blue = sound('same', 'b', 'blue', '/blue/same')
    assert.equal((await config(['apply', '-f', '-', '--tenant', 'green'], green)).code, 0)
    // Whether others have the name is not to be seen.
    for (const tenant of ['green', 'blue'])
      assert.equal((await config(['apply', '-f', '-', '--tenant', 'blue'], blue)).code, 0, tenant)
    const both = await config(['get', 'same'])
    assert.equal(both.code, 2)
    assert.match(
      both.stderr,
      /several tenants have a configuration "same": name one of blue\/same, green\/same/,
    )
    assert.equal((await config(['get', 'green/same'])).stdout, green)
    assert.equal((await config(['get', 'same', '--tenant', 'blue'])).stdout, blue)
    assert.equal((await config(['get', 'green/same', '--tenant', 'blue'])).code, 1)
    assert.equal((await config(['delete', 'green/same', '--tenant', 'blue'])).code, 1)
    assert.equal((await config(['apply', '-f', '-'], sound('same', 'own', undefined, '/same'))).code, 0)
    assert.match((await config(['get', 'same'])).stdout, /own/)
    const deleted = await config(['delete', 'same', '--tenant', 'blue'])
    assert.match(deleted.stdout, /^deleted blue\/same, version /)
    assert.deepEqual(
      (await (await open()).list()).map(({ tenant, name }) => [tenant, name]),
      [
        ['default', 'same'],
        ['green', 'same'],
      ],
    )
    if (kind.type === 'directory') return
    assert.equal((await config(['rollback', 'blue/same'])).code, 0)
    assert.equal((await config(['get', 'blue/same'])).stdout, blue)
    const history = (await config(['history', 'green/same', '--format', 'json'])).json()
    assert.deepEqual([history.name, history.tenant, history.versions.length], ['same', 'green', 1])
  })

test('without tenants in the settings a name is one configuration, whose tenant may change', async (t) => {
  const { config } = await set(t, LOWDB)
  assert.equal((await config(['apply', '-f', '-'], sound('a', '', 'one'))).code, 0)
  const moved = (await config(['apply', '-f', '-', '--format', 'json'], sound('a', '', 'two'))).json()
  assert.deepEqual(moved.applied, [{ name: 'a', tenant: 'two', change: 'changed', version: '1', was: '1' }])
  assert.match((await config(['list'])).stdout, /^NAME.*\na +two +1 [^\n]*\n$/)
  const taken = await config(['apply', '-f', '-', '--tenant', 'one'], sound('a', 'x', 'one'))
  assert.match(taken.stderr, /the name "a" is taken/)
  assert.match((await config(['history', 'one/a'])).stdout, /\(deleted\)/)
})

test('wrong use and a store that cannot be had exit 2, settings with findings 1', async (t) => {
  const folder = temporaryFolder(t)
  const settings = join(folder, 's.yaml')
  const at = async (text: string, ...args: string[]) => {
    writeFileSync(settings, text)
    return run(t, ['config', ...args, '-s', settings])
  }
  const lowdb = 'storage: {type: lowdb, file: x.json}'
  const cases: [number, RegExp, Promise<{ code: unknown; stderr: string }>][] = [
    [2, /names no store: add `storage`/, at('port: 1', 'list')],
  ]
  for (const [code, said, running] of cases) {
    const { stderr, code: found } = await running
    assert.equal(found, code, stderr)
    assert.match(stderr, said)
  }
  assert.equal((await at(lowdb, 'frobnicate')).code, 2)
  assert.equal((await at(lowdb, 'apply')).code, 2)
  const lonely = await at(lowdb, 'diff', '--from', '1')
  assert.equal(lonely.code, 2)
  assert.match(lonely.stderr, /need the name of a configuration/)
  assert.equal((await at(lowdb, 'diff', 'a', '-f', settings)).code, 2)
  assert.equal((await at(lowdb, 'diff', 'a', '--url', 'http://127.0.0.1:9')).code, 2)
  assert.equal((await at('storage: {type: x}', 'list')).code, 1)
  writeFileSync(join(folder, 'x.json'), '{}')
  const damaged = await at(lowdb, 'list')
  assert.equal(damaged.code, 2)
  assert.match(damaged.stderr, /plantgw: the store .*x\.json is damaged/)
  assert.equal(readFileSync(join(folder, 'x.json'), 'utf8'), '{}')
  const gone = await at('storage: {type: postgres, url: "postgres://me:s3cret@127.0.0.1:1/x"}', 'list')
  assert.equal(gone.code, 2)
  assert.match(
    gone.stderr,
    /^plantgw: postgres:\/\/127\.0\.0\.1:1\/x: connect ECONNREFUSED .*\n {2}hint: Start the server, or correct host and port/,
  )
  assert.doesNotMatch(gone.stderr, /s3cret/)
  assert.equal((await run(t, ['config', 'list'])).code, 2)
  const serve = await run(t, ['serve'])
  assert.equal(serve.code, 2)
  assert.match(serve.stderr, /give configuration files or folders, or settings with a `storage`; or write/)
})

test('a credential says whose configurations a command sees', async (t) => {
  const folder = temporaryFolder(t)
  const settings = join(folder, 'plantgw.yaml')
  const tenants = ['green', 'blue'].map((name) => ({
    name,
    prefix: `/${name}`,
    tokens: [{ token: `token-of-${name}`, caller: name }],
  }))
  const admin = { token: 'the-token-of-the-admin' }
  writeFileSync(settings, JSON.stringify({ storage: { type: 'lowdb', file: 'store.json' }, tenants, admin }))
  for (const { name } of tenants)
    writeFileSync(
      join(folder, `${name}.yaml`),
      `name: ${name}\ntenant: ${name}\nrouters: [{server: s, prefix: /${name}/s}]\nservers: [{name: s}]\n`,
    )
  const config = (token: string, ...[command, ...args]: string[]) =>
    run(t, ['config', command!, '-s', settings, ...args], { env: { PLANTGW_TOKEN: token } })
  const names = async (token: string, ...args: string[]) =>
    JSON.parse((await config(token, 'list', '--format', 'json', ...args)).stdout).configurations.map(
      (one: { name: string }) => one.name,
    )

  const files = tenants.map(({ name }) => join(folder, `${name}.yaml`))
  assert.equal((await config(admin.token, 'apply', '-f', ...files)).code, 0)
  assert.deepEqual(await names(admin.token), ['blue', 'green'])
  assert.deepEqual(await names(admin.token, '--tenant', 'blue'), ['blue'])
  assert.deepEqual(await names('token-of-green'), ['green'])
  assert.equal((await config('token-of-green', 'get', 'blue')).code, 1)
  assert.match((await config('token-of-green', 'delete', 'blue')).stderr, /there is no configuration "blue"/)
  const other = await config('token-of-green', 'list', '--tenant', 'blue')
  assert.equal(other.code, 2)
  assert.match(other.stderr, /one of the tenant green, which cannot see those of blue/)
  const typo = await config(admin.token, 'list', '--tenant', 'gren')
  assert.equal(typo.code, 2)
  assert.match(typo.stderr, /the settings have no tenant gren: did you mean green\?/)
  const unknown = await config('token-of-nobody', 'list')
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /PLANTGW_TOKEN is neither/)
  assert.doesNotMatch(unknown.stderr, /token-of-nobody/)
})
