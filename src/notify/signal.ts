import { existsSync } from 'node:fs'
import { isAlive } from '../durable/process.ts'
import { isGateway, PidFileError, readPid } from './pidfile.ts'

/** Signals on which `plantgw serve` reads its configurations again. */
export const RELOAD_SIGNALS = ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const

/**
 * Tells the `plantgw serve` that holds the pid file to read its configurations again.
 * Whatever else was given the id of a gateway that crashed is not sent a signal that would end it.
 * @returns the id of the process
 * @throws PidFileError when there is no such process, when it is another one, or when it belongs to another user
 */
export function sendReloadSignal(path: string, signal: (typeof RELOAD_SIGNALS)[number] = 'SIGHUP'): number {
  if (!existsSync(path))
    throw new PidFileError(`there is no such file ${path}: start \`plantgw serve\` with this \`pid\``)
  const pid = readPid(path)
  if (pid === undefined)
    throw new PidFileError(
      `there is no process id in ${path}: start \`plantgw serve\` with this \`pid\`, or give the file that it writes`,
    )
  if (!isAlive(pid)) throw notServing(path, `process ${pid} has ended`)
  if (!isGateway(path, pid)) throw notServing(path, `process ${pid} is not \`plantgw serve\``)
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw notServing(path, `process ${pid} has ended`)
    throw new PidFileError(
      `process ${pid} of ${path} belongs to another user: send the reload as the user of the gateway`,
    )
  }
  return pid
}

function notServing(path: string, why: string): PidFileError {
  return new PidFileError(`the pid file ${path} is stale, ${why}: start the gateway again`)
}
