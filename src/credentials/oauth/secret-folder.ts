import { chmod, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, syncFolder } from '../../store/file.ts'
import { withLock } from '../../store/lock.ts'
import { StoreError, writeError } from '../../store/store-error.ts'
import type { SecretStore } from './secret-store.ts'

const ENDING = '.sealed'

/** Each text in a file of its own, which only the user of this process can read (mode 0600). */
export function secretFolder(folder: string): SecretStore {
  const fileOf = (id: string) => join(folder, id + ENDING)
  return {
    label: `folder:${folder}`,
    get: (id) => read(fileOf(id)),
    async ids() {
      const names = await readdir(folder).catch(unlessAbsent(folder))
      return (names ?? []).flatMap((name) => (name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : []))
    },
    async change(id, work) {
      const file = fileOf(id)
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await chmod(folder, 0o700)
      } catch (error) {
        throw writeError(folder, error)
      }
      return withLock(`${file}.lock`, `a login in ${folder}`, async (lock) =>
        work(await read(file), async (text) => {
          if (!(await lock.held())) throw new StoreError('locked', `another process took over ${file}`)
          try {
            if (text !== undefined) await replaceFile(file, `${file}.tmp`, [text])
            else await rm(file, { force: true }).then(() => syncFolder(folder))
          } catch (error) {
            throw writeError(file, error)
          }
        }),
      )
    },
    async close() {},
  }
}

function read(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(unlessAbsent(file))
}

function unlessAbsent(path: string): (error: NodeJS.ErrnoException) => undefined {
  return ({ code, message }) => {
    if (code !== 'ENOENT') throw new StoreError('failed', `cannot read ${path}: ${message}`)
  }
}
