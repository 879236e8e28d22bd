import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Milliseconds that a group has to end after SIGTERM. */
export const TERM_GRACE = 1_500

/** Process groups that must not outlive this process, whatever ends it. */
const groups = new Set<number>()
let watching = false
let told: (change: GroupChange) => void = () => {}

/** A process group of a child that has begun, or ended. */
export interface GroupChange {
  group: number
  ended: boolean
}

/** Tells of all of them from now on, for whoever ends those that this process leaves behind when it is killed. */
export function followGroups(listener: (change: GroupChange) => void): void {
  told = listener
}

/** A child has begun, in a group of its own. */
export function groupBegun(group: number): void {
  watch(group)
  told({ group, ended: false })
}

export function groupEnded(group: number): void {
  forget(group)
  told({ group, ended: true })
}

/** Ends groups that a process that was killed has left behind: their input is closed, so they are asked, then killed. */
export function endGroups(left: Iterable<number>): void {
  for (const group of left) {
    watch(group)
    killGroup(group, 'SIGTERM')
    setTimeout(() => {
      killGroup(group, 'SIGKILL')
      forget(group)
    }, TERM_GRACE)
  }
}

export function killGroup(group: number | undefined, signal: NodeJS.Signals): void {
  if (group === undefined) return
  try {
    process.kill(-group, signal)
  } catch {
    // The group is empty.
  }
}

function watch(group: number): void {
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

function forget(group: number): void {
  if (!groups.delete(group)) return
  guard?.stdin.write(`- ${group}\n`)
  if (groups.size > 0) return
  guard?.stdin.end()
  guard = undefined
}

type Guard = ChildProcessByStdio<Writable, null, null>

/** Ends the groups once its input is closed, so also where this process could do nothing any more. */
let guard: Guard | undefined

/** The `kill` of dash knows no `--`, and takes no negative number behind `-s`. */
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

/** Where there is no shell there is no guard. */
function startGuard(): void {
  if (process.platform === 'win32') return
  try {
    const { PATH } = process.env
    const started = spawn('/bin/sh', ['-c', GUARD], {
      env: { ...(PATH !== undefined && { PATH }) },
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // What is sent to the group of this process must not end it.
      detached: true,
    })
    started.on('error', () => {})
    // Where files are short, Node makes no pipes.
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
    // The system has no room for a process more.
  }
}
