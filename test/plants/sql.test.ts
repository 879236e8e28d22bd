import { test } from 'node:test'
import { openSqlStore } from '../../src/plants/sql.ts'
import { ownDatabase } from '../support/services.ts'
import { contract } from './contract.ts'
import { PATIENT, SERVERS } from './servers.ts'

for (const { type, server, skip } of SERVERS) {
  if (skip) test(type, { skip }, () => {})
  else
    contract(type, async (t) => {
      const url = await ownDatabase(t, server)
      let store = await openSqlStore(type, url, PATIENT)
      t.after(() => store.close())
      return {
        store,
        async reopen() {
          await store.close()
          store = await openSqlStore(type, url, PATIENT)
          return store
        },
      }
    })
}
