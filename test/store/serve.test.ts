import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromStore } from '../../src/build/source.ts'
import { gatewayOver } from '../support/gateway.ts'
import { another } from './contract.ts'
import { sound } from './files.ts'
import { KINDS } from './kinds.ts'
import { proxyTo } from './proxy.ts'

const BY = { author: 'ann' }

for (const { type, make, skip = false } of KINDS) {
  if (type === 'directory' || type === 'lowdb') continue

  test(`${type}: a gateway that loses its store serves on, says so, and catches up`, { skip }, async (t) => {
    const made = await make(t)
    assert.ok('url' in made)
    const proxy = await proxyTo(t, made.url)
    const store = await another(t, { type, url: proxy.url })
    const direct = await another(t, made)
    const put = (name: string, note?: string) => ({ name, tenant: 'default', text: sound(name, note) })
    assert.equal((await direct.apply([put('a'), put('b')], BY)).kind, 'applied')
    const { gateway, findings } = await gatewayOver(t, fromStore(store))
    assert.ok(gateway, JSON.stringify(findings))
    const prefixes = () => [...gateway.table().routes.keys()].sort()
    assert.deepEqual(prefixes(), ['/a', '/b'])
    const table = gateway.table()

    await proxy.stop()
    assert.equal(
      (await direct.apply([{ ...put('a', 'second'), version: '1' }, put('c')], BY)).kind,
      'applied',
    )
    const lost = await gateway.reload()
    assert.deepEqual(
      lost.findings.map(({ code }) => code),
      ['unreadable-store'],
    )
    assert.deepEqual([lost.added, lost.changed, lost.removed], [[], [], []])
    assert.equal(gateway.table(), table)

    await proxy.start()
    const back = await gateway.reload()
    assert.deepEqual(back.findings, [])
    assert.deepEqual([back.added, back.changed, back.removed], [['c'], ['a'], []])
    assert.deepEqual(prefixes(), ['/a', '/b', '/c'])

    // A record that somebody broke past the checks keeps its last good version.
    assert.equal(
      (await direct.apply([{ name: 'b', tenant: 'default', text: 'name: [', version: '1' }], BY)).kind,
      'applied',
    )
    const broken = await gateway.reload()
    assert.deepEqual(broken.refused, ['b'])
    assert.deepEqual(prefixes(), ['/a', '/b', '/c'])
  })
}
