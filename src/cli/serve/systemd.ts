import { spawn } from 'node:child_process'
import type { Logger } from '../../telemetry/log.ts'
import { unexpected } from '../../telemetry/unexpected.ts'

/** Notifies the service manager (sd_notify(3)). Messages are sent in order, without waiting. */
export interface ServiceManager {
  /** The service is ready. */
  ready(): void
  /** A reload has begun; `ready` ends it. */
  reloading(): void
  /** The service is about to end. */
  stopping(): void
}

/**
 * The service manager that started this process, if it expects notifications: with `Type=notify`, systemd sets
 * `NOTIFY_SOCKET`. Node has no datagram Unix sockets, so `systemd-notify` sends the messages.
 */
export function serviceManager(env: NodeJS.ProcessEnv, log: Logger): ServiceManager {
  const { NOTIFY_SOCKET, PATH } = env
  let last = Promise.resolve()
  let reloads = 0
  let isStopping = false

  function send(...variables: string[]): void {
    if (!NOTIFY_SOCKET || isStopping) return
    last = last
      .then(() => notify(variables, { NOTIFY_SOCKET, PATH }))
      .then((fault) => {
        if (fault !== undefined) log.warn({ reason: fault }, 'cannot notify systemd')
      })
      .catch(unexpected('systemd-notify'))
  }

  return {
    ready() {
      reloads = Math.max(0, reloads - 1)
      if (reloads === 0) send('READY=1', 'STATUS=serving')
    },
    reloading() {
      reloads++
      // Type=notify-reload requires the time of the kernel's clock, in microseconds.
      if (reloads === 1)
        send('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`, 'STATUS=reloading')
    },
    stopping() {
      send('STOPPING=1', 'STATUS=waiting for calls in flight')
      isStopping = true
    },
  }
}

/** @returns the error, if any */
function notify(variables: readonly string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn('systemd-notify', variables, { env, stdio: 'ignore' })
    child.once('error', ({ message }) => resolve(message))
    child.once('close', (code) => resolve(code === 0 ? undefined : `systemd-notify exited with code ${code}`))
  })
}
