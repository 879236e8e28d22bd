import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Pool } from 'undici'
import type { PlantStorage } from '../../src/config/model.ts'
import { openPlants } from '../../src/plants/index.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { ownDatabase } from '../support/services.ts'
import { call, folder, TOKENS } from './helpers.ts'
import { SERVERS } from './servers.ts'

const ROUNDS = 10

interface Served {
  child: ChildProcess
  /** Resolves with the status once the answer is here. */
  create(id: bigint): Promise<number>
  remove(id: bigint): Promise<number>
}

async function served(t: TestContext, storage: PlantStorage): Promise<Served> {
  const child = fork(new URL('serve.child.ts', import.meta.url), [JSON.stringify(storage)], {
    execArgv: ['--import', 'tsx'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [port] = await once(child, 'message')
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 100 })
  t.after(() => pool.destroy())
  const headers = { authorization: 'Bearer token-ann', 'content-type': 'application/json' }
  const send = async (method: 'POST' | 'DELETE', path: string, body?: string) => {
    const answer = await pool.request({ method, path, headers, ...(body !== undefined && { body }) })
    await answer.body.dump()
    return answer.statusCode
  }
  return {
    child,
    create: (id) => send('POST', '/plants', `{"id":${id},"name":"${id}"}`),
    remove: (id) => send('DELETE', `/plants/${id}`),
  }
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** The ids that a new process finds; it must get at the store although the old one released nothing. */
async function survivors(storage: PlantStorage): Promise<Set<bigint>> {
  const { app, close } = await openPlants({ basePath: '/', storage, tokens: TOKENS })
  const plants = (await (await call(app, '/plants')).json()) as { name: string }[]
  await close()
  const ids = new Set(plants.map(({ name }) => BigInt(name)))
  assert.equal(ids.size, plants.length)
  return ids
}

const kinds: { type: string; skip: string | false; storage: (t: TestContext) => Promise<PlantStorage> }[] = [
  {
    type: 'lowdb',
    skip: false,
    storage: async (t) => ({ type: 'lowdb', file: join(await folder(t), 'plants.json') }),
  },
  ...SERVERS.map(({ type, server, skip }) => ({
    type,
    skip,
    storage: async (t: TestContext) => ({ type, url: await ownDatabase(t, server) }),
  })),
]

for (const { type, skip, storage: made } of kinds) {
  test(`${type}: what was answered before kill -9 in the midst of many changes is there, deletes too`, {
    skip,
  }, async (t) => {
    const storage = await made(t)
    const created = new Set<bigint>()
    const deleted = new Set<bigint>()
    const doomed = new Set<bigint>()
    for (let round = 0; round < ROUNDS; round++) {
      const { child, create, remove } = await served(t, storage)
      const killed = once(child, 'exit')
      let answered = 0
      const note = (set: Set<bigint>, id: bigint) => (status: number) => {
        if (status < 300) set.add(id)
        if (++answered === 40 + round * 10) child.kill('SIGKILL')
      }
      const victims = [...created].filter((id) => !doomed.has(id)).slice(0, 50)
      // One delete after every four creates, where there is something to delete.
      const changes = Array.from({ length: 250 }, (_, index) => {
        const id = BigInt(round * 1000 + index)
        const creating = create(id).then(note(created, id))
        const victim = index % 4 === 3 ? victims.pop() : undefined
        if (victim === undefined) return [creating]
        doomed.add(victim)
        return [creating, remove(victim).then(note(deleted, victim))]
      })
      await Promise.allSettled(changes.flat())
      await killed
      const found = await survivors(storage)
      for (const id of created)
        assert.ok(found.has(id) || doomed.has(id), `${id} was acknowledged and is gone`)
      for (const id of deleted) assert.ok(!found.has(id), `${id} was deleted and is back`)
    }
    assert.ok(created.size >= ROUNDS * 40 && deleted.size > 0)
  })
}

test('lowdb: a second process is refused while the first one lives, and told which one it is', async (t) => {
  const file = join(await folder(t), 'plants.json')
  const storage: PlantStorage = { type: 'lowdb', file }
  const { child, create } = await served(t, storage)
  assert.equal(await create(1n), 200)
  await assert.rejects(openPlants({ basePath: '/', storage, tokens: TOKENS }), (error) => {
    assert.ok(error instanceof StoreError)
    assert.ok(error.message.includes(file))
    assert.ok(error.message.includes(`process ${child.pid} `))
    return true
  })
  assert.equal(await create(2n), 200, 'the first one is undisturbed')
  await kill(child)
  assert.deepEqual(await survivors(storage), new Set([1n, 2n]))
})
