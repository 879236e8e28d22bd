import { close, open } from 'node:fs'
import type { Server } from 'node:net'
import type { Logger } from '../../telemetry/log.ts'

/** Milliseconds between two looks. */
const LOOK = 1_000
/** Milliseconds between two lines of one shortage. */
const REPEAT = 60_000
/** The process, or the system, has as many open files as it may. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE'])

/**
 * Logs while no file can be opened, until the server closes. Connections that come then are closed by Node without a
 * word to anybody, so whether there is room for one is tried.
 */
export function watchOpenFiles(server: Server, connections: () => number, log: Logger): void {
  let said: number | undefined
  const look = () =>
    open('/dev/null', 'r', (error, file) => {
      if (!error) {
        close(file)
        if (said !== undefined) log.info({ connections: connections() }, 'files can be opened again')
        said = undefined
      } else if (SHORTAGES.has(error.code ?? '')) report(error.code)
    })
  function report(code: string | undefined): void {
    const now = performance.now()
    if (said !== undefined && now - said < REPEAT) return
    said = now
    log.error(
      { code, connections: connections() },
      'too many open files: new connections are closed; raise the limit (`ulimit -n`, or LimitNOFILE of systemd)',
    )
  }
  // Where Node tells of a connection that could not be taken after all.
  server.on('error', ({ code }: NodeJS.ErrnoException) => report(code))
  const timer = setInterval(look, LOOK).unref()
  server.once('close', () => clearInterval(timer))
}
