import assert from 'node:assert/strict'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPlants } from '../../src/plants/index.ts'
import { fill, smallDisk } from '../support/disk.ts'
import { call, folder, TOKENS } from './helpers.ts'

const at = (file: string) => ({ basePath: '/', storage: { type: 'lowdb' as const, file }, tokens: TOKENS })
const idsIn = async (file: string) =>
  (await readFile(file, 'utf8')).match(/(?<="id":")\d+/g)?.map(Number) ?? []

test('on a full disk plants are listed and deleted, and the store opens again', async (t) => {
  const disk = await smallDisk(t)
  if (!disk) return t.skip('only root may mount a small disk')
  const file = join(disk, 'plants.json')
  let plants = await openPlants(at(file))
  const create = (id: number) =>
    call(plants.app, '/plants', { body: JSON.stringify({ id, name: `Fern ${id}` }) })
  const remove = async (id: number) => (await call(plants.app, `/plants/${id}`, { method: 'DELETE' })).status
  const names = async () =>
    ((await (await call(plants.app, '/plants')).json()) as { name: string }[]).map((p) => p.name)
  for (let id = 1; id <= 5; id++) assert.equal((await create(id)).status, 200)
  await fill(disk)

  const together = await Promise.all([remove(2), create(6), remove(4), remove(2), remove(9)])
  assert.deepEqual(
    together.map((answer) => (typeof answer === 'number' ? answer : answer.status)),
    [204, 507, 204, 404, 404],
  )
  assert.deepEqual(await names(), ['Fern 1', 'Fern 3', 'Fern 5'])

  await plants.close()
  plants = await openPlants(at(file))
  assert.deepEqual(await names(), ['Fern 1', 'Fern 3', 'Fern 5'])
  assert.equal(await remove(1), 204)

  await rm(join(disk, 'ballast'))
  assert.equal((await create(2)).status, 200)
  assert.deepEqual(await names(), ['Fern 3', 'Fern 5', 'Fern 2'])
  assert.deepEqual(await idsIn(file), [3, 5, 2])
  await plants.close()
})

test('places in a file of an earlier release stay when a plant is erased there', async (t) => {
  const file = join(await folder(t), 'plants.json')
  const line = (key: string, id: number) => `{"${key}":"${id}","owner":"ann","name":"Fern ${id}"}`
  const write = (...lines: string[]) => writeFile(file, `{"version":1,"plants":[\n${lines.join(',\n')}\n]}\n`)
  await write(line('id', 1), line('id', 2), line('id', 3), line('id', 4))
  let plants = await openPlants(at(file))
  const first = await call(plants.app, '/plants?limit=2')
  const next = /<(.*)>/.exec(first.headers.get('link')!)![1]
  await plants.close()
  await write(line('ix', 1), line('id', 2), line('id', 3), line('id', 4))
  plants = await openPlants(at(file))
  const rest = (await (await call(plants.app, `/plants${next}`)).json()) as { name: string }[]
  assert.deepEqual(
    rest.map(({ name }) => name),
    ['Fern 3', 'Fern 4'],
  )
  await plants.close()
})

test('a file that others wrote in another form is not changed in place', async (t) => {
  const disk = await smallDisk(t)
  if (!disk) return t.skip('only root may mount a small disk')
  const file = join(disk, 'plants.json')
  const pretty = JSON.stringify({ version: 1, plants: [{ id: '1', owner: 'ann', name: 'Fern' }] }, null, 2)
  await writeFile(file, pretty)
  const plants = await openPlants(at(file))
  await fill(disk)
  assert.equal((await call(plants.app, '/plants/1', { method: 'DELETE' })).status, 507)
  assert.equal(await readFile(file, 'utf8'), pretty)
  assert.equal((await call(plants.app, '/plants')).status, 200)
  await plants.close()
})

test('the file is made where dangling links lead, and locked there', async (t) => {
  const home = await folder(t)
  const [link, second, file] = [
    join(home, 'plants.json'),
    join(home, 'second.json'),
    join(home, 'volume/real.json'),
  ]
  await symlink('second.json', link)
  await symlink(file, second)
  const plants = await openPlants(at(link))
  await assert.rejects(openPlants(at(file)), /is in use by process/)
  assert.equal((await call(plants.app, '/plants', { body: '{"id":1,"name":"Fern"}' })).status, 200)
  await plants.close()
  assert.deepEqual(await idsIn(file), [1])
  assert.deepEqual((await readdir(home)).sort(), ['plants.json', 'second.json', 'volume'])
  await symlink('loop.json', join(home, 'loop.json'))
  await assert.rejects(openPlants(at(join(home, 'loop.json'))), /too many symbolic links/)
})
