// Is loaded into a gateway before itself: the workers that FAIL_WORKERS names fail once each at the question FAIL_AT, or
// all of them before they run anything.
import { writeFileSync } from 'node:fs'

const { FAIL_AT, FAIL_HOW, FAIL_WORKERS = '', FAIL_MARK } = process.env
const FAILURES = {
  throw: (message) => {
    message.value = null
  },
  // As V8 does when memory is short.
  abort: () => process.abort(),
  kill: () => process.kill(process.pid, 'SIGKILL'),
  stop: () => process.kill(process.pid, 'SIGSTOP'),
}
let worker

if (process.send && FAIL_AT === 'load') FAILURES[FAIL_HOW]()
process.send &&
  process.on('message', (message) => {
    if (message.ask === 'begin') worker = String(message.value.worker)
    if (message.ask !== FAIL_AT || !FAIL_WORKERS.split(' ').includes(worker)) return
    try {
      writeFileSync(`${FAIL_MARK}${worker}`, String(process.pid), { flag: 'wx' })
    } catch {
      return
    }
    FAILURES[FAIL_HOW](message)
  })
