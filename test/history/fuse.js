// Kills its process, as a power cut would, before one of the next steps that it takes to change files: `arm` says which one.
// With `--import` it works in the built command line too.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

let left = Number(process.env.PLANTGW_TEST_FUSE ?? Number.POSITIVE_INFINITY)

export function arm(steps) {
  left = steps
}

function burning(object, names) {
  for (const name of names) {
    const original = object[name]
    object[name] = function (...args) {
      left--
      if (left === 0) process.kill(process.pid, 'SIGKILL')
      return original.apply(this, args)
    }
  }
}

const file = await fs.promises.open('/dev/null')
burning(Object.getPrototypeOf(file), ['chmod', 'writeFile', 'sync'])
await file.close()
burning(fs.promises, ['open', 'symlink', 'rename', 'rm'])
syncBuiltinESMExports()
