import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** As V8's `--expose-gc` has it. Node 20 does nothing where it is asked for the thorough kind. */
type Collect = (options?: { type: 'major'; flavor: 'last-resort' }) => void

/** Of so many configurations that were read at once more is left behind than is kept. */
const MANY = 3_000

/**
 * Gives back what the first table of many configurations leaves behind, while nobody waits for an answer. V8 would keep
 * much of it, as it does not know that a gateway that was started needs little.
 */
export function collectGarbage(configurations: number): void {
  if (configurations < MANY) return
  setFlagsFromString('--expose-gc')
  const collect: Collect = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', flavor: 'last-resort' })
  // What a first one has found to be scattered, a second one moves together.
  collect()
  collect()
}
