import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, ROOT, run, temporaryFolder } from '../support/process.ts'

test("the plant store's own document, imported and served: its tools create, list and delete plants", async (t) => {
  const cwd = temporaryFolder(t)
  const [store, port] = [await freePort(), await freePort()]
  const settings =
    'plants: { tokens: [{ token: secret, caller: ann }] }\nstorage: { type: directory, path: none }\n'
  writeFileSync(join(cwd, 'store.yaml'), settings)
  writeFileSync(
    join(cwd, 'idle.yaml'),
    'name: idle\nrouters: [{ server: i, prefix: /idle }]\nservers: [{ name: i, description: x }]\n',
  )
  const upstream = plantgw(t, ['serve', 'idle.yaml', '--settings', 'store.yaml', '--port', String(store)], {
    cwd,
  })
  await upstream.until(/plant store/)

  const from = join(ROOT, 'schemas/plants.openapi.json')
  const made = await run(
    t,
    ['import', 'openapi', from, '-o', 'configs', '--server', `http://127.0.0.1:${store}`],
    { cwd },
  )
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /3 operations, 3 imported, 0 skipped\n/)
  const env = { PLANT_STORE_BEARER: 'secret', PLANTGW_PORT: String(port) }
  const unset = await run(t, ['validate', 'configs'], { cwd })
  assert.match(unset.stdout, /: info: the environment variable PLANT_STORE_BEARER is not set.* \[env-empty\]/)
  const sound = await run(t, ['validate', 'configs'], { cwd, env })
  assert.deepEqual([sound.code, sound.stdout], [0, '1 file, nothing wrong\n'])

  const gateway = plantgw(t, ['serve', 'configs', '--port', String(port)], { cwd, env })
  await gateway.until(/Try it:/)
  const call = (...args: string[]) => run(t, ['call', '/plant-store', ...args], { cwd, env })
  const listed = await run(t, ['tools', '/plant-store', '--json'], { cwd, env })
  const tools = JSON.parse(listed.stdout) as { name: string; annotations?: object }[]
  assert.deepEqual(tools.map(({ name }) => name).sort(), ['createPlant', 'deletePlant', 'listPlants'])

  const created = await call('createPlant', 'id=9007199254740993', 'name=Fern "x"', 'tag=shade')
  assert.equal(created.code, 0, created.stdout + created.stderr)
  assert.deepEqual(JSON.parse((await call('listPlants')).stdout), [{ name: 'Fern "x"', tag: 'shade' }])
  const taken = await call('createPlant', 'id=9007199254740993', 'name=Aloe')
  assert.equal(taken.code, 1)
  assert.match(taken.stdout + taken.stderr, /already taken/)
  const deleted = await call('deletePlant', 'id=9007199254740993')
  assert.equal(deleted.code, 0, deleted.stdout + deleted.stderr)
  assert.deepEqual(JSON.parse((await call('listPlants')).stdout), [])
  const refused = await call('createPlant', 'name=Nobody')
  assert.equal(refused.code, 1)
  assert.match(refused.stdout + refused.stderr, /`id` is missing/)
})
