import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { StorageSettings } from '../../src/config/index.ts'
import { BIN, ROOT } from '../support/process.ts'

const WORKER = fileURLToPath(new URL('worker.child.js', import.meta.url))
const FUSE = new URL('fuse.js', import.meta.url).href

/** A command, or a call of a store that stays open. */
export type Task = { argv: string[] } | { call: string; args: unknown[]; storage: StorageSettings }

export interface Printed {
  code: number
  stdout: string
  stderr: string
}

export type Reply =
  | Printed
  | { value: unknown }
  | { error: { name: string; kind?: string; message: string; stack: string } }

/** What works on a store and may be killed at any time. */
export interface Worker {
  /**
   * @param fuse kills it before it takes so many steps to change files
   * @returns undefined when it was killed before it answered
   * @throws Error when it ended in another way
   */
  ask(task: Task, fuse: number | undefined): Promise<Reply | undefined>
  kill(): void
}

/** A process that lives until it is killed, and is followed by another one then. */
export function lastingWorker(t: TestContext): Worker {
  let child: ChildProcess | undefined
  let errors = ''
  t.after(() => child?.kill('SIGKILL'))

  async function living(): Promise<ChildProcess> {
    if (child?.connected) return child
    errors = ''
    child = fork(WORKER, [], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    child.stderr!.setEncoding('utf8').on('data', (text) => (errors += text))
    await once(child, 'message')
    return child
  }

  return {
    async ask(task, fuse) {
      const asked = await living()
      const reply = await new Promise<Reply | undefined>((resolve) => {
        asked.removeAllListeners('message').once('message', (message) => resolve(message as Reply))
        asked.removeAllListeners('close').once('close', () => resolve(undefined))
        asked.send({ ...task, fuse }, () => {})
      })
      if (reply === undefined) checkKilled(asked.exitCode, asked.signalCode, errors)
      return reply
    },
    kill: () => child?.kill('SIGKILL'),
  }
}

/** The built command line, a process for each command. */
export function commandLine(t: TestContext): Worker {
  let child: ChildProcess | undefined
  t.after(() => child?.kill('SIGKILL'))
  return {
    async ask(task, fuse) {
      if (!('argv' in task)) throw new Error('the command line has commands only')
      const env = { ...process.env, ...(fuse !== undefined && { PLANTGW_TEST_FUSE: String(fuse) }) }
      const asked = spawn(process.execPath, ['--import', FUSE, BIN, ...task.argv], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = asked
      const printed = { stdout: '', stderr: '' }
      asked.stdout.setEncoding('utf8').on('data', (text) => (printed.stdout += text))
      asked.stderr.setEncoding('utf8').on('data', (text) => (printed.stderr += text))
      const [code, signal] = (await once(asked, 'close')) as [number | null, string | null]
      if (code !== null) return { code, ...printed }
      checkKilled(code, signal, printed.stderr)
      return undefined
    },
    kill: () => child?.kill('SIGKILL'),
  }
}

function checkKilled(code: number | null, signal: string | null, errors: string): void {
  if (signal !== 'SIGKILL') throw new Error(`a process ended with ${code ?? signal}: ${errors}`)
}
