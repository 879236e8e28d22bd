import { setFlagsFromString } from 'node:v8'

/** Whether Node was built with Maglev, which is on by default then: from 24 on. */
const { v8_enable_maglev: hasMaglev } = process.config.variables as { v8_enable_maglev?: number }

/**
 * Calls of a function before TurboFan compiles it. V8 from Node 22 on waits for 3,000, as Maglev has compiled it after 400 by then;
 * without Maglev, the first 10,000 tool calls take three times as long as the later ones.
 */
const CALLS = 400
const [major] = process.versions.node.split('.')
const threshold = Number(major) < 22 ? [] : [`--invocation-count-for-turbofan=${CALLS}`]

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
 * take as much CPU without it.
 */
export function compileForCalls(): void {
  if (areOff) set('--sparkplug', '--opt', '--no-maglev', ...threshold)
}

function set(...flags: string[]): void {
  for (const flag of flags) setFlagsFromString(flag)
}
