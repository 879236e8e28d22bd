import { Worker } from 'node:worker_threads'

/** UTF-16 units of an input that are kept for the report. */
const ROOM = 64 * 1024

export interface Watchdog {
  begin(input: string): void
  end(): void
  close(): void
}

/** Runs beside the inputs: an input that does not end cannot be stopped from its own thread. */
const WORKER = `
const { workerData } = require('node:worker_threads')
const { writeFileSync, writeSync } = require('node:fs')
const { shared, file, limit } = workerData
const head = new Int32Array(shared, 0, 2)
const text = new Uint16Array(shared, 8)
let last = -1
let since = Date.now()
setInterval(() => {
  const [count, length] = head
  if (count !== last || length < 0) { last = count; since = Date.now(); return }
  if (Date.now() - since < limit) return
  let input = ''
  for (let i = 0; i < length; i++) input += String.fromCharCode(text[i])
  writeFileSync(file, JSON.stringify(input))
  writeSync(2, 'An input did not end within ' + limit + ' ms; it is in ' + file + '\\n')
  process.kill(process.pid, 'SIGKILL')
}, 500)
`

/** Ends the process, and writes the input to `file`, when one input takes longer than `limit` milliseconds. */
export function startWatchdog(file: string, limit = 30_000): Watchdog {
  const shared = new SharedArrayBuffer(8 + 2 * ROOM)
  const head = new Int32Array(shared, 0, 2)
  const text = new Uint16Array(shared, 8)
  head[1] = -1
  const worker = new Worker(WORKER, { eval: true, workerData: { shared, file, limit }, execArgv: [] })
  worker.unref()
  return {
    begin(input) {
      const length = Math.min(input.length, ROOM)
      for (let i = 0; i < length; i++) text[i] = input.charCodeAt(i)
      head[1] = length
      head[0]!++
    },
    end() {
      head[1] = -1
    },
    close: () => void worker.terminate(),
  }
}
