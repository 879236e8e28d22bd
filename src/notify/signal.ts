import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive } from '../store/process.ts'
import { isGateway, PidFileError, readPid, readReload } from './pidfile.ts'
import { type Notified, reloadText } from './reload-answer.ts'

/** Signals on which `plantgw serve` reads its configurations again. */
export const RELOAD_SIGNALS = ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const

/**
 * Sends a reload signal to the `plantgw serve` that holds the pid file. Any other process that has its id since
 * a crash gets no signal, because the signal would end it.
 * @returns the id of the process
 * @throws PidFileError when the process has ended, is no gateway, or belongs to another user
 */
function sendReloadSignal(path: string, signal: (typeof RELOAD_SIGNALS)[number] = 'SIGHUP'): number {
  if (!existsSync(path))
    throw new PidFileError(`the pid file ${path} does not exist: start \`plantgw serve\` with this \`pid\``)
  const pid = readPid(path)
  if (pid === undefined)
    throw new PidFileError(
      `${path} does not hold a process id: start \`plantgw serve\` with this \`pid\`, or give the file that it writes`,
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

/** Maximum milliseconds of a reload; many configurations take long. */
const TIMEOUT = 60_000
/** Milliseconds between two reads of the result. */
const INTERVAL = 25

/**
 * Sends a reload signal, and waits for the result that the gateway writes beside its pid file.
 * @param about names of the configurations to report on; absent: all
 * @throws PidFileError as `sendReloadSignal`
 */
export async function signalReload(
  path: string,
  signal: (typeof RELOAD_SIGNALS)[number],
  about?: ReadonlySet<string>,
): Promise<Notified> {
  const writesResults = readReload(path) !== undefined
  const sent = Date.now()
  const pid = sendReloadSignal(path, signal)
  const how = `sent ${signal} to process ${pid}`
  if (!writesResults) return { line: `${how}: see its log for the changes` }
  for (let waited = 0; waited < TIMEOUT; waited += INTERVAL) {
    const result = readReload(path)
    if (result && result.began >= sent) {
      const [error] = result.findings ?? []
      if (result.generation !== undefined) return reloadText(how, result, about)
      return { line: `${how}: the reload failed`, fault: error?.message ?? 'see its log' }
    }
    if (!isAlive(pid)) return { line: how, fault: 'the process ended before it reloaded' }
    await pause(INTERVAL)
  }
  return { line: how, fault: `no result within ${TIMEOUT / 1000} s: see its log` }
}

function notServing(path: string, why: string): PidFileError {
  return new PidFileError(`the pid file ${path} is stale, ${why}: start the gateway again`)
}
