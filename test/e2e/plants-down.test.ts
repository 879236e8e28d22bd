import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'

const CONFIGURATION = {
  name: 'a',
  routers: [{ server: 'a', prefix: '/a' }],
  servers: [{ name: 'a', allowedTools: ['ping'] }],
  tools: [{ name: 'ping', method: 'GET', endpoint: 'http://127.0.0.1:1/' }],
}
const SILENT = 'postgres://plants:s3cret@127.0.0.1'

test('a plant store whose database is down does not keep the gateway from serving', async (t) => {
  const storage = { type: 'postgres', url: `${SILENT}:${await freePort()}/plants` }
  const plants = { storage, tokens: [{ token: 'secret', caller: 'ann' }] }
  const gateway = await served(t, [CONFIGURATION], { settings: { plants } })
  const listed = await gateway.post(
    '/a/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    await gateway.open('/a'),
  )
  assert.equal(listed.status, 200)
  const headers = { authorization: 'Bearer secret' }
  for (let request = 0; request < 10; request++)
    assert.equal((await gateway.send({ path: '/plants', method: 'GET', headers })).status, 503)
  const { text } = await gateway.send({ path: '/metrics', method: 'GET' })
  assert.match(text, /^plantgw_plant_store_available 0$/m)
  gateway.child.kill('SIGINT')
  assert.equal(await gateway.ended, 0)
  assert.equal(gateway.stderr().match(/plant store unavailable/g)?.length, 1)
  assert.ok(!gateway.stderr().includes('s3cret'))
})

test('a metric shows that the plant store fails, and that it works again', async (t) => {
  const file = join(temporaryFolder(t), 'plants.json')
  const storage = { type: 'lowdb', file }
  const plants = { storage, tokens: [{ token: 'secret', caller: 'ann' }] }
  const gateway = await served(t, [CONFIGURATION], { settings: { plants } })
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
  const create = async (id: number) =>
    (await gateway.send({ path: '/plants', headers, body: JSON.stringify({ id, name: 'a' }) })).status
  const metric = async () => {
    const { text } = await gateway.send({ path: '/metrics', method: 'GET' })
    return /^plantgw_plant_store_available (\d)$/m.exec(text)?.[1]
  }
  assert.deepEqual([await create(1), await metric()], [200, '1'])
  // A folder in place of the file can not be replaced by it.
  renameSync(file, `${file}.away`)
  mkdirSync(join(file, 'in-the-way'), { recursive: true })
  assert.deepEqual([await create(2), await metric()], [500, '0'])
  rmSync(file, { recursive: true })
  renameSync(`${file}.away`, file)
  assert.deepEqual([await create(3), await metric()], [200, '1'])
})

test('without a plant store there is no metric of one', async (t) => {
  const gateway = await served(t, [CONFIGURATION])
  const { text } = await gateway.send({ path: '/metrics', method: 'GET' })
  assert.doesNotMatch(text, /^plantgw_plant_store_available \d/m)
})
