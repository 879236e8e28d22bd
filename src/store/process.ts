import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A process at one acquisition of a lock. */
export interface Holder {
  /** Unique to each acquisition. */
  id: string
  pid: number
  /** Start time of the process in the kernel's ticks since boot; empty where the kernel does not report it. */
  start: string
  /** Scope of `pid`: a hash of the machine's boot id and the pid namespace; without them, of the host's name. */
  realm: string
}

export function thisProcess(): Holder {
  return {
    id: randomBytes(12).toString('base64url'),
    pid: process.pid,
    start: processStat(process.pid)?.start ?? '',
    realm: realm(),
  }
}

/** Whether a process runs; `unknown` for one in another container or on another machine. */
export function liveness({ realm: place, pid, start }: Holder): 'alive' | 'dead' | 'unknown' {
  if (place !== realm()) return 'unknown'
  if (!isAlive(pid)) return 'dead'
  const stat = processStat(pid)
  // Another start time means another process with the same pid.
  return stat === undefined || start === '' || stat.start === start ? 'alive' : 'dead'
}

/** Whether the process runs. A zombie (ended, but not waited for) does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return !/[ZX]/.test(processStat(pid)?.state ?? '')
}

/** Fields 3 and 22 of proc_pid_stat(5); undefined if the file cannot be read. */
function processStat(pid: number): { state: string; start: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the command in parentheses, which may hold any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', start: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

function realm(): string {
  let place = hostname()
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    place = `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {}
  return createHash('sha256').update(place).digest('base64url').slice(0, 16)
}
