// The seam `fs`: every function of node:fs, and of its promises and file handles, on a path below `orders.within`.
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getSystemErrorMap } from 'node:util'

const ERRNO = new Map([...getSystemErrorMap()].map(([errno, [code, text]]) => [code, { errno, text }]))
/** What each can meet, by the beginning of its name. */
const ERRORS = [
  [/^(write|append|copyFile)/, ['ENOSPC', 'EIO', 'EFBIG']],
  [/^open/, ['EMFILE', 'EIO', 'ENFILE']],
  [/^(mkdir|symlink|link|rename|mkdtemp)/, ['ENOSPC', 'EIO', 'EACCES']],
  [/^watch/, ['EMFILE', 'ENOSPC']],
  [/./, ['EIO']],
]
/** Write with a length, and read less than asked without being at the end. */
const SHORT = /^(write|append|readSync$|read$)/
/** They keep nothing and ask nothing of the disk. */
const LEFT =
  /^(Stats|Dirent|ReadStream|WriteStream|FileReadStream|FileWriteStream|Dir|_|unwatchFile|createReadStream|createWriteStream|promises|constants|openAsBlob|watchFile|realpath$|realpathSync$)/

export async function install({ orders, step, draw }) {
  const descriptors = new Map()
  const handles = new WeakMap()
  /** True in what an operation does itself. */
  const inside = new AsyncLocalStorage()

  /** The path that arguments name, if it is of the scenario. */
  function pathOf(args) {
    for (const given of args.slice(0, 2)) {
      if (typeof given === 'number' && given === args[0]) return descriptors.get(given)
      const path =
        given instanceof URL ? fileURLToPath(given) : Buffer.isBuffer(given) ? String(given) : given
      if (typeof path !== 'string') continue
      if (orders.within.some((folder) => path === folder || path.startsWith(folder + sep))) return path
    }
    return undefined
  }

  function errorOf(name, path) {
    const code = draw(ERRORS.find(([pattern]) => pattern.test(name))[1])
    const { errno, text } = ERRNO.get(code)
    const syscall = name.replace(/Sync$/, '')
    return Object.assign(new Error(`${code}: ${text}, ${syscall} '${path}'`), { errno, code, syscall, path })
  }

  const modesOf = (name, isSync) => [
    'fail',
    ...(isSync ? [] : ['hang']),
    ...(SHORT.test(name) ? ['short'] : []),
  ]

  /** The arguments of a read or write of half as much; undefined where the operation is all or nothing. */
  function halved(name, args) {
    const at = args.findIndex((one) => ArrayBuffer.isView(one) || typeof one === 'string')
    const data = args[at]
    if (data === undefined || !/^(write|writeSync|read|readSync)$/.test(name)) return undefined
    if (typeof data === 'string') return args.with(at, data.slice(0, Math.ceil(data.length / 2)))
    const offset = typeof args[at + 1] === 'number' ? args[at + 1] : 0
    const length = typeof args[at + 2] === 'number' ? args[at + 2] : data.byteLength - offset
    const rest = args.slice(at + 1).filter((one, i) => i > 1 || typeof one !== 'number')
    return [...args.slice(0, at + 1), offset, Math.ceil(length / 2), ...rest]
  }

  /** Half of what a call that writes everything was given, after so many arguments. */
  function halfOf(args, at = 1) {
    const data = args[at]
    const isData = ArrayBuffer.isView(data) || typeof data === 'string'
    return isData ? args.with(at, data.slice(0, Math.ceil(data.length / 2))) : args
  }

  function wrapSync(owner, name) {
    const original = owner[name]
    owner[name] = Object.assign(function (...args) {
      const path = inside.getStore() ? undefined : pathOf(args)
      if (path === undefined) return original.apply(this, args)
      const fault = step(name, path, modesOf(name, true))
      const run = (given) => inside.run(true, () => original.apply(this, given))
      if (fault === 'fail') {
        if (name === 'existsSync') return false
        // The system lets go of a file also where it says that closing failed.
        if (name === 'closeSync') run(args)
        throw errorOf(name, path)
      }
      if (fault === 'short') {
        const less = halved(name, args)
        if (less) return run(less)
        run(halfOf(args))
        throw errorOf(name, path)
      }
      const result = run(args)
      if (name === 'openSync') descriptors.set(result, path)
      if (name === 'closeSync') descriptors.delete(args[0])
      return result
    }, original)
  }

  function wrapCallback(owner, name) {
    const original = owner[name]
    owner[name] = Object.assign(function (...args) {
      const path = inside.getStore() ? undefined : pathOf(args)
      if (path === undefined || typeof args.at(-1) !== 'function') return original.apply(this, args)
      const callback = AsyncResource.bind(args.at(-1))
      const run = (...given) => inside.run(true, () => original.apply(this, given))
      const fault = step(name, path, modesOf(name, false))
      if (fault === 'hang') return
      if (fault === 'fail') {
        const error = errorOf(name, path)
        if (name !== 'close') process.nextTick(callback, error)
        else run(args[0], () => callback(error))
        return
      }
      const done = (error, result, ...more) => {
        if (name === 'open' && !error) descriptors.set(result, path)
        if (name === 'close') descriptors.delete(args[0])
        callback(error, result, ...more)
      }
      const plain = args.slice(0, -1)
      if (fault !== 'short') return run(...plain, done)
      const less = halved(name, plain)
      if (less) return run(...less, done)
      run(...halfOf(plain), () => callback(errorOf(name, path)))
    }, original)
  }

  function wrapPromise(owner, name, find) {
    const original = owner[name]
    owner[name] = async function (...args) {
      const path = inside.getStore() ? undefined : find(this, args)
      if (path === undefined) return original.apply(this, args)
      const run = (given) => inside.run(true, () => original.apply(this, given))
      const fault = step(name, path, modesOf(name, false))
      if (fault === 'hang') return new Promise(() => {})
      if (fault === 'fail') {
        if (name === 'close') await run(args)
        throw errorOf(name, path)
      }
      if (fault === 'short') {
        const less = halved(name, args)
        if (less) return run(less)
        await run(halfOf(args, owner === FileHandle ? 0 : 1))
        throw errorOf(name, path)
      }
      const result = await run(args)
      if (name === 'open') handles.set(result, path)
      return result
    }
  }

  const handle = await fs.promises.open('/dev/null')
  await handle.close()
  const FileHandle = handle.constructor.prototype
  for (const name of Object.getOwnPropertyNames(FileHandle)) {
    const { value } = Object.getOwnPropertyDescriptor(FileHandle, name)
    if (
      typeof value === 'function' &&
      /^(append|chmod|chown|datasync|sync|read$|readFile|readv|stat|truncate|utimes|write|close)/.test(name)
    )
      wrapPromise(FileHandle, name, (handle) => handles.get(handle))
  }
  for (const name of Object.keys(fs.promises))
    if (typeof fs.promises[name] === 'function' && name !== 'watch')
      wrapPromise(fs.promises, name, (_, args) => pathOf(args))
  for (const name of Object.keys(fs)) {
    if (typeof fs[name] !== 'function' || LEFT.test(name)) continue
    if (name.endsWith('Sync') || name === 'watch') wrapSync(fs, name)
    else wrapCallback(fs, name)
  }
  syncBuiltinESMExports()
}
