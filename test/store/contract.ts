import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { StorageSettings } from '../../src/config/index.ts'
import { type Change, type ConfigurationStore, openStore, StoreError } from '../../src/store/index.ts'
import { sample } from '../support/rest.ts'

export interface Kind {
  type: StorageSettings['type']
  /** An empty store of its own, removed after the test. */
  make(t: TestContext): Promise<StorageSettings>
  /** Why there is none here. */
  skip?: string | false
}

export const yaml = (name: string, note = '', tenant?: string) =>
  `name: ${JSON.stringify(name)}\n${tenant ? `tenant: ${tenant}\n` : ''}# ${note}\nx-note: |\n  ${note || '-'}\n`

/** Identity in the default tenant. */
export const of = (name: string) => ({ tenant: 'default', name })

export const put = (name: string, note = '', version?: string, tenant = 'default'): Change => ({
  name,
  tenant,
  text: yaml(name, note, tenant === 'default' ? undefined : tenant),
  ...(version !== undefined && { version }),
})

const BY = { author: 'ann@here', message: 'as a test' }

/** A second store on the same data, as another process would open it. */
export async function another(t: TestContext, settings: StorageSettings): Promise<ConfigurationStore> {
  const store = await openStore(settings, {})
  t.after(() => store.close())
  return store
}

export async function applied(
  store: ConfigurationStore,
  changes: Change[],
  by = BY,
): Promise<Record<string, string>> {
  const outcome = await store.apply(changes, by)
  assert.equal(outcome.kind, 'applied', JSON.stringify(outcome))
  assert.ok(outcome.kind === 'applied')
  return Object.fromEntries(outcome.versions.map(({ name, version }) => [name, version]))
}

const isKind = (kind: StoreError['kind']) => (error: unknown) =>
  error instanceof StoreError && error.kind === kind

