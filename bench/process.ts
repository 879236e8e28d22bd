import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

export interface Running {
  pid: number
  stop(): Promise<void>
}

/** Starts a program and waits until it prints its first line. */
export async function start(args: readonly string[], env: Record<string, string>): Promise<Running> {
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const ready = once(child.stdout!, 'data')
  await Promise.race([ready, ended.then(() => Promise.reject(new Error(`${args.join(' ')} ended`)))])
  child.stdout!.resume()
  return {
    pid: child.pid!,
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Seconds of CPU that a process has used, by proc_pid_stat(5), in ticks of 10 ms. */
export function cpuSeconds(pid: number): number {
  return processorTime(readFileSync(`/proc/${pid}/stat`, 'latin1'))
}

/** The same of the text of `/proc/PID/stat`. */
export function processorTime(text: string): number {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}

/** `1.23 (1.20…1.31)` */
export function spread(values: readonly number[]): string {
  return `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}…${Math.max(...values).toFixed(2)})`
}
