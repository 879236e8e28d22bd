import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkReading } from '../../src/build/check-configurations.ts'
import type { Reload } from '../../src/build/types.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { watchStore } from '../../src/server/watch-store.ts'
import type { ConfigurationStore, Snapshot } from '../../src/store/index.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { sound } from './files.ts'

const config = (prefix: string) => ({ file: 'old.yaml', text: sound('old', 'x', undefined, prefix) })
const ENV = { PREFIX: '/team/shop', P: 'p' }

/** Findings of a new configuration at a prefix, beside others. */
async function findingsOf(prefix: string, beside: { file: string; text: string }[]) {
  const source = { file: 'new.yaml', text: sound('new', 'x', undefined, prefix) }
  const one = readConfiguration(source, ENV)
  const sources = new Map([['new.yaml', one.text]])
  const reading = { configurations: [one], findings: one.findings, sources }
  const { findings } = await checkReading(reading, { env: ENV }, beside)
  return findings.map(({ code, file, related }) => [code, file, related?.[0]?.file])
}

const CLASH = [['duplicate-prefix', 'new.yaml', 'old.yaml']]

for (const prefix of [
  '/team/shop',
  '/Team/SHOP/',
  '"/team/shop"',
  '"/team/\\x73hop"',
  '"${PREFIX}"',
  '"/team/sho${P}"',
  '\n  "${PREFIX}"',
])
  test(`a prefix clashes however it is written: ${JSON.stringify(prefix)}`, async () =>
    assert.deepEqual(await findingsOf('/team/shop', [config(prefix)]), CLASH))

test('a prefix clashes with an alias', async () => {
  const { file, text } = config('*anchor')
  assert.deepEqual(
    await findingsOf('/team/shop', [{ file, text: `x-a: &anchor /team/shop\n${text}` }]),
    CLASH,
  )
})

test('other prefixes do not clash, and a clash is found at the new one only', async () => {
  assert.deepEqual(await findingsOf('/team/shop', [config('/team/weather')]), [])
  assert.deepEqual(await findingsOf('/', [config('/x')]), [])
  const beside = [config('/Shop'), { file: 'broken.yaml', text: 'name: [shop' }]
  assert.deepEqual(await findingsOf('/shop', beside), CLASH)
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
