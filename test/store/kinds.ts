import { join } from 'node:path'
import { temporaryFolder } from '../support/process.ts'
import { mysqlUrl, ownDatabase, postgresUrl, skipUnless } from '../support/services.ts'
import type { Kind } from './contract.ts'

/** The four stores, each test on a folder or database of its own. */
export const KINDS: Kind[] = [
  {
    type: 'directory',
    make: async (t) => ({ type: 'directory', path: join(temporaryFolder(t), 'configs') }),
  },
  {
    type: 'lowdb',
    make: async (t) => ({ type: 'lowdb', file: join(temporaryFolder(t), 'data/store.json') }),
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
