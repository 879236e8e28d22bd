import assert from 'node:assert/strict'
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConfigurationStore, openStore, StoreError } from '../../src/store/index.ts'
import { acquireLock } from '../../src/store/lock.ts'
import { temporaryFolder } from '../support/process.ts'
import { applied, put, yaml } from './contract.ts'

const BY = { author: 'ann' }

async function lowdb(t: TestContext, content?: string | Buffer) {
  const file = join(temporaryFolder(t), 'store.json')
  if (content !== undefined) await writeFile(file, content)
  return { file, store: await openStore({ type: 'lowdb', file }, {}) }
}

async function folder(t: TestContext, files: Record<string, string> = {}, env = {}) {
  const path = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(path, name, '..'), { recursive: true })
    await writeFile(join(path, name), text)
  }
  return { path, store: await openStore({ type: 'directory', path }, env) }
}

const names = async (store: ConfigurationStore) => (await store.list()).map(({ name }) => name)

const version = (members: string) =>
  `{"format":"plantgw configurations","version":1,"versions":[{"name":"a","tenant":"t","version":"1","updatedAt":"x","author":"x"${members}}]}`
const OUT_OF_TURN = version(',"text":""').replace(
  /\[(.*)\]/,
  (_, one) => `[${one},${one.replace('"1"', '"3"')}]`,
)
const DAMAGED: [string, string | Buffer, RegExp][] = [
  ['an empty file', '', /not JSON/],
  ['half a file', '{"format":"plantgw configurations","version":1,"ver', /not JSON/],
  ['zeros after a power cut', Buffer.alloc(64), /not JSON/],
  ['no UTF-8', Buffer.from([0x22, 0xff]), /not UTF-8/],
  [
    'another JSON file',
    '{"version":1,"plants":[]}',
    /no store of configurations|not a store of configurations/,
  ],
  ['a newer version', '{"format":"plantgw configurations","version":3}', /`version` is neither 1 nor 2/],
  ['no versions', '{"format":"plantgw configurations","version":1}', /`versions` is not an array/],
  ['no text', version(''), /versions\[0\]\.text/],
  ['a number for a message', version(',"text":"","message":1'), /versions\[0\]\.message/],
  ['an unknown key', version(',"text":"","x":1'), /unknown key "x"/],
  ['a version that is none', version(',"text":""').replace('"1"', '"0"'), /does not have the version after/],
  ['a version out of turn', OUT_OF_TURN, /versions\[1\] does not have the version after the previous one/],
]

for (const [what, content, reason] of DAMAGED)
  test(`lowdb: a damaged file is refused with its path and left alone: ${what}`, async (t) => {
    const { file, store } = await lowdb(t, content)
    for (const ask of [() => store.list(), () => store.apply([put('a')], BY)])
      await assert.rejects(ask, (error: Error) => {
        assert.ok(error instanceof StoreError && error.kind === 'damaged', error.message)
        assert.ok(error.message.includes(file))
        assert.match(error.message, reason)
        return true
      })
    assert.deepEqual(await readFile(file), Buffer.from(content))
  })

test('lowdb: the file is private, and nothing else is left beside it', async (t) => {
  const { file, store } = await lowdb(t)
  await applied(store, [put('a')])
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.deepEqual(await readdir(join(file, '..')), ['store.json'])
})

test('lowdb: readers work while another process holds the lock; a copy that is put in place is seen', async (t) => {
  const { file, store } = await lowdb(t)
  await applied(store, [put('a')])
  await writeFile(`${file}.copy`, await readFile(file))
  const before = await store.revision()
  const lock = await acquireLock(`${file}.lock`)
  assert.ok('release' in lock)
  assert.deepEqual(await names(store), ['a'])
  const applying = applied(store, [put('b')])
  await lock.release()
  await applying
  assert.deepEqual(await names(store), ['a', 'b'])
  await rename(`${file}.copy`, file)
  assert.deepEqual(await names(store), ['a'])
  assert.notEqual(await store.revision(), before)
})

