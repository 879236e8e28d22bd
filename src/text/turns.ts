/**
 * Long work in short turns of the event loop: a stage that may take long for a large value asks `turnIsOver`
 * before it begins or goes on, and awaits `nextTurn` where it is. Small work pays for a look at the clock.
 */

/** Milliseconds of work after which others get their turn. */
const TURN = 15

/** The turn that was seen last, and when its work was first asked about. */
let turn = -1
let began = 0
/** When it was seen. */
let seen = 0
/**
 * Milliseconds in which the turn is not asked for again, as that takes longer than to ask for the time. A turn may last so much
 * longer.
 */
const GLANCE = 1

/** Turns that are over, where Node does not count them: on 22 before 22.8. */
let over = 0
let isCounting = false

/** The number of this turn. An immediate at the end of each would have Node look at all sockets once more. */
function currentTurn(): number {
  const counted = performance.nodeTiming.uvMetricsInfo?.loopCount
  if (counted !== undefined) return counted
  if (!isCounting) setImmediate(countTurn)
  isCounting = true
  return over
}

function countTurn(): void {
  isCounting = false
  over++
}

/** Whether the work of this turn, whoever did it, has taken so long that more of it belongs into another one. */
export function turnIsOver(): boolean {
  const now = performance.now()
  if (now - seen < GLANCE) return false
  const current = currentTurn()
  if (current === turn && now - began > TURN) return true
  if (current !== turn) began = now
  turn = current
  seen = now
  return false
}

const waiting: (() => void)[] = []
/** Whether those who wait go on now, or will. */
let isGoing = false
/** Since when others have had their turn. */
let since = 0
/** Milliseconds in which those who wait go on. */
let share = TURN

/** Resolves in a later turn, in which those who wait here go on one after another until their share of it is over. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    // A second immediate would give them a second share of the same turn.
    if (isGoing) return
    isGoing = true
    turnIsOver()
    since = began
    setImmediate(goOn)
  })
}

/** As much as all others had: with less of it, calls would hardly go on while many new requests come. */
function goOn(): void {
  const now = performance.now()
  share = Math.max(TURN, now - since)
  turn = currentTurn()
  began = now
  next()
}

function next(): void {
  const now = performance.now()
  const isOver = now - began >= share
  const resolve = isOver ? undefined : waiting.shift()
  if (resolve) {
    resolve()
    // Behind all promises, and so behind what it does now.
    queueMicrotask(() => process.nextTick(next))
    return
  }
  // What follows in this turn is the work of others.
  began = now
  since = now
  if (waiting.length > 0) setImmediate(goOn)
  else isGoing = false
}

/** Between two stages that may each take long: to be awaited, and resolves at once while the turn is young. */
export function giveWay(): Promise<void> | undefined {
  return turnIsOver() ? nextTurn() : undefined
}

/** Milliseconds of work in the background after which calls have their turn: they take two to go out and come back. */
const BACKGROUND_TURN = 1

/** Since when work in the background goes on. Only its own work counts: calls would not let it go on otherwise. */
let resumed = 0

/** In long work that calls should not wait for: to be awaited, and resolves at once while the turn is young. */
export function giveWayToCalls(): Promise<void> | undefined {
  if (performance.now() - resumed < BACKGROUND_TURN) return undefined
  return new Promise((resolve) => {
    setImmediate(() => {
      resumed = performance.now()
      resolve()
    })
  })
}

/** Work that yields wherever it may pause, and returns what it comes to. */
export type Steps<T> = Generator<void, T, void>

/** Does all of it without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

/** Makes one thing of each item, with a pause between two. */
export function* mapped<Item, Made>(items: Iterable<Item>, make: (item: Item) => Made): Steps<Made[]> {
  const all: Made[] = []
  for (const item of items) {
    all.push(make(item))
    yield
  }
  return all
}

/** Does it in the background. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    const pause = giveWayToCalls()
    if (pause) await pause
    step = steps.next()
  }
  return step.value
}
