import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkReading, mayClash } from '../../src/build/check-configurations.ts'
import type { Reload } from '../../src/build/types.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { watchStore } from '../../src/server/watch-store.ts'
import type { ConfigurationStore, Snapshot } from '../../src/store/index.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { sound } from './files.ts'

const read = (text: string) => readConfiguration({ file: 'new.yaml', text }, {})
const fresh = (prefix: string) => [read(sound('new', 'x', undefined, prefix)).configuration!]
const config = (prefix: string) => ({ file: 'old.yaml', text: sound('old', 'x', undefined, prefix) })

test('what may claim the same prefix is read, however it is written', () => {
  const writings = [
    '/team/shop',
    '/Team/SHOP/',
    '"/team/shop"',
    '"/team/\\x73hop"',
    '${PREFIX}',
    '"/team/sho${P}"',
    '*anchor',
    '\n  ${PREFIX}',
  ]
  for (const prefix of writings)
    assert.equal(mayClash(fresh('/team/shop'), [config(prefix)]).length, 1, prefix)
  assert.equal(mayClash(fresh('/'), [config('/x')]).length, 1)
  assert.deepEqual(mayClash(fresh('/team/shop'), [config('/team/weather')]), [])
})

test('a clash with what is there is found at the new one only', async () => {
  const source = { file: 'new.yaml', text: sound('new', 'x', undefined, '/shop') }
  const one = readConfiguration(source, {})
  const reading = {
    configurations: [one],
    findings: one.findings,
    sources: new Map([['new.yaml', one.text]]),
  }
  const beside = [config('/Shop'), { file: 'broken.yaml', text: 'name: [shop' }]
  const { findings } = await checkReading(reading, { env: {} }, beside)
  assert.deepEqual(
    findings.map(({ code, file, related }) => [code, file, related?.[0]?.file]),
    [['duplicate-prefix', 'new.yaml', 'old.yaml']],
  )
})

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
