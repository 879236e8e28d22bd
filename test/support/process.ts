import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { runInHost } from './command-host.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const BIN = join(ROOT, 'bin/plantgw.js')
/** Milliseconds after which what a test waits for will not come any more, on the slowest machine. */
const DEADLINE = 90_000

/** A folder of its own for one test, removed at its end; at that of the process while a program still writes there. */
export function temporaryFolder(t: Pick<TestContext, 'after'>, below = tmpdir()): string {
  const folder = mkdtempSync(join(below, 'plantgw-test-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  t.after(() => {
    try {
      remove()
    } catch {
      process.once('exit', remove)
    }
  })
  return folder
}

/** With 10,000 added, where a node of a Redis Cluster listens too, still below those that the system gives to connections. */
const [FIRST_PORT, PORTS] = [11_000, 10_000]

/** Ports that one process takes in turn. */
const OWN_PORTS = 100
let block: Promise<number> | undefined
let taken = 0

/** The first of ports that no other process of tests takes: this one listens there until it ends. */
async function claimPorts(): Promise<number> {
  for (let i = process.pid; ; i++) {
    const first = FIRST_PORT + ((i * OWN_PORTS) % PORTS)
    const server = createServer().unref()
    try {
      await once(server.listen(first, '127.0.0.1'), 'listening')
      return first
    } catch {
      // Another process has these.
    }
  }
}

/** A port that was free a moment ago, and that other processes of tests do not choose. */
export async function freePort(): Promise<number> {
  block ??= claimPorts()
  const port = (await block) + 1 + (taken++ % (OWN_PORTS - 1))
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return freePort()
  }
  server.close()
  await once(server, 'close')
  return port
}

export interface Running {
  child: ChildProcess
  /** All of it so far. */
  stdout: () => string
  stderr: () => string
  /** The exit code, or the signal's name. */
  ended: Promise<number | string>
  /** Waits until standard output or standard error matches; what was printed instead is told after a deadline. */
  until(pattern: RegExp): Promise<void>
}

export interface RunOptions {
  env?: Record<string, string>
  cwd?: string
  input?: string
  /** Options of Node itself; what they load can write to file descriptor 3. */
  node?: readonly string[]
  /** The program of Node; by default that of the test. */
  program?: string
  /** Has it lead a process group, as a shell does. */
  group?: boolean
}

/** Runs the built binary; a test's end kills what is left. */
export function plantgw(
  t: Pick<TestContext, 'after'>,
  args: readonly string[],
  { env = {}, cwd = ROOT, input, node = [], program = process.execPath, group = false }: RunOptions = {},
): Running {
  // Most suites can be run with several workers.
  const { PATH = '', HOME = '', PLANTGW_WORKERS } = process.env
  const workers = PLANTGW_WORKERS !== undefined && args[0] === 'serve' ? { PLANTGW_WORKERS } : {}
  const child = spawn(program, [...node, BIN, ...args], {
    cwd,
    env: { PATH, HOME, ...workers, ...env },
    detached: group,
    stdio: ['pipe', 'pipe', 'pipe', ...(node.length ? ['pipe' as const] : [])],
  }) as ChildProcessWithoutNullStreams
  child.stdin.end(input)
  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const each of waiting) each()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    wake()
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => {
      resolve(code ?? signal ?? -1)
      wake()
    })
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    until(pattern) {
      return new Promise((resolve, reject) => {
        const deadline = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`${pattern} was not printed in ${DEADLINE / 1000} s:\n${stdout}${stderr}`))
        }, DEADLINE)
        const look = () => {
          if (pattern.test(stdout) || pattern.test(stderr)) resolve()
          else if (child.exitCode !== null || child.signalCode !== null)
            reject(new Error(`it ended without ${pattern}:\n${stdout}${stderr}`))
          else return
          waiting.delete(look)
          clearTimeout(deadline)
        }
        waiting.add(look)
        look()
      })
    },
  }
}

/** Kills a gateway; resolves when it and its workers have ended. */
export async function crash({ child, ended }: Running): Promise<void> {
  const workers = process.env.PLANTGW_WORKERS === undefined ? [] : childrenOf(child.pid!)
  child.kill('SIGKILL')
  await ended
  while (workers.some(isThere)) await pause(5)
}

/** Of the main thread of a process. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

export function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** What only a process of its own has: an input, signals of a gateway, options and variables of Node. */
function needsProcess(
  args: readonly string[],
  { env = {}, input, node, program, group }: RunOptions,
): boolean {
  if (input !== undefined || node || program || group) return true
  return args[0] === 'serve' || 'NODE_EXTRA_CA_CERTS' in env || 'NODE_OPTIONS' in env
}

/** Runs a command of the built binary to its end. */
export async function run(t: Pick<TestContext, 'after'>, args: readonly string[], options: RunOptions = {}) {
  if (!needsProcess(args, options)) {
    const { PATH = '', HOME = '' } = process.env
    const { cwd = ROOT, env = {} } = options
    return runInHost({ args, cwd, env: { PATH, HOME, ...env } })
  }
  const running = plantgw(t, args, options)
  const code = await running.ended
  return { code, stdout: running.stdout(), stderr: running.stderr() }
}
