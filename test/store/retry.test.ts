import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reload } from '../../src/build/types.ts'
import { watchStore } from '../../src/server/watch-store.ts'
import type { ConfigurationStore, Snapshot } from '../../src/store/index.ts'
import { silentLog } from '../../src/telemetry/silent.ts'

const UNREADABLE = { findings: [{ code: 'unreadable-store' }] } as unknown as Reload
const READ = { findings: [] } as unknown as Reload

test('a change that could not be read is read soon, and told by what saw it, however seldom the store is looked at', async (t) => {
  let revision = '1'
  let tell = () => {}
  const store = {
    label: 'a store',
    revision: async () => revision,
    readAll: async () => ({ revision, configurations: [] }) as unknown as Snapshot,
    listen: (then: () => void) => {
      tell = then
      return { close: async () => {} }
    },
  } as unknown as ConfigurationStore
  const watch = watchStore(store, { poll: 3_600_000, log: silentLog })
  t.after(() => watch.close())
  await watch.source({}, {})
  const triggers: string[] = []
  const third = new Promise<void>((resolve) => {
    watch.start(async (trigger) => {
      triggers.push(trigger)
      if (triggers.length === 3) resolve()
      // What comes while it is read is not forgotten.
      if (triggers.length === 1) tell()
      return triggers.length < 3 ? UNREADABLE : READ
    })
  })
  revision = '2'
  tell()
  await third
  assert.deepEqual(triggers, ['notify', 'notify', 'notify'])
})
