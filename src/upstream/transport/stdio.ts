import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { memory } from '../../access/memory.ts'
import type { McpServer } from '../../config/model.ts'
import { Fault, idInEnds, lineSplitter, type Message, oneLine, readInTurns, textOf } from '../../mcp/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import { sparing } from '../../telemetry/seldom.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { shorten } from '../../text/index.ts'
import type { Mask } from '../../tools/mask.ts'
import type { Definition, Resolved } from '../definition.ts'
import {
  type Channel,
  type ChannelEvents,
  deliver,
  Outgoing,
  readBehind,
  readTexts,
  tooLarge,
} from './channel.ts'
import { groupBegun, groupEnded, killGroup, TERM_GRACE } from './groups.ts'

export interface StdioOptions {
  /** The gateway's environment; the child gets only a small part. */
  env: Readonly<Record<string, string | undefined>>
  /** Maximum bytes of one message. */
  maxMessage: number
  log: Logger
  /** Masks the server's secrets in its output. */
  /** For messages. */
  mask: Mask
  /** For the log. */
  logMask: Mask
  children: ChildLog
}

/** Milliseconds between the end of a child's input or output and its exit. */
const PIPE_LOST = 200
/** Maximum bytes of a line of standard error in the log. */
const MAX_LOGGED = 8 * 1024

/** An MCP server started as a child; messages are lines (2025-11-25 and 2026-07-28, stdio). */
export class StdioChannel implements Channel {
  readonly ended: Promise<void>
  readonly pid: number | undefined
  readonly #server: McpServer
  readonly #child: Child
  /** Messages of the current tick, written together. */
  #unsent = ''
  readonly #outgoing: Outgoing
  /** Unfinished lines of standard output and standard error. */
  readonly #unfinished = [memory.reserve(), memory.reserve()] as const
  readonly #about: { server: string; pid: number | undefined }
  #closing = false
  #lacksPort = false

