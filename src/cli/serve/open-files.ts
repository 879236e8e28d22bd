import { close, open } from 'node:fs'
import type { Server } from 'node:net'
import type { Logger } from '../../telemetry/log.ts'

/** Milliseconds between checks. */
const LOOK = 1_000
/** Minimum milliseconds between two lines about one shortage. */
const REPEAT = 60_000
/** The process or system has reached its limit of open files. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE'])

/**
 * Logs while no file can be opened, until the server closes. Node silently closes connections in this state, so it is
 * probed.
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
  // Node reports connections that could not be accepted.
  server.on('error', ({ code }: NodeJS.ErrnoException) => report(code))
  const timer = setInterval(look, LOOK).unref()
  server.once('close', () => clearInterval(timer))
}
