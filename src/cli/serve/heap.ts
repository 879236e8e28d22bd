import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/**
 * Bytes of the heap's young part, both halves. Of what a call makes nearly nothing is kept, so that a larger part saves at most
 * 5 % of its CPU, and V8 lets it grow to 32 MiB on Node 20 and to 128 on Node 24. With half as much calls take up to 9 % more.
 */
const YOUNG = 16 * 2 ** 20

/** Of so many configurations that were read at once more is left behind than is kept. */
const MANY = 3_000

let isHeld = false

/**
 * Keeps the young part of the heap from growing, where the user has not said how large it may be: a start is no faster by it.
 * V8 takes a limit from the command line alone; how fast that part grows it asks each time.
 */
export function holdYoungHeap(): void {
  const given = [...process.execArgv, process.env.NODE_OPTIONS]
  if (given.some((flags) => flags?.includes('semi-space'))) return
  isHeld = true
  growBy(1)
}

/** The start is over, and from now on somebody waits for answers. */
export async function settleHeap(configurations: number): Promise<void> {
  if (configurations >= MANY) await collectGarbage()
  letYoungHeapGrow()
}

/** Lets it grow to `YOUNG`, as calls need, where it is held. */
function letYoungHeapGrow(): void {
  if (!isHeld) return
  let last = 1
  const choose = () => {
    const factor = 2 * youngSize() <= YOUNG ? 2 : 1
    if (factor !== last) growBy(factor)
    last = factor
  }
  new PerformanceObserver(choose).observe({ entryTypes: ['gc'] })
}

function growBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.space_size
}

/**
 * Gives back what the first table of many configurations leaves behind, while nobody waits for an answer: V8 would keep much
 * of it, as it does not know that a gateway that was started needs little. The inspector has a thorough collection; after
 * it calls take about 6 % more CPU, so that it does not pay for fewer. `gc` of `--expose-gc` would have to be
 * looked for in a new context, which costs 12 %.
 */
async function collectGarbage(): Promise<void> {
  if (!process.features.inspector) return
  const { Session } = await import('node:inspector')
  const session = new Session()
  session.connect()
  // What a first one has found to be scattered, a second one moves together.
  for (let i = 0; i < 2; i++) await new Promise((done) => session.post('HeapProfiler.collectGarbage', done))
  session.disconnect()
}
