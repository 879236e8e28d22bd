import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Logger } from '../telemetry/log.ts'
import type { Scan } from './folder-scan.ts'

interface Watched {
  watcher: FSWatcher
  /** Identity of the watched folder; a new folder of the same name differs. */
  identity: string
  names: ReadonlySet<string> | undefined
}

/**
 * File system events of folders, with one watcher each, as recursive watchers miss new and removed folders. Events may
 * be lost, so the owner also polls.
 */
export interface FolderWatchers {
  /** Watches exactly these folders; whether some are new. */
  watch(folders: Scan['folders']): Promise<boolean>
  close(): void
}

const REMEDIES: Record<string, string> = {
  ENOSPC:
    'Raise the limit, for example `sysctl fs.inotify.max_user_watches=524288`, as other programs use it too',
  EMFILE: 'Raise the limit, for example `sysctl fs.inotify.max_user_instances=1024`, or `ulimit -n`',
}

export function folderWatchers(onEvent: () => void, log: Logger): FolderWatchers {
  const watched = new Map<string, Watched>()
  let warned = false

  function open(folder: string, identity: string, names: Watched['names']): void {
    const watcher = watch(folder, { persistent: false })
    const own: Watched = { watcher, identity, names }
    const end = () => {
      watcher.close()
      if (watched.get(folder) === own) watched.delete(folder)
    }
    watcher.on('change', (_, given) => {
      const name = given === null ? undefined : String(given)
      // An event for the folder itself: it was removed or renamed, and the watcher may be dead.
      if (name === basename(folder)) end()
      else if (name !== undefined && (own.names ? !own.names.has(name) : isHidden(name))) return
      onEvent()
    })
    watcher.on('error', () => {
      end()
      onEvent()
    })
    watched.set(folder, own)
  }

  function refused(folder: string, error: NodeJS.ErrnoException): boolean {
    const remedy = REMEDIES[error.code ?? '']
    // A removed folder is no fault, and an unreadable one is reported by the reload.
    if (!remedy) return false
    if (!warned) log.warn({ folder, err: error, hint: remedy }, 'file watching unavailable; polling instead')
    warned = true
    return true
  }

  return {
    async watch(folders) {
      for (const [folder, { watcher }] of watched)
        if (!folders.has(folder)) {
          watcher.close()
          watched.delete(folder)
        }
      let fresh = false
      let full = false
      for (const [folder, names] of folders) {
        const identity = await identityOf(folder)
        const old = watched.get(folder)
        if (old && old.identity === identity) {
          old.names = names
          continue
        }
        old?.watcher.close()
        watched.delete(folder)
        if (identity === undefined || full) continue
        try {
          open(folder, identity, names)
          fresh = true
        } catch (error) {
          full = refused(folder, error as NodeJS.ErrnoException)
        }
      }
      if (!full) warned = false
      return fresh
    },
    close() {
      for (const { watcher } of watched.values()) watcher.close()
      watched.clear()
    },
  }
}

/** Temporary files of editors; `..data` is the link that Kubernetes replaces. */
function isHidden(name: string): boolean {
  return name.startsWith('.') && !name.startsWith('..')
}

async function identityOf(folder: string): Promise<string | undefined> {
  return stat(folder, { bigint: true }).then(
    ({ dev, ino, birthtimeNs }) => `${dev}-${ino}-${birthtimeNs}`,
    () => undefined,
  )
}
