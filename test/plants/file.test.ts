import assert from 'node:assert/strict'
import { mkdir, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { openPlants } from '../../src/plants/index.ts'
import { openFile } from '../../src/plants/store-file.ts'
import { targetOf } from '../../src/store/lock.ts'
import { StoreError, writeError } from '../../src/store/store-error.ts'
import { call, folder, TOKENS } from './helpers.ts'

const ann = { basePath: '/', tokens: TOKENS }
const lowdb = (file: string) => ({ type: 'lowdb', file }) as const

test('folders are made, the file is private, and nothing else is left beside it', async (t) => {
  const home = await folder(t)
  const file = join(home, 'a/b/plants.json')
  const { app, close } = await openPlants({ ...ann, storage: lowdb(file) })
  assert.deepEqual(await readdir(join(home, 'a/b')), ['plants.json.lock'])
  await call(app, '/plants', { body: '{"id":-9223372036854775808,"name":"Fern"}' })
  await close()
  assert.deepEqual(await readdir(join(home, 'a/b')), ['plants.json'])
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const { version, plants } = JSON.parse(await readFile(file, 'utf8'))
  const [{ place }] = plants
  assert.ok(Number.isSafeInteger(place))
  assert.deepEqual(
    { version, plants },
    { version: 1, plants: [{ id: '-9223372036854775808', owner: 'ann', place, name: 'Fern' }] },
  )
})

test('a temporary file that a crash left is removed at opening', async (t) => {
  const home = await folder(t)
  const file = join(home, 'plants.json')
  await writeFile(`${file}.tmp`, '{"version":1,"pla')
  const { close } = await openPlants({ ...ann, storage: lowdb(file) })
  await close()
  assert.deepEqual(await readdir(home), [])
})

test('a symbolic link stays one, and locks what it points to', async (t) => {
  const home = await folder(t)
  await writeFile(join(home, 'real.json'), '{"version":1,"plants":[]}')
  await symlink('real.json', join(home, 'link.json'))
  const { app, close } = await openPlants({ ...ann, storage: lowdb(join(home, 'link.json')) })
  t.after(close)
  await assert.rejects(openPlants({ ...ann, storage: lowdb(join(home, 'real.json')) }), /in use by process/)
  assert.equal((await call(app, '/plants', { body: '{"id":1,"name":"Fern"}' })).status, 200)
  assert.match(await readFile(join(home, 'real.json'), 'utf8'), /Fern/)
})

const plant = (members: string) => `{"version":1,"plants":[{"id":"1","owner":"a","name":"x"},{${members}}]}`
const DAMAGED: [string, string | Buffer, RegExp][] = [
  ['an empty file', '', /not JSON/],
  ['half a file', '{"version":1,"plants":[\n{"id":"1","owner":"a",', /not JSON/],
  ['zeros after a power cut', Buffer.alloc(512), /not JSON/],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), /not UTF-8/],
  ['another JSON file', '{"name":"plantgw"}', /`version` is not 1/],
  ['an array', '[]', /does not hold an object/],
  ['a newer version', '{"version":2,"plants":[]}', /`version` is not 1/],
  ['no plants', '{"version":1}', /`plants` is not an array/],
  ['a key of someone else', '{"version":1,"plants":[],"x":1}', /unknown key "x"/],
  ['a plant that is none', '{"version":1,"plants":[null]}', /plants\[0\] is not an object/],
  ['an id that is a number', plant('"id":2,"owner":"a","name":"x"'), /plants\[1\]\.id is not an int64/],
  ['an id beyond int64', plant('"id":"9223372036854775808","owner":"a","name":"x"'), /plants\[1\]\.id/],
  ['an id twice', plant('"id":"1","owner":"b","name":"y"'), /plants\[1\] has the id 1 of an earlier plant/],
  ['no owner', plant('"id":"2","name":"x"'), /plants\[1\]\.owner is not a string/],
  ['no name', plant('"id":"2","owner":"a"'), /plants\[1\]\.name is not a string/],
  ['a tag that is null', plant('"id":"2","owner":"a","name":"x","tag":null'), /plants\[1\]\.tag/],
  ['an unknown key of a plant', plant('"id":"2","owner":"a","name":"x","size":1'), /unknown key "size"/],
]

