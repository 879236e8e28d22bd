import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'

// The process table of Linux, as the tests of what is left behind see it.

/** Parent of a process, or `undefined` when it has ended; one that nobody has waited for still counts. */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before it is in brackets, and may hold anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** Whether a process runs, or is a zombie. */
export function exists(pid: number): boolean {
  return parentOf(pid) !== undefined
}

/** The processes that a process started and that have not gone. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((each) => each > 0 && parentOf(each) === pid)
}

/** Files, pipes and sockets that a process has open. */
export function openHandles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** Looks until it is so; rejects after 20 s, against a test that hangs. */
export async function becomes(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`it did not come to this: ${what}`)
    await turn()
  }
}