test('lowdb: a file that is gone has not lost its configurations', async (t) => {
  const { file, store } = await lowdb(t)
  assert.deepEqual(await names(store), [])
  await applied(store, [put('a')])
  assert.deepEqual(await names(store), ['a'])
  await rename(file, `${file}.away`)
  await assert.rejects(store.readAll(), /store\.json no longer exists: restore the file/)
  await assert.rejects(store.revision(), StoreError)
  await rename(`${file}.away`, file)
  assert.deepEqual(await names(store), ['a'])
})

test('lowdb: a write that fails changes nothing, and the next one works', async (t) => {
  const { file, store } = await lowdb(t)
  await applied(store, [put('a')])
  // A folder in the place of the temporary file stops root too, unlike permissions.
  await mkdir(`${file}.tmp/in the way`, { recursive: true })
  await assert.rejects(store.apply([put('b')], BY), (error: Error) => {
    return error instanceof StoreError && error.kind === 'failed' && error.message.includes(file)
  })
  assert.deepEqual(await names(store), ['a'])
  await rm(`${file}.tmp`, { recursive: true })
  await applied(store, [put('b')])
  assert.deepEqual(await names(store), ['a', 'b'])
})

test('directory: a file of a tenant is read with what the tenant may read, and no file for it', async (t) => {
  const path = temporaryFolder(t)
  await writeFile(join(path, 'secret'), 'of-the-operator')
  await writeFile(
    join(path, 'green.yaml'),
    `name: "x-\${file:${join(path, 'secret')}:none}-\${ADMIN:unset}-\${GREEN_A}"\ntenant: green\n`,
  )
  const rights = { tokens: [], stdio: false, commands: [], notifier: false, env: ['GREEN_*'] }
  const env = { ADMIN: 'admin-secret', GREEN_A: 'a' }
  const store = await openStore({ type: 'directory', path }, env, [
    { name: 'green', prefix: '/green', ...rights },
  ])
  for (const name of await names(store)) assert.doesNotMatch(name, /of-the-operator|admin-secret/)
  const open = await openStore({ type: 'directory', path }, env)
  assert.match((await names(open)).join(), /admin-secret/)
})

test('directory: a configuration is changed in the file that it is in, with its mode and links', async (t) => {
  const { path, store } = await folder(t, {
    'team/shop.yml': yaml('a'),
    'real.txt': yaml('linked'),
    'other.yaml': yaml('other'),
  })
  await chmod(join(path, 'team/shop.yml'), 0o640)
  await symlink('real.txt', join(path, 'link.yaml'))
  const versions = Object.fromEntries((await store.list()).map((one) => [one.name, one.version]))
  const changes = [put('a', 'new', versions.a), put('linked', 'new', versions.linked), put('fresh one')]
  await applied(store, [
    ...changes,
    { name: 'other', tenant: 'default', version: versions.other!, deleted: true },
  ])
  assert.equal(await readFile(join(path, 'team/shop.yml'), 'utf8'), yaml('a', 'new'))
  assert.equal((await stat(join(path, 'team/shop.yml'))).mode & 0o777, 0o640)
  assert.equal(await readFile(join(path, 'real.txt'), 'utf8'), yaml('linked', 'new'))
  assert.deepEqual((await readdir(path)).sort(), ['fresh%20one.yaml', 'link.yaml', 'real.txt', 'team'])
})

test('directory: a file of the same name that holds something else is not overwritten', async (t) => {
  const { path, store } = await folder(t, { 'a.yaml': 'name: [', 'b.yaml': yaml('c') })
  await assert.rejects(store.apply([put('a')], BY), /a\.yaml exists with another configuration/)
  await assert.rejects(store.apply([put('b')], BY), /b\.yaml exists with another configuration/)
  assert.equal(await readFile(join(path, 'a.yaml'), 'utf8'), 'name: [')
  const { findings } = await store.readAll()
  assert.deepEqual(
    findings
      .map(({ file, severity }) => [file, severity])
      .filter(([file]) => String(file).endsWith('a.yaml')),
    [[join(path, 'a.yaml'), 'error']],
  )
})

