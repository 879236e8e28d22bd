import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { PassThrough, type Readable, type Writable } from 'node:stream'

/** A child in a process group of its own, which is ended whole. */
export interface Child {
  readonly pid: number | undefined
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the process has ended and its pipes are closed; a sentence of how. */
  readonly ended: Promise<string>
  /** Closes its input, then asks by SIGTERM, then kills. */
  close(): void
}

/** Milliseconds that a child has to end after its input was closed, and again after SIGTERM. */
const GRACE = { input: 500, term: 1_500 }

/** Groups that must not outlive the gateway, whatever ends it. */
const groups = new Set<number>()
let watching = false

/** What a child sees of the gateway's own environment: enough to find programs and its files. */
const INHERITED = ['PATH', 'HOME']

export function startChild(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  gatewayEnv: Readonly<Record<string, string | undefined>>,
): Child {
  const own = Object.fromEntries(
    INHERITED.flatMap((name) => (gatewayEnv[name] ? [[name, gatewayEnv[name]]] : [])),
  )
  let child: ChildProcessByStdio<Writable, Readable, Readable>
  try {
    child = spawn(command, args, {
      env: { ...own, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own (setsid), so that what it starts can be ended with it.
      detached: true,
    })
  } catch (error) {
    return failed(error)
  }
  const { pid } = child
  if (pid !== undefined) watch(pid)
  let timer: NodeJS.Timeout | undefined
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => {
      if (pid === undefined) resolve(reasonOf(error))
    })
    child.once('exit', () => {
      clearTimeout(timer)
      // What the leader left behind ends now; its pipes would otherwise stay open.
      killGroup(pid, 'SIGKILL')
      if (pid !== undefined) groups.delete(pid)
    })
    child.once('close', (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`),
    )
  })
  child.stdin.on('error', () => {})
  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    close() {
      if (timer || child.exitCode !== null || child.signalCode !== null || pid === undefined) return
      child.stdin.end()
      timer = setTimeout(() => {
        killGroup(pid, 'SIGTERM')
        timer = setTimeout(() => killGroup(pid, 'SIGKILL'), GRACE.term)
      }, GRACE.input)
    },
  }
}

function watch(pid: number): void {
  groups.add(pid)
  if (watching) return
  watching = true
  process.once('exit', () => {
    for (const group of groups) killGroup(group, 'SIGKILL')
  })
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is empty.
  }
}

/** For callers, who are not told what the command is. */
function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'could not be started: its command was not found'
  if (error.code === 'EACCES') return 'could not be started: its command may not be run'
  return `could not be started: ${error.code ?? error.message}`
}

function failed(error: unknown): Child {
  const stdout = new PassThrough().end()
  return {
    pid: undefined,
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough().end(),
    ended: Promise.resolve(reasonOf(error as NodeJS.ErrnoException)),
    close() {},
  }
}
