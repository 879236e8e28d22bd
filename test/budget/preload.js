// Loaded into the gateway's process by NODE_OPTIONS: tells over a socket how long its event loop was held at the most
// since the last question. The gateway itself knows nothing of it.
import { createServer } from 'node:net'
import { PerformanceObserver, performance } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/** Milliseconds between two looks. */
const STEP = 2

if (isMainThread && process.env.PLANTGW_TEST_PROBE) {
  let last = performance.now()
  let lastCpu = process.cpuUsage()
  let longest = { held: 0, wall: 0, gc: 0 }
  let gc = 0
  const look = () => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(lastCpu)
    lastCpu = process.cpuUsage()
    const wall = now - last - STEP
    last = now
    // A machine that runs other programs holds the process up, not its loop: what it worked is the bound.
    const held = Math.min(wall, (user + system) / 1000)
    if (held > longest.held) longest = { held, wall, gc }
    gc = 0
  }
  setInterval(look, STEP).unref()
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) gc += duration
  }).observe({ entryTypes: ['gc'] })
  createServer((socket) => {
    socket.on('error', () => {})
    // The timers of a turn that was held run before its answer.
    setTimeout(() => {
      look()
      socket.end(JSON.stringify(longest))
      longest = { held: 0, wall: 0, gc: 0 }
    }, 2 * STEP)
  })
    .listen(Number(process.env.PLANTGW_TEST_PROBE), '127.0.0.1')
    .unref()
}
