import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Hono } from 'hono'
import type { PlantSettings } from '../../src/config/model.ts'
import { type JudgeLogin, plantsApp } from '../../src/plants/app.ts'
import { openPlants, type Plants } from '../../src/plants/index.ts'
import { lowdbStore, type PlantAdapter } from '../../src/plants/lowdb.ts'
import type { Snapshot } from '../../src/plants/plant-format.ts'
import type { Access, Plant, PlantStore } from '../../src/plants/store.ts'

export const TOKENS: PlantSettings['tokens'] = [
  { token: 'token-ann', caller: 'ann', access: 'own' },
  { token: 'token-bob', caller: 'bob', access: 'own' },
  { token: 'token-root', caller: 'root', access: 'all' },
]

/** A new folder that is removed after the test. */
export async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'plants-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

/** The plant store on a file of its own, closed after the test. */
export async function opened(t: TestContext, settings: Partial<PlantSettings> = {}): Promise<Plants> {
  const file = join(await folder(t), 'plants.json')
  const plants = await openPlants({
    basePath: '/',
    storage: { type: 'lowdb', file },
    tokens: TOKENS,
    ...settings,
  })
  t.after(() => plants.close())
  return plants
}

/** An app on a store without a disk. */
export function appOn(store: PlantStore, onError?: (error: Error) => void, judgeLogin?: JudgeLogin): Hono {
  const settings: PlantSettings = { basePath: '/', storage: { type: 'lowdb', file: '' }, tokens: TOKENS }
  return plantsApp(settings, store, onError, judgeLogin)
}

/** An adapter that keeps what is written; its `write` can be replaced. */
export function memory(): { adapter: PlantAdapter; store: PlantStore; written: Snapshot[] } {
  const written: Snapshot[] = []
  const adapter: PlantAdapter = {
    read: async () => null,
    write: async (data) => void written.push(data),
    erase: async () => {},
  }
  return { adapter, store: lowdbStore(adapter, new Map()), written }
}

export interface Call {
  method?: string
  /** Default `token-ann`; null sends no credential. */
  token?: string | null
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  headers?: Record<string, string>
}

/** One request to the app; a body is sent as JSON unless the headers say otherwise. */
export async function call(
  app: Hono,
  path: string,
  { method, token = 'token-ann', body, headers }: Call = {},
) {
  return await app.request(path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body, duplex: 'half' }),
  })
}

/** A store of which every operation fails with the error. */
export function failing(error: Error): PlantStore {
  const fail = () => Promise.reject(error)
  const list = () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) })
  return { create: fail, delete: fail, page: fail, list, close: async () => {} }
}

/** All of a list in one. */
export async function listed(store: PlantStore, access: Access): Promise<Plant[]> {
  const plants: Plant[] = []
  for await (const piece of store.list(access)) plants.push(...piece)
  return plants
}

export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