for (const [what, content, reason] of DAMAGED)
  test(`a damaged file is refused with its path and left alone: ${what}`, async (t) => {
    const home = await folder(t)
    const file = join(home, 'plants.json')
    await writeFile(file, content)
    await assert.rejects(openPlants({ ...ann, storage: lowdb(file) }), (error) => {
      assert.ok(error instanceof StoreError)
      assert.ok(error.message.includes(file))
      assert.match(error.message, reason)
      assert.match(error.message, /move it away/)
      return true
    })
    assert.deepEqual(await readFile(file), Buffer.from(content))
    assert.deepEqual(await readdir(home), ['plants.json'], 'the lock is let go')
  })

test('a path that cannot be a file is refused with its name', async (t) => {
  const home = await folder(t)
  await writeFile(join(home, 'file'), '')
  await assert.rejects(
    openPlants({ ...ann, storage: lowdb(join(home, 'file/plants.json')) }),
    /file\/plants\.json/,
  )
  await mkdir(join(home, 'dir'))
  await assert.rejects(openPlants({ ...ann, storage: lowdb(join(home, 'dir')) }), (error: Error) => {
    return error instanceof StoreError && error.message.includes(join(home, 'dir'))
  })
})

test('a write that fails is answered 500 and logged, is not listed, and the next one works', async (t) => {
  const home = await folder(t)
  const file = join(home, 'plants.json')
  const lines: unknown[] = []
  const { app, close } = await openPlants(
    { ...ann, storage: lowdb(file) },
    { error: (...line: unknown[]) => lines.push(line), info: (...line: unknown[]) => lines.push(line) },
  )
  t.after(close)
  await call(app, '/plants', { body: '{"id":1,"name":"kept"}' })
  // A folder in the place of the temporary file stops root too, unlike permissions.
  await mkdir(`${file}.tmp/in the way`, { recursive: true })
  const failed = await call(app, '/plants', { body: '{"id":2,"name":"lost"}' })
  assert.equal(failed.status, 500)
  const { error, message } = (await failed.json()) as { error: number; message: string }
  assert.equal(error, 500)
  assert.ok(!message.includes(home), 'a client learns no path')
  assert.match(JSON.stringify(lines), /plant store unavailable/)
  assert.ok(JSON.stringify(lines).includes(file))
  assert.equal((await call(app, '/plants/1', { method: 'DELETE' })).status, 500)
  assert.deepEqual(await (await call(app, '/plants')).json(), [{ name: 'kept' }])
  assert.ok(!(await readFile(file, 'utf8')).includes('lost'))
  await rm(`${file}.tmp`, { recursive: true })
  assert.equal((await call(app, '/plants', { body: '{"id":2,"name":"new"}' })).status, 200)
  assert.match(await readFile(file, 'utf8'), /kept.*new/s)
})

test('a store whose lock was taken over writes no more', async (t) => {
  const home = await folder(t)
  const path = join(home, 'plants.json')
  const { adapter, close } = await openFile(path)
  t.after(close)
  await rm(`${path}.lock`)
  await symlink(targetOf({ id: 'x'.repeat(16), pid: 1, start: '', realm: 'e'.repeat(16) }), `${path}.lock`)
  await assert.rejects(adapter.write(new Map()), /another process took over/)
  assert.deepEqual(await readdir(home), ['plants.json.lock'])
})

test('a file is fsynced before it gets its name, and the folder after', async (t) => {
  const path = join(await folder(t), 'plants.json')
  const { adapter, close } = await openFile(path)
  t.after(close)
  const handle = await open(dirname(path))
  const prototype = Object.getPrototypeOf(handle)
  await handle.close()
  const content = () => readFile(path, 'utf8').catch(() => 'absent')
  const synced: [string, string][] = []
  const { sync } = prototype
  t.mock.method(prototype, 'sync', async function (this: typeof handle) {
    synced.push([(await this.stat()).isDirectory() ? 'folder' : 'file', await content()])
    return sync.call(this)
  })
  await adapter.write(new Map([[1n, { owner: 'ann', place: 1, plant: { name: 'Fern' } }]]))
  assert.deepEqual(synced, [
    ['file', 'absent'],
    ['folder', await content()],
  ])
  assert.match(await content(), /Fern/)
})

test('no space and no quota are told apart from other faults', () => {
  const kind = (code: string) => writeError('p', Object.assign(new Error(code), { code })).kind
  assert.deepEqual(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'].map(kind), ['full', 'full', 'failed', 'failed'])
})
