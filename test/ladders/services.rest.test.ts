import assert from 'node:assert/strict'
import { setTimeout as nextLook } from 'node:timers/promises'
import { noRedis, redisServer } from '../support/redis.ts'
import { mysqlUrl, ownDatabase, postgresUrl, skipUnless } from '../support/services.ts'
import { applied, isServed, reloaded, rolledBack, started, version } from './configs.ts'
import { inTime, ladder, type Rung } from './ladder.ts'
import { type Home, planted, plantSettings, settle } from './served.ts'

const SERVERS = [
  { type: 'postgres', server: postgresUrl() },
  { type: 'mysql', server: mysqlUrl() },
]

/** A store on disk, whose changes are told by a Redis server of the run's own. */
async function told({ t, ports }: Rung) {
  const { port, addr } = await redisServer(t)
  ports.push(port)
  const storage = { type: 'lowdb', file: 'data/configurations.json', poll: '0s' }
  return { storage, notifier: { type: 'redis', redis: { topic: 'ladder', addr } } }
}

ladder({
  name: 'config apply told by redis',
  seam: 'db',
  skip: noRedis,
  run: async (rung) => applied(rung, await told(rung)),
})

ladder({
  name: 'reload told by redis',
  seam: 'db',
  skip: noRedis,
  async run(rung) {
    const home = await settle(rung, await told(rung))
    const apply = (n: number) => rung.clean(['config', 'apply', '-s', home.settings, '-f', version(rung, n)])
    await apply(1)
    const gateway = rung.faulty(['serve', '-s', home.settings])
    assert.ok(await gateway.serves())
    await apply(2)
    // What was told without a connection is made up for when there is one again.
    await inTime(served(home, 2), 'the change does not come')
    await gateway.stop()
  },
})

async function served(home: Home, n: number): Promise<void> {
  while (!(await isServed(home, n))) await nextLook(20)
}

for (const { type, server } of SERVERS) {
  const { port } = new URL(server)
  const common = { seam: 'db' as const, skip: await skipUnless(server) }
  const own = async ({ t, ports }: Rung) => {
    ports.push(Number(port) || (type === 'postgres' ? 5432 : 3306))
    return { type, url: await ownDatabase(t, server) }
  }

  ladder({
    ...common,
    name: `start with stores on ${type}`,
    async run(rung) {
      const storage = await own(rung)
      await started(rung, { storage, plants: plantSettings(storage) })
    },
  })

  ladder({
    ...common,
    name: `plants on ${type}`,
    run: async (rung) => planted(rung, plantSettings(await own(rung))),
  })

  ladder({
    ...common,
    name: `config apply to ${type}`,
    run: async (rung) => applied(rung, { storage: await own(rung) }),
  })

  ladder({
    ...common,
    name: `config rollback on ${type}`,
    run: async (rung) => rolledBack(rung, await own(rung)),
  })

  ladder({
    ...common,
    name: `reload from ${type}`,
    async run(rung) {
      const home = await settle(rung, { storage: await own(rung) })
      const apply = (n: number) =>
        rung.clean(['config', 'apply', '-s', home.settings, '-f', version(rung, n)])
      await apply(1)
      await reloaded(rung, home, ['serve', '-s', home.settings], () => apply(2))
    },
  })
}