/** What every ConfigurationStore must do. */
export function contract({ type, make, skip = false }: Kind): void {
  const check = (
    name: string,
    run: (store: ConfigurationStore, other: ConfigurationStore, t: TestContext) => Promise<void>,
  ) =>
    test(`${type}: ${name}`, { skip }, async (t) => {
      const settings = await make(t)
      await run(await another(t, settings), await another(t, settings), t)
    })
  const keepsHistory = type !== 'directory'

  check('an empty store holds nothing', async (store) => {
    assert.deepEqual(await store.list(), [])
    assert.equal(await store.get(of('a')), undefined)
    assert.deepEqual((await store.readAll()).configurations, [])
    assert.equal(await store.revision(), (await store.readAll()).revision)
  })

  check('texts come back as they were written, to every process, sorted by name', async (store, other) => {
    const names = ['b', 'a', 'a ', 'A', 'ä', 'zür/../ich', '__proto__', '.hidden', '🌱', 'x'.repeat(60)]
    const long = yaml('long', 'ä🌱 "quoted" \\ %s ? $1 \t'.repeat(20_000))
    const changes = [...names.map((name) => put(name, `${name} ä`)), { ...put('long'), text: long }]
    await applied(store, changes)
    const sorted = [...names, 'long'].sort()
    assert.deepEqual(
      (await other.list()).map(({ name }) => name),
      sorted,
    )
    for (const change of changes) {
      const found = await other.get(change)
      assert.equal(found?.text, 'text' in change && change.text)
      assert.ok(found?.place.length)
    }
    const { configurations } = await other.readAll()
    assert.deepEqual(
      configurations.map(({ name, text }) => [name, text]),
      sorted.map((name) => {
        const change = changes.find((one) => one.name === name)
        return [name, change && 'text' in change && change.text]
      }),
    )
  })

  check('a record says its tenant, its version, when it was changed, by whom and why', async (store) => {
    const before = Date.now() - 1000
    const versions = await applied(store, [put('a', '', undefined, 'shop'), put('b')])
    const [a, b] = await store.list()
    assert.deepEqual([a?.tenant, b?.tenant], ['shop', 'default'])
    assert.deepEqual([a?.version, b?.version], [versions.a, versions.b])
    assert.ok(a && Date.parse(a.updatedAt) >= before && a.updatedAt.endsWith('Z'), a?.updatedAt)
    if (keepsHistory) assert.deepEqual([a?.author, a?.message], ['ann@here', 'as a test'])
  })

  check('tenants have configurations of one name, each with its own versions', async (store, other) => {
    const tenants = ['default', 'shop', 'a/b', 'a']
    const changes = tenants.map((tenant) => put('x', tenant, undefined, tenant))
    // Written alike, but for the slashes.
    await applied(store, [
      ...changes,
      put('b/x', 'deep', undefined, 'a'),
      put('a/x', 'flat'),
      put('shop/x', 'flat'),
    ])
    for (const tenant of tenants) {
      const found = await other.get({ tenant, name: 'x' })
      assert.deepEqual(
        [found?.tenant, found?.name, found?.text],
        [tenant, 'x', yaml('x', tenant, tenant === 'default' ? undefined : tenant)],
      )
    }
    const { configurations } = await other.readAll()
    assert.equal(new Set(configurations.map(({ place }) => place)).size, 7)
    const before = await other.get({ tenant: 'a', name: 'x' })
    const outcome = await store.apply([{ tenant: 'shop', name: 'x', version: 'none', deleted: true }], BY)
    assert.equal(outcome.kind === 'conflict' && outcome.conflicts[0]?.tenant, 'shop')
    const { version = '' } = (await store.get({ tenant: 'shop', name: 'x' })) ?? {}
    await applied(store, [{ tenant: 'shop', name: 'x', version, deleted: true }])
    assert.deepEqual(
      (await other.list()).map(({ tenant, name }) => [tenant, name]),
      [
        ['default', 'a/x'],
        ['a', 'b/x'],
        ['default', 'shop/x'],
        ['a', 'x'],
        ['a/b', 'x'],
        ['default', 'x'],
      ],
    )
    assert.deepEqual(await other.get({ tenant: 'a', name: 'x' }), before)
    if (!keepsHistory) return
    const versions = async (tenant: string) =>
      (await other.history({ tenant, name: 'x' })).map((one) => [one.version, one.deleted])
    assert.deepEqual(await versions('shop'), [
      ['2', true],
      ['1', false],
    ])
    assert.deepEqual(await versions('a'), [['1', false]])
  })

  check('no change at all leaves the revision as it is', async (store) => {
    await applied(store, [put('a')])
    const revision = await store.revision()
    assert.deepEqual(await store.apply([], BY), { kind: 'applied', versions: [] })
    assert.equal(await store.revision(), revision)
  })

  check('a change that is based on another version is refused, with both named', async (store, other) => {
    const first = await applied(store, [put('a', 'one'), put('b')])
    const second = await applied(other, [put('a', 'two', first.a)])
    assert.notEqual(second.a, first.a)
    const stale = [put('new'), put('a', 'three', first.a), put('b', 'changed', first.b)]
    assert.deepEqual(await store.apply(stale, BY), {
      kind: 'conflict',
      conflicts: [{ name: 'a', tenant: 'default', expected: first.a, found: second.a }],
    })
    assert.deepEqual(await store.apply([put('a', 'created')], BY), {
      kind: 'conflict',
      conflicts: [{ name: 'a', tenant: 'default', expected: undefined, found: second.a }],
    })
    assert.deepEqual(await store.apply([{ name: 'b', tenant: 'default', version: 'x', deleted: true }], BY), {
      kind: 'conflict',
      conflicts: [{ name: 'b', tenant: 'default', expected: 'x', found: first.b }],
    })
    assert.deepEqual(
      await store.apply([{ name: 'gone', tenant: 'default', version: '1', deleted: true }], BY),
      { kind: 'conflict', conflicts: [{ name: 'gone', tenant: 'default', expected: '1', found: undefined }] },
    )
    const { configurations } = await store.readAll()
    assert.deepEqual(
      configurations.map(({ text }) => text),
      [yaml('a', 'two'), yaml('b')],
      'nothing of a refused change is kept',
    )
  })

  check('a change is refused when the store has moved on', async (store, other) => {
    const { revision } = await store.readAll()
    await applied(other, [put('a')])
    assert.deepEqual(await store.apply([put('b')], BY, revision), { kind: 'moved' })
    const now = await store.revision()
    assert.notEqual(now, revision)
    assert.equal((await store.apply([put('b')], BY, now)).kind, 'applied')
    assert.deepEqual(
      (await other.list()).map(({ name }) => name),
      ['a', 'b'],
    )
  })

  check('the revision changes with every change, and with nothing else', async (store, other) => {
    const revisions = [await store.revision()]
    const note = async () => {
      const revision = await store.revision()
      assert.equal(await other.revision(), revision)
      revisions.push(revision)
    }
    const { a } = await applied(store, [put('a', 'one')])
    await note()
    const { a: second } = await applied(other, [put('a', 'two', a)])
    await note()
    await store.list()
    await store.apply([put('a', 'stale')], BY)
    assert.equal(await store.revision(), revisions.at(-1), 'a refused change is none')
    await applied(store, [{ name: 'a', tenant: 'default', version: second!, deleted: true }])
    await note()
    assert.equal(new Set(revisions.slice(1)).size, 3)
  })

  check('a deleted configuration is gone, and can be made again', async (store, other) => {
    const { a } = await applied(store, [put('a'), put('b')])
    await applied(store, [{ name: 'a', tenant: 'default', version: a!, deleted: true }])
    assert.equal(await other.get(of('a')), undefined)
    assert.deepEqual(
      (await other.list()).map(({ name }) => name),
      ['b'],
    )
    assert.equal((await store.apply([put('a', 'again', a)], BY)).kind, 'conflict')
    await applied(other, [put('a', 'again')])
    assert.equal((await store.get(of('a')))?.text, yaml('a', 'again'))
  })

  check('of many that change one configuration at once one does it', async (store, other) => {
    const { a } = await applied(store, [put('a')])
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? store : other).apply([put('a', `${i}`, a)], BY)),
    )
    assert.equal(outcomes.filter(({ kind }) => kind === 'applied').length, 1)
    assert.equal(outcomes.filter(({ kind }) => kind === 'conflict').length, 19)
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? store : other).apply([put('new', `${i}`)], BY)),
    )
    assert.equal(made.filter(({ kind }) => kind === 'applied').length, 1)
  })

  check('many that change different configurations at once all succeed', async (store, other) => {
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`)
    await Promise.all(names.map((name, i) => applied(i % 2 ? store : other, [put(name)])))
    assert.deepEqual((await store.list()).map(({ name }) => name).sort(), names.sort())
  })

  check('readers see all of a change or nothing of it', async (store, other) => {
    const names = ['a', 'b', 'c', 'd']
    let versions = await applied(
      store,
      names.map((name) => put(name, '0')),
    )
    let writing = true
    const writer = (async () => {
      for (let i = 1; i <= 15; i++)
        versions = await applied(
          store,
          names.map((name) => put(name, `${i}`, versions[name])),
        )
      writing = false
    })()
    let reads = 0
    while (writing) {
      const { configurations } = await other.readAll()
      const notes = configurations.map(({ text }) => /# (\d+)/.exec(text)?.[1])
      assert.equal(notes.length, 4)
      assert.equal(new Set(notes).size, 1, `a mixture: ${notes}`)
      reads++
    }
    await writer
    assert.ok(reads > 0)
  })

  check('many configurations are written at once', async (store, other) => {
    const changes = Array.from({ length: sample(1000) }, (_, i) => put(`n${i}`, 'x'.repeat(2000)))
    await applied(store, changes)
    assert.equal((await other.list()).length, changes.length)
  })

  check('what not every store could keep is refused by all', async (store) => {
    const bad: Change[][] = [
      [put('a'), put('a')],
      [put('')],
      [{ ...put('a'), text: 'nul \0' }],
      [{ ...put('a'), text: 'half \ud800' }],
      [put('\0')],
    ]
    for (const changes of bad) await assert.rejects(store.apply(changes, BY), isKind('invalid'))
    await assert.rejects(store.apply([put('a')], { author: 'a\0' }), isKind('invalid'))
    assert.deepEqual(await store.list(), [])
    assert.deepEqual(await store.apply([], BY), { kind: 'applied', versions: [] })
  })

  check('a closed store refuses everything, and only itself', async (store, other) => {
    await applied(store, [put('a')])
    await Promise.all([store.close(), store.close()])
    await assert.rejects(store.list(), isKind('closed'))
    await assert.rejects(store.revision(), isKind('closed'))
    await assert.rejects(store.apply([put('b')], BY), isKind('closed'))
    assert.equal((await other.list()).length, 1)
  })

  if (!keepsHistory) {
    check('a folder says that it keeps no history', async (store) => {
      await assert.rejects(store.history(of('a')), (error: Error) => {
        return (
          isKind('unsupported')(error) && /keeps no history: keep it in version control/.test(error.message)
        )
      })
    })
    return
  }

  test(`${type}: \`keep\` limits the history of what is changed, and versions count on`, {
    skip,
  }, async (t) => {
    const settings = await make(t)
    assert.ok(settings.type !== 'directory')
    const store = await another(t, settings)
    const versionsOf = async (name: string) => (await store.history(of(name))).map(({ version }) => version)
    let { a, b } = await applied(store, [put('a'), put('b')])
    for (const note of ['2', '3', '4']) ({ a } = await applied(store, [put('a', note, a)]))
    b = (await applied(store, [put('b', '2', b)])).b
    const few = await another(t, { ...settings, keep: 2 })
    assert.deepEqual(await versionsOf('a'), ['4', '3', '2', '1'])
    a = (await applied(few, [put('a', '5', a)])).a
    assert.deepEqual(await versionsOf('a'), ['5', '4'])
    assert.deepEqual(await versionsOf('b'), ['2', '1'], 'what was not changed keeps its history')
    assert.equal(await store.get(of('a'), '3'), undefined)
    assert.equal((await store.get(of('a'), '4'))?.version, '4')
    await applied(few, [
      { name: 'a', tenant: 'default', version: a!, deleted: true },
      { name: 'b', tenant: 'default', version: b!, deleted: true },
    ])
    const one = await another(t, { ...settings, keep: 1 })
    assert.equal((await applied(one, [put('a', 'again')])).a, '7')
    assert.deepEqual(await versionsOf('a'), ['7'])
    assert.deepEqual(await versionsOf('b'), ['3', '2'])
  })

  check('history keeps every version: what, who, when, why', async (store, other) => {
    await applied(store, [put('a', 'one')], { author: 'ann', message: 'because "of" ä' })
    await applied(other, [put('a', 'two', '1')], { author: 'bob', message: '' })
    await applied(store, [put('a', 'theirs', undefined, 'shop')])
    await applied(store, [{ name: 'a', tenant: 'default', version: '2', deleted: true }], {
      author: 'cy',
    } as typeof BY)
    await applied(store, [put('a', 'four')])
    const history = await other.history(of('a'))
    assert.deepEqual(
      history.map(({ version, author, message, deleted }) => [version, author, message, deleted]),
      [
        ['4', 'ann@here', 'as a test', false],
        ['3', 'cy', undefined, true],
        ['2', 'bob', '', false],
        ['1', 'ann', 'because "of" ä', false],
      ],
    )
    assert.ok(history.every(({ updatedAt }) => Number.isFinite(Date.parse(updatedAt))))
    assert.equal((await other.get(of('a'), '1'))?.text, yaml('a', 'one'))
    assert.equal((await other.get(of('a'), '2'))?.text, yaml('a', 'two'))
    assert.equal((await other.get(of('a')))?.version, '4')
    assert.equal(await other.get(of('a'), '3'), undefined)
    for (const version of ['0', '5', 'x', '-1', '99999999999'])
      assert.equal(await other.get(of('a'), version), undefined, version)
    assert.deepEqual(await other.history(of('b')), [])
  })
}
