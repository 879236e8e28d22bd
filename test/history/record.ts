import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { StorageSettings } from '../../src/config/index.ts'
import { createRandom, type Random } from '../fuzz/random.ts'
import { sound } from '../store/files.ts'
import { type Fate, proxyTo } from '../store/proxy.ts'
import type { StoreOperation, Traits } from './model.ts'
import type { Worker } from './process.ts'
import { type Request, Requests, type Way } from './requests.ts'

/** Operations of one process, in a history of about 75. */
const OPERATIONS = { lasting: 22, command: 3 }
/** A relay does something to one of so many pieces of bytes, a fuse burns in one of so many operations. */
const FAULT_IN_PIECES = 60
const FUSE_IN_OPERATIONS = 6
/** Steps by which a change of files is done at most, about. */
const STEPS = 30
const LONGEST_DELAY = 15

export interface Counts {
  operations: number
  unknown: number
  kills: number
  cuts: number
  delays: number
}

export interface Recorded {
  operations: StoreOperation[]
  traits: Traits
  counts: Counts
}

/** Those that work on a store at the same time, and one that starts when all is over. */
export interface Crew {
  lasting: Worker[]
  command: Worker
  last: Worker
}

/** Records what several processes do to a new store at once, and what is found in it afterwards. */
export async function record(
  t: Pick<TestContext, 'after'>,
  storage: StorageSettings,
  crew: Crew,
  folder: string,
  seed: number,
): Promise<Recorded> {
  const random = createRandom(seed)
  const keep = random.pick([undefined, 1, 2, 3])
  const isFolder = storage.type === 'directory'
  const requests = new Requests(random, mkdir(join(folder, 'in')), !isFolder)
  const counts = { operations: 0, unknown: 0, kills: 0, cuts: 0, delays: 0 }
  const operations: StoreOperation[] = []
  let time = 0

  async function perform(worker: Worker, request: Request, fuse?: number): Promise<void> {
    const operation: StoreOperation = {
      input: request.input,
      output: undefined,
      called: time++,
      answered: Number.POSITIVE_INFINITY,
    }
    operations.push(operation)
    counts.operations++
    const reply = await worker.ask(request.task, fuse)
    operation.output = reply && requests.read(request, reply)
    if (operation.output) operation.answered = time++
    else counts.unknown++
    if (!reply) counts.kills++
  }

  async function work(worker: Worker, index: number): Promise<void> {
    const isCommand = worker === crew.command
    const fault = createRandom(seed * 31 + index)
    const through = 'url' in storage && (await proxyTo(t, storage.url, fates(fault, worker, counts)))
    const way = wayTo(
      join(folder, `${index}.yaml`),
      through ? { ...storage, url: through.url } : storage,
      keep,
    )
    for (let n = isCommand ? OPERATIONS.command : OPERATIONS.lasting; n > 0; n--) {
      const fuse = !through && fault.once(FUSE_IN_OPERATIONS) ? 1 + fault.below(STEPS) : undefined
      await perform(worker, requests.next(way, isCommand), fuse)
    }
    if (through) await through.stop()
  }

  // Whatever one of them found, nobody is at work any more when the test ends.
  const ends = await Promise.allSettled([...crew.lasting, crew.command].map(work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  const way = wayTo(join(folder, 'last.yaml'), storage, keep)
  await perform(crew.last, requests.all(way))
  if (!isFolder) for (const name of requests.names) await perform(crew.last, requests.history(way, name))
  await perform(crew.command, requests.applyCommand(way, requests.names, true))
  await perform(crew.last, requests.all(way))
  const traits = isFolder ? { hash: hashOf(operations), keep: 1 } : { keep: keep ?? Number.POSITIVE_INFINITY }
  return { operations, traits, counts }
}

function mkdir(path: string): string {
  mkdirSync(path)
  return path
}

function wayTo(settings: string, storage: StorageSettings, keep: number | undefined): Way {
  const kept = storage.type === 'directory' || keep === undefined ? storage : { ...storage, keep }
  writeFileSync(settings, JSON.stringify({ storage: kept }))
  return { storage: kept, settings }
}

/** What a relay does to the bytes of one process. */
function fates({ below, pick }: Random, worker: Worker, counts: Counts): () => Promise<Fate> {
  let left = 1 + below(2 * FAULT_IN_PIECES)
  return async () => {
    if (--left > 0) return 'pass'
    left = 1 + below(2 * FAULT_IN_PIECES)
    const what = pick(['kill', 'cut', 'cut', 'delay', 'delay', 'delay'])
    if (what === 'delay') {
      counts.delays++
      await delay(1 + below(LONGEST_DELAY))
      return 'pass'
    }
    if (what === 'kill') {
      worker.kill()
      return pick(['pass', 'cut'])
    }
    counts.cuts++
    return pick(['last', 'cut'])
  }
}

/** In a folder the version is the hash of the whole text, of which the history has the note. */
function hashOf(operations: readonly StoreOperation[]): (note: string) => string {
  const changes = operations.flatMap(({ input }) => (input.kind === 'change' ? input.changes : []))
  const names = new Map(changes.map(({ name, text }) => [text, name]))
  return (note) =>
    createHash('sha256')
      .update(sound(names.get(note)!, note))
      .digest('hex')
      .slice(0, 12)
}
