import assert from 'node:assert/strict'
import fs, { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { main } from '../../src/cli/main.ts'
import { type ConfigurationStore, openStore } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/process.ts'
import { another, applied, of } from './contract.ts'
import { sound } from './files.ts'

const put = (note: string, version?: string) => ({
  name: 'a',
  tenant: 'default',
  text: sound('a', note),
  ...(version !== undefined && { version }),
})
const remove = (version: string) => ({ name: 'a', tenant: 'default', version, deleted: true as const })

/** Rolls back while somebody else changes the store before it is read for the n-th time. */
async function rollback(
  t: TestContext,
  n: number,
  keep: number,
  before: (store: ConfigurationStore) => Promise<unknown>,
  meanwhile: (store: ConfigurationStore) => Promise<unknown>,
) {
  const folder = temporaryFolder(t)
  const storage = { type: 'lowdb' as const, file: join(folder, 'store.json'), keep }
  const settings = join(folder, 'plantgw.yaml')
  writeFileSync(settings, JSON.stringify({ storage }))
  const other = await another(t, storage)
  await before(other)
  const { open } = fs.promises
  let reads = 0
  let isOther = false
  t.mock.method(fs.promises, 'open', async (...args: Parameters<typeof open>) => {
    if (args[0] === storage.file && !isOther && ++reads === n) {
      isOther = true
      await meanwhile(other)
      isOther = false
    }
    return open(...args)
  })
  let stderr = ''
  t.mock.method(process.stderr, 'write', (text: string) => {
    stderr += text
    return true
  })
  syncBuiltinESMExports()
  const code = await main(['config', 'rollback', '-s', settings, 'a'])
  t.mock.restoreAll()
  syncBuiltinESMExports()
  const text = (await other.get(of('a')))?.text
  return { code, stderr, text }
}

for (const n of [1, 2, 3]) {
  test(`a rollback goes back to what was deleted last, at read ${n}`, async (t) => {
    const before = async (store: ConfigurationStore) => {
      await applied(store, [put('first')])
      await applied(store, [remove('1')])
    }
    const { code, text } = await rollback(t, n, 10, before, async (store) => {
      await applied(store, [put('second')])
      await applied(store, [remove('3')])
    })
    assert.deepEqual([code, text], [0, sound('a', 'second')])
  })

  test(`a rollback whose version is forgotten meanwhile says so, at read ${n}`, async (t) => {
    const before = async (store: ConfigurationStore) => {
      await applied(store, [put('first')])
      await applied(store, [put('second', '1')])
    }
    const { code, stderr, text } = await rollback(t, n, 2, before, (store) =>
      applied(store, [put('third', '2')]),
    )
    if (code === 0) assert.equal(text, sound('a', 'second'))
    else assert.match(stderr, /"a" was changed in the meantime/)
  })
}

test('directory: half of a change is not read, whenever the other half is written', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(folder, { recursive: true })
  const write = (name: string, note: string) => writeFileSync(join(folder, `${name}.yaml`), sound(name, note))
  for (const name of ['a', 'b']) write(name, 'old')
  const store = await openStore({ type: 'directory', path: folder }, {})
  const journal = join(folder, '.plantgw.journal')
  const { stat } = fs.promises
  let looks = 0
  t.mock.method(fs.promises, 'stat', async (...args: Parameters<typeof stat>) => {
    if (args[0] !== journal) return stat(...args)
    looks++
    if (looks === 1) {
      const there = stat(...args)
      await there.catch(() => {})
      writeFileSync(journal, '')
      write('a', 'new')
      return there
    }
    if (looks === 2) {
      write('b', 'new')
      rmSync(journal)
    }
    return stat(...args)
  })
  syncBuiltinESMExports()
  const { configurations } = await store.readAll()
  t.mock.restoreAll()
  syncBuiltinESMExports()
  assert.deepEqual(
    configurations.map(({ text }) => text),
    [sound('a', 'new'), sound('b', 'new')],
  )
})
