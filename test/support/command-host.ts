import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface CommandOutcome {
  /** The exit code, or the name of the signal that ended the process. */
  code: number | string
  stdout: string
  stderr: string
}

interface Command {
  args: readonly string[]
  cwd: string
  /** All of the environment. */
  env: Record<string, string>
  /** Has standard error in standard output, as a terminal shows both. */
  isTerminal?: boolean
}

const FILE = fileURLToPath(new URL('commands.js', import.meta.url))
const idle: CommandHost[] = []
/** Of what commands print. */
let folder: string | undefined
let hosts = 0

/** Runs a short command of the built binary in a process that runs others, too, one at a time. */
export async function runInHost({ isTerminal = false, ...command }: Command): Promise<CommandOutcome> {
  const at = idle.findIndex((one) => one.isTerminal === isTerminal)
  const host = at < 0 ? new CommandHost(isTerminal) : idle.splice(at, 1)[0]!
  const outcome = await host.run(command)
  if (host.child.connected) idle.push(host)
  return outcome
}

/** A process for commands. It ends with this one. */
class CommandHost {
  readonly child: ChildProcess
  private readonly outputs: { path: string; read: number }[]

  constructor(readonly isTerminal: boolean) {
    const own = `${outputFolder()}/${hosts++}`
    // Node writes to files at once, as no pipe has to be read.
    this.outputs = (isTerminal ? ['both'] : ['stdout', 'stderr']).map((name) => ({
      path: `${own}-${name}`,
      read: 0,
    }))
    const files = this.outputs.map(({ path }) => openSync(path, 'a'))
    this.child = fork(FILE, { stdio: ['ignore', files[0], files.at(-1), 'ipc'], execArgv: [], env: {} })
    for (const each of files) closeSync(each)
  }

  async run(command: Command): Promise<CommandOutcome> {
    const { child } = this
    for (const each of [child, child.channel!]) each.ref()
    child.send(command)
    const heard = new AbortController()
    const either = ['message', 'exit'].map((event) => once(child, event, heard))
    const [said, signal] = await Promise.race(either)
    heard.abort()
    for (const each of [child, child.channel]) each?.unref()
    if (said?.isSpent) child.disconnect()
    const [stdout = '', stderr = ''] = this.outputs.map((output) => {
      const written = readFileSync(output.path).subarray(output.read)
      output.read += written.length
      return written.toString()
    })
    return { code: said?.code ?? said ?? signal, stdout, stderr }
  }
}

function outputFolder(): string {
  if (folder !== undefined) return folder
  const made = mkdtempSync(join(tmpdir(), 'plantgw-commands-'))
  process.once('exit', () => rmSync(made, { recursive: true, force: true }))
  folder = made
  return made
}
