import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Milliseconds that a group has to end after SIGTERM. */
export const TERM_GRACE = 1_500

/** Process groups that must not outlive this process. */
const groups = new Set<number>()
let watching = false

/** Registers the process group of a new child. */
export function groupBegun(group: number): void {
  groups.add(group)
  if (guard) guard.stdin.write(`+ ${group}\n`)
  else startGuard()
  if (watching) return
  watching = true
  process.once('exit', () => {
    for (const one of groups) killGroup(one, 'SIGKILL')
    guard?.kill('SIGKILL')
  })
}

export function groupEnded(group: number): void {
  if (!groups.delete(group)) return
  guard?.stdin.write(`- ${group}\n`)
  if (groups.size > 0) return
  guard?.stdin.end()
  guard = undefined
}

export function killGroup(group: number | undefined, signal: NodeJS.Signals): void {
  if (group === undefined) return
  try {
    process.kill(-group, signal)
  } catch {
    // The group is empty.
  }
}

type Guard = ChildProcessByStdio<Writable, null, null>

/** Shell process that ends the groups when its input closes, even if this process is killed. */
let guard: Guard | undefined

/** The `kill` of dash supports neither `--` nor a negative number after `-s`. */
const GUARD = `
trap '' HUP INT TERM
all=
while read -r change group; do
  rest=
  for one in $all; do [ "$one" = "$group" ] || rest="$rest $one"; done
  all=$rest
  [ "$change" = - ] || all="$all $group"
done
[ "$all" ] || exit 0
for one in $all; do kill -TERM "-$one"; done
sleep ${Math.ceil(TERM_GRACE / 1000)}
for one in $all; do kill -KILL "-$one"; done
`

/** Without a shell there is no guard. */
function startGuard(): void {
  if (process.platform === 'win32') return
  try {
    const { PATH } = process.env
    const started = spawn('/bin/sh', ['-c', GUARD], {
      env: { ...(PATH !== undefined && { PATH }) },
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // Its own group, so that signals to this process's group do not end it.
      detached: true,
    })
    started.on('error', () => {})
    // Without free file descriptors, Node creates no pipes.
    if (!started.stdin) return
    started.once('exit', () => {
      if (guard === started) guard = undefined
    })
    started.stdin.on('error', () => {})
    started.unref()
    const input = started.stdin as Writable & { unref?(): void }
    input.unref?.()
    for (const group of groups) input.write(`+ ${group}\n`)
    guard = started
  } catch {
    // The system cannot start another process.
  }
}
