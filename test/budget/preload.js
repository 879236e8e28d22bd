// Loaded into the gateway's process by NODE_OPTIONS: tells over a socket how long its event loop was held at the most
// since the last question. The gateway itself knows nothing of it.
import { closeSync, openSync, readSync } from 'node:fs'
import { createServer } from 'node:net'
import { performance } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/** Milliseconds between two looks. */
const STEP = 2

if (isMainThread && process.env.PLANTGW_TEST_PROBE) {
  const worked = workOfThread()
  let last = performance.now()
  let lastWorked = worked()
  let longest = 0
  const look = () => {
    const now = performance.now()
    const work = worked()
    // A machine that runs other programs holds the process up, not its loop: what the thread worked is the bound.
    longest = Math.max(longest, Math.min(now - last - STEP, work - lastWorked))
    last = now
    lastWorked = work
  }
  setInterval(look, STEP).unref()
  createServer((socket) => {
    socket.on('error', () => {})
    // The timers of a turn that was held run before its answer.
    setTimeout(() => {
      look()
      socket.end(String(longest))
      longest = 0
    }, 2 * STEP)
  })
    .listen(Number(process.env.PLANTGW_TEST_PROBE), '127.0.0.1')
    .unref()
}

/** Tells the milliseconds of CPU of this thread, where Linux knows them; else of the process. */
function workOfThread() {
  const ofProcess = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  try {
    const file = openSync('/proc/thread-self/schedstat')
    const bytes = Buffer.alloc(64)
    const read = () =>
      Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, 64, 0)).split(' ')[0]) / 1e6
    if (read() > 0) return read
    closeSync(file)
  } catch {
    // Not Linux.
  }
  return ofProcess
}
