import type { Stats } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { FSWatcher } from 'chokidar'
import type { Logger } from '../telemetry/log.ts'

const REMEDIES: Record<string, string> = {
  ENOSPC:
    'Raise the limit, for example `sysctl fs.inotify.max_user_watches=524288`, as other programs use it too',
  EMFILE: 'Raise the limit, for example `sysctl fs.inotify.max_user_instances=1024`, or `ulimit -n`',
}

/** File system events; some are lost, such as those of links above the paths, and of the targets of links in folders. */
export function fileEvents(paths: readonly string[], onEvent: () => void, log: Logger) {
  let watcher: FSWatcher | undefined
  let closed = false
  let warned = false
  let came = false

  function note(): void {
    came = true
    onEvent()
  }

  function onError(error: unknown): void {
    const hint = REMEDIES[(error as NodeJS.ErrnoException).code ?? '']
    // An unreadable folder is reported by the reload.
    if (hint && !warned) log.warn({ err: error, hint }, 'file watching unavailable; polling instead')
    warned ||= hint !== undefined
    note()
  }

  return {
    /** Whether any came since the last time. */
    came(): boolean {
      const before = came
      came = false
      return before
    },
    /** Watches what is at the paths now. */
    async watch(): Promise<void> {
      const chokidar = await import('chokidar')
      await watcher?.close()
      const targets = await Promise.all(paths.map((path) => realpath(path).catch(() => path)))
      if (closed) return
      const given = new Set([...paths, ...targets].map((path) => resolve(path)))
      const ignored = (path: string, stats?: Stats) =>
        !given.has(resolve(path)) && isIgnored(basename(path), stats?.isFile() ?? false)
      // A link in a folder may lead to all of the disk.
      const options = { ignoreInitial: true, persistent: false, followSymlinks: false, ignored }
      watcher = chokidar
        .watch([...given], options)
        .on('all', note)
        .on('error', onError)
    },
    async close(): Promise<void> {
      closed = true
      await watcher?.close()
    },
  }
}

/** Temporary files of editors are; `..data` is the link that Kubernetes replaces. */
function isIgnored(name: string, isFile: boolean): boolean {
  if (name === 'node_modules' || (name.startsWith('.') && !name.startsWith('..'))) return true
  return isFile && !/\.(?:ya?ml|json)$/i.test(name)
}
