import { executionAsyncResource } from 'node:async_hooks'
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { compileForCalls, compileForReading } from './compilers.ts'
import { isGiven } from './node-options.ts'

/**
 * Bytes of the heap's young part, both halves. Of what a call makes nearly nothing is kept, so that a larger part saves at most
 * 5 % of its CPU, and V8 lets it grow to 32 MiB on Node 20 and to 128 on Node 24. With half as much calls take up to 9 % more,
 * and a long start up to 13 %.
 */
const YOUNG = 16 * 2 ** 20

/** Bytes of the heap of some two thousand configurations: to collect it takes a tenth of a second. */
const LARGE = 64 * 2 ** 20

/** Megabytes of a half of the young part of a worker: memory counts for each of them. */
const HALF_OF_WORKER = 4

let isHeld = false

/** One of the objects that Node makes for each `process.nextTick`. */
const keptTicks: object[] = []

/**
 * Keeps V8 from forgetting the shape of the objects that Node makes for each `process.nextTick`, by keeping one of them. A
 * thorough collection that finds none drops the shape. The next object gets a new one, which is one too many for the inline
 * cache of the code that makes them: from then on that code takes two to three times as long. A call makes eight.
 */
export function keepTicks(): void {
  process.nextTick(() => keptTicks.push(executionAsyncResource()))
}

/** Milliseconds of reading from which on there is much to read. */
const LONG = 300
let beginning: NodeJS.Timeout | undefined

/**
 * Keeps the young part of the heap from growing, where the user has not said how large it may be: most starts are no faster by
 * it. V8 takes a limit from the command line alone; how fast that part grows it asks each time.
 */
export function holdYoungHeap(): void {
  if (isSizeGiven()) return
  isHeld = true
  growBy(1)
  // V8 of Node 20 sets the factor back with each thread.
  process.on('worker', (thread) => thread.once('online', () => growBy(factor)))
}

/** What keeps the memory of a worker small, unless the user has set it: options of Node, and variables of its process. */
export function workerMemory(): { nodeOptions: string[]; env: Record<string, string> } {
  return {
    nodeOptions: isSizeGiven() ? [] : [`--max-semi-space-size=${HALF_OF_WORKER}`],
    // glibc has an arena for each thread, which keeps what V8's compilers needed there: 10 MiB after load.
    env: { MALLOC_ARENA_MAX: '1' },
  }
}

function isSizeGiven(): boolean {
  return isGiven(/semi-space/)
}

/**
 * Has one thread collect the young part, unless the user has said how. Helpers find little to keep there; to wake them costs
 * more than they save: 7 % of the CPU of a long start on two cores.
 */
function collectAlone(): void {
  if (!isGiven(/--(?:no-?)?parallel-scavenge\b/)) setFlagsFromString('--no-parallel-scavenge')
}

/** Reading begins. Where there is much to read, compiled code and a larger young part pay. */
export function beginReading(): void {
  collectAlone()
  beginning = setTimeout(() => {
    compileForReading()
    letGrow()
  }, LONG).unref()
}

/** The start is over, and from now on somebody waits for answers. */
export async function settleHeap(): Promise<void> {
  clearTimeout(beginning)
  await collectGarbage()
  letGrow()
  compileForCalls()
}

/** Milliseconds until the next look whether it may grow further. */
const LOOK = 5_000
/** Collections after which a part that has not grown is large enough for what is done, or as large as V8 lets it be. */
const ENOUGH = 100

/** The size of the young part in bytes, and collections since it has that. */
let size = 0
let collections = 0
let nextLook: NodeJS.Timeout | undefined
/** To hear of each collection costs calls 1 % of their CPU, so nobody listens once it grows no more. */
const growing = new PerformanceObserver(() => {
  const last = size
  size = youngSize()
  if (size !== last) collections = 0
  if (2 * size > YOUNG || ++collections > ENOUGH) rest()
})

/** Lets it grow, as what is done needs it, where it is held. */
function letGrow(): void {
  if (isHeld) look()
}

function look(): void {
  clearTimeout(nextLook)
  size = youngSize()
  collections = 0
  if (2 * size > YOUNG) {
    rest()
    return
  }
  growBy(2)
  growing.observe({ entryTypes: ['gc'] })
}

function rest(): void {
  growBy(1)
  growing.disconnect()
  nextLook = setTimeout(look, LOOK).unref()
}

let factor = 1

function growBy(given: number): void {
  factor = given
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.space_size
}

/**
 * Gives back what the start leaves behind, while nobody waits for an answer: V8 would keep much of it, as it does not know
 * that a gateway that was started needs little. The inspector has a thorough collection, of 50 ms for a few
 * configurations; `gc` of `--expose-gc` would have to be looked for in a new context, which makes calls 12 % slower.
 */
async function collectGarbage(): Promise<void> {
  if (!process.features.inspector) return
  const { Session } = await import('node:inspector')
  const session = new Session()
  try {
    session.connect()
  } catch {
    // Node's permission model denies it.
    return
  }
  const collect = () => new Promise((done) => session.post('HeapProfiler.collectGarbage', done))
  await collect()
  // A second one moves together what the first one found to be scattered; in a large heap it gains next to nothing.
  if (getHeapStatistics().used_heap_size < LARGE) await collect()
  session.disconnect()
}