test('directory: any name has a file that can be written and is read again', async (t) => {
  const { path, store } = await folder(t, { 'a.yaml': yaml('a') })
  const long = [`${'植物'.repeat(40)}1`, `${'植物'.repeat(40)}2`, 'x'.repeat(300)]
  await applied(
    store,
    [...long, 'plantgw.lint'].map((name) => put(name)),
  )
  assert.deepEqual(await names(store), ['a', 'plantgw.lint', 'x'.repeat(300), ...long.slice(0, 2)])
  assert.equal((await readdir(path)).length, 5)
})

test('directory: changes that are made in part are said to be done later', async (t) => {
  const { path, store } = await folder(t, { 'a.yaml': yaml('a'), 'z.yaml': yaml('z') })
  const [a, z] = await store.list()
  const read = await store.readAll()
  assert.equal(read.configurations.length, 2)
  // Where the new text is written first.
  await mkdir(join(path, '.plantgw.tmp/x'), { recursive: true })
  const changes = [put('a', 'new', a!.version), put('z', 'new', z!.version)]
  await assert.rejects(
    store.apply(changes, BY),
    /recorded in .*\.plantgw\.journal; the next command completes them/,
  )
  await rm(join(path, '.plantgw.tmp'), { recursive: true })
  assert.deepEqual(
    (await store.readAll()).configurations.map(({ text }) => text),
    [yaml('a', 'new'), yaml('z', 'new')],
  )
})

test('directory: a name may be a variable', async (t) => {
  const { store } = await folder(t, { 'a.yaml': 'name: ${SERVICE}\n' }, { SERVICE: 'shop' })
  assert.deepEqual(await names(store), ['shop'])
})

test('directory: what a killed process wrote down is done by the next one that looks', async (t) => {
  const { path, store } = await folder(t, { 'a.yaml': yaml('a', 'old'), 'b.yaml': yaml('b', 'old') })
  const changes = [
    { file: 'a.yaml', text: yaml('a', 'new') },
    { file: 'b.yaml', text: null },
    { file: 'c.yaml', text: yaml('c', 'new') },
  ]
  await writeFile(join(path, '.plantgw.journal'), JSON.stringify(changes))
  const { configurations } = await store.readAll()
  assert.deepEqual(
    configurations.map(({ text }) => text),
    [yaml('a', 'new'), yaml('c', 'new')],
  )
  assert.deepEqual((await readdir(path)).sort(), ['a.yaml', 'c.yaml'])
})

test('directory: a damaged journal is told of and left alone', async (t) => {
  const { path, store } = await folder(t, { 'a.yaml': yaml('a') })
  await writeFile(join(path, '.plantgw.journal'), '[{"file":')
  await assert.rejects(store.list(), (error: Error) => {
    return (
      error instanceof StoreError &&
      error.kind === 'damaged' &&
      /\.plantgw\.journal is damaged/.test(error.message)
    )
  })
})

test('directory: a journal that somebody else wrote, or that leads outside, is not carried out', async (t) => {
  const { path, store } = await folder(t, { 'in/a.yaml': yaml('a') })
  const journal = join(path, '.plantgw.journal')
  const evil = (file: string) => JSON.stringify([{ file, text: 'evil' }])
  const outside = join(path, '..', `plantgw-evil-${process.pid}`)
  for (const file of [`../plantgw-evil-${process.pid}`, `in/../../plantgw-evil-${process.pid}`, outside]) {
    await writeFile(journal, evil(file))
    await assert.rejects(store.list(), /\.plantgw\.journal is damaged: remove it/)
    await assert.rejects(stat(outside))
  }
  await rm(journal)
  await writeFile(join(path, 'planted'), evil('in/a.yaml'))
  await symlink('planted', journal)
  await assert.rejects(store.list(), /\.plantgw\.journal is damaged: remove it/)
  await rm(journal)
  if (process.geteuid?.() === 0) {
    await writeFile(journal, evil('in/a.yaml'))
    await chown(journal, 65_534, 65_534)
    await assert.rejects(store.list(), /\.plantgw\.journal is damaged: remove it/)
    await rm(journal)
  }
  assert.deepEqual(await names(store), ['a'])
})
