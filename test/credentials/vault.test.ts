import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { VaultSettings } from '../../src/config/index.ts'
import { openVault, type Vault, vaultId } from '../../src/credentials/oauth/vault.ts'
import { StoreError } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/process.ts'
import { mysqlUrl, ownDatabase, postgresUrl, skipUnless } from '../support/services.ts'

type Storage = VaultSettings['storage']
const KEY = 'a key of the vault with 32 characters'
const OTHER = 'another key of the vault, as long as it'

const KINDS: { type: Storage['type']; make(t: TestContext): Promise<Storage>; skip?: string | false }[] = [
  {
    type: 'folder',
    make: async (t) => ({ type: 'folder', path: join(temporaryFolder(t), 'data', 'logins') }),
  },
  {
    type: 'postgres',
    make: async (t) => ({ type: 'postgres', url: await ownDatabase(t, postgresUrl()) }),
    skip: await skipUnless(postgresUrl()),
  },
  {
    type: 'mysql',
    make: async (t) => ({ type: 'mysql', url: await ownDatabase(t, mysqlUrl()) }),
    skip: await skipUnless(mysqlUrl()),
  },
]

async function open(t: TestContext, storage: Storage, key = KEY, previousKey?: string): Promise<Vault> {
  const vault = await openVault({ key, storage, ...(previousKey !== undefined && { previousKey }) })
  t.after(() => vault.close())
  return vault
}

const A = vaultId(['a'])
const B = vaultId(['b'])

for (const { type, make, skip = false } of KINDS) {
  const check = (name: string, run: (t: TestContext, storage: Storage) => Promise<void>) =>
    test(`${type}: ${name}`, { skip }, async (t) => run(t, await make(t)))

  check('a value comes back to every process, and is gone once it is removed', async (t, storage) => {
    const [one, other] = [await open(t, storage), await open(t, storage)]
    assert.equal(await one.get(A), undefined)
    await one.put(A, { token: 'ä🌱' })
    await one.put(B, [1])
    assert.deepEqual(await other.get(A), { token: 'ä🌱' })
    await other.put(A, undefined)
    assert.equal(await one.get(A), undefined)
    assert.deepEqual(await one.get(B), [1])
  })

  check('one process at a time changes a value', async (t, storage) => {
    const vaults = await Promise.all([1, 2, 3].map(() => open(t, storage)))
    const add = (vault: Vault) =>
      vault.change<number, void>(A, async (before = 0, write) => {
        await new Promise((resolve) => setImmediate(resolve))
        await write(before + 1)
      })
    await Promise.all([...vaults, ...vaults, ...vaults, ...vaults].map(add))
    assert.equal(await vaults[0]!.get(A), 12)
  })

  check('work that fails changes nothing, and frees the value', async (t, storage) => {
    const vault = await open(t, storage)
    await assert.rejects(
      vault.change(A, async () => {
        throw new Error('no')
      }),
      /no/,
    )
    await vault.put(A, 1)
    assert.equal(await vault.get(A), 1)
  })

  check('another key opens nothing; with the previous one everything is sealed anew', async (t, storage) => {
    const before = await open(t, storage)
    await before.put(A, 'a')
    await before.put(B, 'b')
    const isSealed = (error: unknown) =>
      error instanceof StoreError && /another `vault.key`/.test(error.message)
    await assert.rejects((await open(t, storage, OTHER)).get(A), isSealed)
    assert.equal(await (await open(t, storage, OTHER)).readable(A), undefined)
    assert.equal(await (await open(t, storage, OTHER)).change(A, async (value) => value), undefined)
    const both = await open(t, storage, OTHER, KEY)
    assert.equal(await both.get(A), 'a')
    // What no key opens does not keep the others from being sealed.
    const C = vaultId(['of a third key'])
    await (await open(t, storage, 'a third key with more than 32 characters')).put(C, 'c')
    assert.deepEqual(await both.reseal(), { sealed: 2, unreadable: 1 })
    assert.deepEqual(await both.reseal(), { sealed: 0, unreadable: 1 })
    assert.equal(await (await open(t, storage, OTHER)).get(B), 'b')
    await assert.rejects(before.get(A), isSealed)
  })
}

test('files show nothing, cannot be exchanged for each other, and are for their user alone', async (t) => {
  const path = join(temporaryFolder(t), 'logins')
  const vault = await open(t, { type: 'folder', path })
  await vault.put(A, { secret: 'open sesame' })
  await vault.put(B, { secret: 'another' })
  const files = readdirSync(path).sort()
  assert.equal(files.length, 2)
  assert.equal(statSync(path).mode & 0o777, 0o700)
  const texts = files.map((name) => readFileSync(join(path, name), 'utf8'))
  for (const name of files) assert.equal(statSync(join(path, name)).mode & 0o777, 0o600)
  assert.doesNotMatch(texts.join(), /sesame|secret/)
  writeFileSync(join(path, files[0]!), texts[1]!)
  await assert.rejects(vault.get(files[0]!.replace('.sealed', '')), /cannot be decrypted/)
  writeFileSync(join(path, files[0]!), 'rubbish')
  await assert.rejects(vault.get(files[0]!.replace('.sealed', '')), /cannot be decrypted/)
})