  constructor(
    { server }: Definition,
    resolved: Resolved,
    private readonly events: ChannelEvents,
    private readonly options: StdioOptions,
  ) {
    this.#server = server
    this.#child = startChild(server.command ?? '', server.args, resolved.env, options.env)
    this.pid = this.#child.pid
    this.#about = { server: server.name, pid: this.pid }
    this.#outgoing = new Outgoing(server.name)
    options.children.started++
    options.log.debug(this.#about, 'mcp server started')
    this.#readOutput()
    this.#readErrors()
    this.ended = this.#child.ended.then((how) => this.#end(how))
  }

  send(message: Message): Fault | undefined {
    if (this.#closing) return new Fault('lost', `The server ${this.#server.name} has ended`)
    const line = `${oneLine(textOf(message))}\n`
    const fault = this.#outgoing.add(line)
    if (fault) return fault
    if (!this.#unsent) setImmediate(() => this.#flush())
    this.#unsent += line
    return undefined
  }

  close(): void {
    this.#closing = true
    if (this.#unsent) this.#flush()
    this.#child.close()
  }

  #flush(): void {
    const text = this.#unsent
    this.#unsent = ''
    this.#child.stdin.write(text, () => this.#outgoing.sent(text))
  }

  #readOutput(): void {
    const { log, mask, maxMessage, children } = this.options
    const about = this.#about
    const { stdin, stdout, ended } = this.#child
    const ignored = sparing<string>((text, left) =>
      log.warn(
        { ...about, text: text.slice(0, 200), ...left },
        'ignored a line on standard output that is not a message',
      ),
    )
    const take = (line: Buffer) => {
      if (this.#closing) return
      const text = mask(line.toString(), true)
      const found = readTexts(text)
      const taken = found.length ? found : readBehind(text)
      // Programs often print on standard output; lines that are not messages are ignored.
      if (taken.length) children.failure = undefined
      else ignored(text)
      deliver(taken, this.events, log, about)
    }
    const onTooLarge = (head: string, tail: string) => {
      log.warn({ ...about, limit: maxMessage }, 'mcp server wrote a message that is too large')
      if (!this.#closing) this.events.rejected(idInEnds(head, tail), tooLarge(this.#server.name, maxMessage))
    }
    readInTurns(
      stdout,
      lineSplitter(() => maxMessage, take, onTooLarge, this.#unfinished[0]),
    )
    // A child without input or output is useless; `#end` reports an exit.
    const lose = (what: string) => {
      const useless = () => {
        if (this.#closing) return
        this.close()
        this.events.closed(new Fault('lost', `The server ${this.#server.name} closed its ${what}`))
      }
      Promise.race([ended, pause(PIPE_LOST)])
        .then(useless)
        .catch(unexpected('the end of an MCP server'))
    }
    stdout.on('end', () => lose('output'))
    stdin.on('error', () => lose('input'))
  }

  #readErrors(): void {
    const { log, logMask: mask, children } = this.options
    const toLog = sparing<string>((text, left) =>
      log.info({ ...this.#about, text: mask(text), ...left }, 'mcp server wrote to standard error'),
    )
    const take = (line: Buffer) => {
      const text = line.toString()
      if (PORT_IN_USE.test(text)) this.#lacksPort = true
      keep(text)
    }
    const keep = (text: string) => {
      children.wrote(this.pid, text)
      toLog(text)
    }
    const cut = (head: string) => keep(`${head}…`)
    readInTurns(
      this.#child.stderr,
      lineSplitter(() => MAX_LOGGED, take, cut, this.#unfinished[1]),
    )
  }

  /** @param how the child ended */
  #end(how: string): void {
    const { log, logMask: mask, children } = this.options
    if (!this.#closing) children.lost++
    const { name, command = '', args } = this.#server
    if (this.pid === undefined) {
      const line = { ...this.#about, command: mask(command), args: args.map((arg) => mask(arg)), how }
      log.error(line, 'mcp server did not start')
    } else log.debug({ ...this.#about, how }, 'mcp server ended')
    const kind = this.pid === undefined ? 'unreachable' : 'lost'
    const why = this.#lacksPort ? `: a port that it listens on is in use. ${ONE_PROCESS}` : ''
    const reason = `The server ${name} ${how}${why}`
    // A server may end itself after a while without calls.
    if (!this.#closing && how !== EXITED) children.failure = { pid: this.pid, reason }
    if (!this.#closing) this.events.closed(new Fault(kind, reason))
    this.#closing = true
    this.#outgoing.close()
    for (const reservation of this.#unfinished) reservation.free()
  }
}

/** Maximum lines of standard error that are remembered, and characters of one in a reason. */
const MAX_LINES = 20
const MAX_SHOWN = 500

/** A line that a child wrote to standard error. */
interface ErrorLine {
  pid: number | undefined
  /** Not masked. */
  text: string
  /** When it was written, by `performance.now()`. */
  at: number
}

/** A record of the children of a server. */
export class ChildLog {
  /** Children that were started, and those that ended by themselves. */
  started = 0
  lost = 0
  /** The last lines, the oldest first. */
  readonly lines: ErrorLine[] = []
  /** The last child that ended by itself with an error, or did not start; undefined: one has answered since then. */
  failure: { pid: number | undefined; reason: string } | undefined

  wrote(pid: number | undefined, text: string): void {
    this.lines.push({ pid, text, at: performance.now() })
    if (this.lines.length > MAX_LINES) this.lines.shift()
  }

  /** Why the server fails, with the last line of that child; undefined: it does not. @param mask for lines */
  fault(mask: (text: string) => string): string | undefined {
    if (!this.failure) return undefined
    const { pid, reason } = this.failure
    const last = this.lines.findLast((line) => line.pid === pid && line.text.trim())
    return last
      ? `${reason}; its last line on standard error: ${shorten(mask(last.text), MAX_SHOWN)}`
      : reason
  }
}

const EXITED = 'ended with exit code 0'

/** How programs report that their port is in use. */
const PORT_IN_USE = /EADDRINUSE|address already in use/i
const ONE_PROCESS = 'If each session starts a process that needs the same port, write `isolation: shared`'

/** A child in its own process group, which is ended as a whole. */
export interface Child {
  readonly pid: number | undefined
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the process has ended and its pipes are closed, with a description of the end. */
  readonly ended: Promise<string>
  /** Closes its input, then sends SIGTERM, then SIGKILL. */
  close(): void
}

/** Milliseconds that a child has to end after its input was closed. */
const INPUT_GRACE = 500

/** Inherited environment variables: enough to find programs and their files. */
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
      // A process group of its own (setsid), so that its children end with it.
      detached: true,
    })
  } catch (error) {
    return unstarted(Promise.resolve(reasonOf(error as NodeJS.ErrnoException)))
  }
  const { pid } = child
  // Without free file descriptors, Node creates no pipes.
  if (!child.stdin)
    return unstarted(new Promise((resolve) => child.once('error', (error) => resolve(reasonOf(error)))))
  if (pid !== undefined) groupBegun(pid)
  let timer: NodeJS.Timeout | undefined
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => {
      if (pid === undefined) resolve(reasonOf(error))
    })
    child.once('exit', () => {
      clearTimeout(timer)
      // Remaining children would keep the pipes open.
      killGroup(pid, 'SIGKILL')
      if (pid !== undefined) groupEnded(pid)
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
        timer = setTimeout(() => killGroup(pid, 'SIGKILL'), TERM_GRACE)
      }, INPUT_GRACE)
    },
  }
}

/** Shown to callers, so it does not reveal the command. */
function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'could not be started: its command was not found'
  if (error.code === 'EACCES') return 'could not be started: its command may not be run'
  return `could not be started: ${error.code ?? error.message}`
}

/** @param ended resolves with the reason */
function unstarted(ended: Promise<string>): Child {
  return {
    pid: undefined,
    stdin: new PassThrough(),
    stdout: new PassThrough().end(),
    stderr: new PassThrough().end(),
    ended,
    close() {},
  }
}
