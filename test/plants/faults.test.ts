import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSqlStore } from '../../src/plants/sql.ts'
import { faultOf, messageOf } from '../../src/store/sql-faults.ts'
import { ownDatabase } from '../support/services.ts'
import { PATIENT, SERVERS } from './servers.ts'

test('what a server or a connection says is told apart', () => {
  const postgres = (code: string) => ({ code, severity: 'ERROR' })
  const mysql = (errno: number, sqlState: string) => ({ errno, sqlState, code: 'ER_SOMETHING' })
  const away = [new Error('Connection terminated unexpectedly'), { code: 'ECONNREFUSED' }, { code: '23505' }]
  const cases: [object, ReturnType<typeof faultOf>][] = [
    ...away.map((error) => [error, 'unreachable'] as [object, 'unreachable']),
    [postgres('57P01'), 'unreachable'],
    [postgres('57014'), 'unreachable'],
    [postgres('08006'), 'unreachable'],
    [postgres('25006'), 'unreachable'],
    [postgres('53300'), 'unreachable'],
    [postgres('28P01'), 'refused'],
    [postgres('3D000'), 'refused'],
    [mysql(1045, '28000'), 'refused'],
    [mysql(1049, '42000'), 'refused'],
    [postgres('53100'), 'full'],
    [postgres('40001'), 'retry'],
    [postgres('40P01'), 'retry'],
    [postgres('42P01'), 'failed'],
    [postgres('57000'), 'failed'],
    [mysql(1040, '08004'), 'unreachable'],
    [mysql(1053, '08S01'), 'unreachable'],
    [mysql(1205, 'HY000'), 'unreachable'],
    [mysql(1290, 'HY000'), 'unreachable'],
    [mysql(1114, 'HY000'), 'full'],
    [mysql(1213, '40001'), 'retry'],
    [mysql(1062, '23000'), 'taken'],
    [mysql(1048, '23000'), 'failed'],
    [mysql(1064, '42000'), 'failed'],
    [new SyntaxError('not JSON'), 'failed'],
  ]
  for (const [error, fault] of cases) assert.equal(faultOf(error), fault, JSON.stringify(error))
})

test('an error without a message of its own is told by its parts or its code', () => {
  assert.equal(messageOf(new Error('away')), 'away')
  const refused = new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')])
  assert.equal(messageOf(refused), '::1 refused, 127.0.0.1 refused')
  assert.equal(messageOf(Object.assign(new Error(''), { code: 'ECONNRESET' })), 'ECONNRESET')
})

for (const { type, server, skip } of SERVERS)
  test(`${type}: every scheme that the settings take is understood`, { skip }, async (t) => {
    const schemes = type === 'postgres' ? ['postgres', 'postgresql'] : ['mysql', 'mariadb']
    const url = await ownDatabase(t, server)
    for (const scheme of schemes) {
      const store = await openSqlStore(type, url.replace(/^\w+/, scheme), PATIENT)
      assert.equal(await store.delete({ caller: 'ann', access: 'all' }, 1n), false)
      await store.close()
    }
  })
