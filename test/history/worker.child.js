// Works on a store as its parent says, one request after the other: by the built command line, or by a store that stays open.
import { main } from '../../dist/cli/main.js'
import { openStore } from '../../dist/store/index.js'
import { arm } from './fuse.js'

let opened = { key: undefined, store: undefined, last: undefined }

process.on('message', async ({ storage, argv, call, args, fuse }) => {
  arm(fuse ?? Number.POSITIVE_INFINITY)
  process.send(argv ? await command(argv) : await onStore(storage, call, args))
})
process.send('ready')

async function command(argv) {
  const printed = { stdout: '', stderr: '' }
  const writes = [process.stdout.write, process.stderr.write]
  process.stdout.write = (text) => {
    printed.stdout += text
    return true
  }
  process.stderr.write = (text) => {
    printed.stderr += text
    return true
  }
  const code = await main(argv)
  ;[process.stdout.write, process.stderr.write] = writes
  return { code, ...printed }
}

async function onStore(storage, call, args) {
  const key = JSON.stringify(storage)
  if (key !== opened.key) {
    await opened.store?.close()
    opened = { key, store: await openStore(storage, {}), last: undefined }
  }
  try {
    return { value: (await (call === 'poll' ? poll() : opened.store[call](...args))) ?? null }
  } catch ({ name, kind, message, stack }) {
    return { error: { name, kind, message, stack } }
  }
}

/** As a gateway does: while the revision is the same, so is what was read. */
async function poll() {
  const { store, last } = opened
  if (last === undefined || (await store.revision()) !== last.revision) opened.last = await store.readAll()
  return opened.last
}
