import { spawn } from 'node:child_process'
import { BIN, ROOT } from './process.ts'
import { type Loose, META } from './wire.ts'

/** A conversation with `plantgw serve --stdio`, line by line. */
export interface Talk {
  pid: number
  send(message: object | string): void
  /** The next message that fits, of those that were not taken yet. */
  next(fits: (message: Loose) => boolean): Promise<Loose>
  /** Sends a request, and takes its answer. */
  ask(id: number | string, method: string, params?: object): Promise<Loose>
  /** Ends its input. */
  end(): void
  kill(signal: NodeJS.Signals): void
  /** Closes its output, as a client does that has died. */
  deafen(): void
  /** The exit code, or the signal's name. */
  ended: Promise<number | string>
  stderr(): string
  /** Waits until standard error matches. */
  until(pattern: RegExp): Promise<void>
  /** Lines of standard output that are not JSON. */
  garbage: string[]
}

/** Starts the built binary; a test's end kills what is left. */
export function talk(
  t: { after(run: () => unknown): void },
  args: readonly string[],
  { cwd = ROOT, node = [], env = {} }: { cwd?: string; node?: readonly string[]; env?: object } = {},
): Talk {
  const child = spawn(process.execPath, [...node, BIN, 'serve', '--stdio', ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? -1))
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  child.stdin.on('error', () => {})
  const heard: Loose[] = []
  const garbage: string[] = []
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const each of waiting) each()
  }
  let rest = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    wake()
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines)
      try {
        heard.push(JSON.parse(line))
      } catch {
        garbage.push(line)
      }
    wake()
  })
  const when = <T>(what: string, look: () => T | undefined) =>
    new Promise<T>((resolve, reject) => {
      const over = (then: () => void) => {
        waiting.delete(seek)
        clearTimeout(timer)
        then()
      }
      const lost = () =>
        over(() => reject(new Error(`${what} did not come:\n${JSON.stringify(heard)}\n${stderr}`)))
      const timer = setTimeout(lost, 90_000)
      const seek = () => {
        const found = look()
        if (found !== undefined) over(() => resolve(found))
      }
      waiting.add(seek)
      seek()
      ended.then(() => {
        if (waiting.has(seek)) lost()
      })
    })
  const send = (message: object | string) =>
    void child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
  const next = (fits: (message: Loose) => boolean) =>
    when('a message', () => {
      const at = heard.findIndex(fits)
      return at < 0 ? undefined : heard.splice(at, 1)[0]
    })
  return {
    pid: child.pid!,
    send,
    next,
    ask(id, method, params = {}) {
      send({ jsonrpc: '2.0', id, method, params })
      return next((message) => message.id === id && !('method' in message))
    },
    end: () => child.stdin.end(),
    kill: (signal) => child.kill(signal),
    deafen: () => child.stdout.destroy(),
    ended,
    stderr: () => stderr,
    until: async (pattern) => void (await when(String(pattern), () => pattern.test(stderr) || undefined)),
    garbage,
  }
}

/** What makes a request one of 2026-07-28. */
export const ALONE = { _meta: META }

/** Opens a session. */
export async function initialize(
  { ask, send }: Talk,
  protocolVersion = '2025-11-25',
  capabilities: object = {},
): Promise<Loose> {
  const answer = await ask('init', 'initialize', {
    protocolVersion,
    capabilities,
    clientInfo: { name: 'test', version: '1' },
  })
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return answer
}
