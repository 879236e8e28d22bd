import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { readSettings } from '../../src/checks/index.ts'

const read = (text: string, env = {}) => readSettings({ file: 'etc/plantgw.yaml', text }, env)

test('where configurations are kept, with paths beside the settings', () => {
  const storage = (text: string, env = {}) => read(`storage: ${text}`, env).settings?.storage
  assert.equal(read('').settings?.storage, undefined)
  assert.deepEqual(storage('{type: directory}'), { type: 'directory', path: resolve('etc/configs') })
  assert.deepEqual(storage('{type: directory, path: /x}'), { type: 'directory', path: '/x' })
  assert.deepEqual(storage('{type: lowdb}'), {
    type: 'lowdb',
    file: resolve('etc/data/configurations.json'),
    poll: 5_000,
  })
  assert.deepEqual(storage('{type: lowdb, file: a.json}'), {
    type: 'lowdb',
    file: resolve('etc/a.json'),
    poll: 5_000,
  })
  assert.deepEqual(storage('{type: postgres, url: "postgres://me:${PW}@db/x"}', { PW: 's3cret' }), {
    type: 'postgres',
    url: 'postgres://me:s3cret@db/x',
    poll: 5_000,
  })
  assert.deepEqual(storage('{type: "${KIND}", url: "mariadb://db/x"}', { KIND: 'mysql' }), {
    type: 'mysql',
    url: 'mariadb://db/x',
    poll: 5_000,
  })
})

test('how often a storage is looked at', () => {
  const poll = (text: string, env = {}) => read(`storage: {type: lowdb, poll: ${text}}`, env)
  for (const [text, wanted] of [
    ['2s', 2_000],
    ['0.25', 250],
    ['1m30s', 90_000],
    ['0s', 0],
    ['0', 0],
    ['"${P}"', 0],
  ] as const)
    assert.equal(poll(text, { P: '0s' }).settings?.storage?.poll, wanted, text)
  for (const text of ['1ms', '25d', 'true', 'false', 'often', '-1']) {
    const { settings, findings } = poll(text)
    assert.equal(settings, undefined, text)
    assert.match(JSON.stringify(findings), /poll/)
  }
  const { findings } = read('storage: {type: directory, poll: 1s}')
  assert.match(findings[0]!.message, /`poll` has no effect for a storage of type `directory`/)
})

test('what is wrong with a storage is told, and its URL never shown', () => {
  const cases: [string, RegExp][] = [
    ['{type: sqlite}', /`type` must be one of .*; got "sqlite"/],
    ['{path: x}', /missing-key: `storage` requires `type`/],
    ['{type: postgres}', /missing-key: `storage` of type `postgres` requires `url`/],
    ['{type: mysql, url: "postgres://me:s3cret@db/x"}', /`url` is not a mysql URL that names a database/],
    ['{type: postgres, url: "postgres://me:s3cret@db"}', /`url` is not a postgres URL/],
    [
      '{type: directory, file: x}',
      /key-without-effect: `file` has no effect for a storage of type `directory`/,
    ],
    ['{type: lowdb, path: x}', /`path` has no effect for a storage of type `lowdb`/],
    ['{type: postgres, path: x, url: "postgres://db/x"}', /`path` has no effect/],
    ['{type: lowdb, fil: x}', /unknown key `fil`/],
  ]
  for (const [text, wanted] of cases) {
    const { findings } = read(`storage: ${text}`)
    const said = findings.map(({ code, message }) => `${code}: ${message}`).join('\n')
    assert.match(said, wanted)
    assert.ok(!JSON.stringify(findings).includes('s3cret'), said)
  }
})
