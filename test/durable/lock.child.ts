import { acquireLock, type Lock } from '../../src/store/lock.ts'

// Takes and releases the lock named on the command line when its parent says so.
const path = process.argv[2]!
let lock: Lock | undefined

process.on('message', async (request) => {
  if (request === 'take') {
    const taken = await acquireLock(path)
    lock = 'release' in taken ? taken : undefined
    process.send!(lock !== undefined)
  } else {
    await lock?.release()
    process.send!(true)
  }
})
process.send!('ready')
