/** Fairness: long work is done in pieces, and others get their turn between two of them. */

/** Characters, or members of values, of one piece of work. */
export const PIECE = 256 * 1024

const waiting: (() => void)[] = []

/** Resolves in a later turn of the event loop. Each turn resumes one waiter, in order. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resume)
  })
}

function resume(): void {
  waiting.shift()!()
  if (waiting.length > 0) setImmediate(resume)
}

/** Pauses between two stages of work on a value that is larger than a piece. */
export function pauseFor(value: unknown): Promise<void> | undefined {
  return roomLeft(value, PIECE) < 0 ? pause() : undefined
}

/** The remaining budget of characters and members after a value; negative: the value does not fit. */
function roomLeft(value: unknown, room: number): number {
  if (typeof value === 'string') return room - value.length
  if (typeof value !== 'object' || value === null) return room - 1
  let left = room
  for (const key in value) {
    left = roomLeft((value as Record<string, unknown>)[key], left - key.length)
    if (left < 0) break
  }
  return left
}

/** Meters the work of a loop: the returned function takes a part's size in characters, and pauses after each piece. */
export function paced(): (size: number) => Promise<void> | undefined {
  let done = 0
  return (size) => {
    done += size
    if (done < PIECE) return undefined
    done = 0
    return pause()
  }
}

/** Work that yields wherever it may pause, and returns its result. */
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

/** Does it with its pauses. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (!step.done) {
    await pause()
    step = steps.next()
  }
  return step.value
}
