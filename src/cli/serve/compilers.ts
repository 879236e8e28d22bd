import { setFlagsFromString } from 'node:v8'
import { isGiven } from './node-options.ts'

/** Whether Node was built with Maglev, which is on by default then: from 24 on. */
const { v8_enable_maglev: hasMaglev } = process.config.variables as { v8_enable_maglev?: number }

/**
 * Calls of a function before TurboFan compiles it. The default of V8 from Node 22 on is 3,000, which is meant for a V8 whose Maglev
 * compiles the function first, after 400. Without Maglev, the first 10,000 tool calls would take three to five times as long as
 * later ones.
 */
const CALLS_BEFORE_TURBOFAN = 400

let areOff = false

/**
 * `bin/plantgw.js` has turned V8's compilers off, as it does for a start unless the user has set them: to compile code that runs
 * once gains nothing and leaves 10 MiB behind, most of it pages of the compilers' own code.
 */
export function noteCompilersOff(): void {
  areOff = true
}

/** There is so much to read that compiled code pays. */
export function compileForReading(): void {
  if (areOff) set('--sparkplug', '--opt', ...(hasMaglev ? ['--maglev'] : []))
}

/**
 * The start is over: V8 may compile what calls run. Maglev stays off, as it leaves 25 MiB behind under load, and warm calls
 * take as much CPU without it. TurboFan begins early in its place, unless the user has said when.
 */
export function compileForCalls(): void {
  if (!areOff) return
  set('--sparkplug', '--opt', '--no-maglev')
  const [major] = process.versions.node.split('.')
  // V8 of Node 20 does not know the flag.
  if (Number(major) >= 22 && !isGiven(/-invocation-count-for-turbofan=/))
    set(`--invocation-count-for-turbofan=${CALLS_BEFORE_TURBOFAN}`)
}

function set(...flags: string[]): void {
  for (const flag of flags) setFlagsFromString(flag)
}
