import { setTimeout as pause } from 'node:timers/promises'
import { memory } from '../../access/memory.ts'
import type { McpServer } from '../../config/model.ts'
import { Fault } from '../../mcp/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import { sparing } from '../../telemetry/sparing.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Mask } from '../../tools/mask.ts'
import type { Definition, Resolved } from '../definition.ts'
import { type Channel, type ChannelEvents, Outgoing, oneLine, TOO_LARGE } from './channel.ts'
import { type Child, startChild } from './child.ts'
import { idInEnds, lineSplitter, readInTurns } from './lines.ts'
import { deliver, readTexts } from './messages.ts'

export interface StdioOptions {
  /** The gateway's environment, of which the child sees very little. */
  env: Readonly<Record<string, string | undefined>>
  /** Bytes of one message of the server. */
  maxMessage: number
  log: Logger
  /** Takes the server's secrets out of what it says. */
  mask: Mask
}

/** Milliseconds between the end of a child's output and its own. */
const OUTPUT_LOST = 200
/** Bytes of a line of standard error that are logged. */
const MAX_LOGGED = 8 * 1024

/** An MCP server that was started as a child; messages are lines (2025-11-25 and 2026-07-28, stdio). */
export class StdioChannel implements Channel {
  readonly ended: Promise<void>
  readonly pid: number | undefined
  readonly #server: McpServer
  readonly #child: Child
  /** What is sent in one turn of the event loop goes out in one write. */
  #unsent = ''
  readonly #outgoing: Outgoing
  /** Lines of its output and of its standard error that have not ended. */
  readonly #unfinished = [memory.hold(), memory.hold()] as const
  readonly #about: { server: string; pid: number | undefined }
  #closing = false

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
    options.log.debug(this.#about, 'mcp server started')
    this.#readOutput()
    this.#readErrors()
    this.ended = this.#child.ended.then((how) => this.#end(how))
  }

  send(text: string): Fault | undefined {
    if (this.#closing) return new Fault('lost', `The server ${this.#server.name} has ended`)
    const line = `${oneLine(text)}\n`
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
    const { log, mask, maxMessage } = this.options
    const about = this.#about
    const { stdout, ended } = this.#child
    const ignored = sparing<string>((text, left) =>
      log.warn(
        { ...about, text: text.slice(0, 200), ...left },
        'ignored a line on standard output that is not a message',
      ),
    )
    const take = (line: string) => {
      if (this.#closing) return
      const text = mask(line, true)
      const taken = readTexts(text)
      // Programs that print on standard output are common; a line that is not a message concerns nobody.
      if (!taken.length) ignored(text)
      deliver(taken, this.events, log, about)
    }
    const tooLarge = (head: string, tail: string) => {
      log.warn({ ...about, limit: maxMessage }, 'mcp server wrote a message that is too large')
      if (!this.#closing) this.events.rejected(idInEnds(head, tail), TOO_LARGE)
    }
    readInTurns(stdout, lineSplitter(maxMessage, take, tooLarge, this.#unfinished[0]))
    // A child that lives on without its output is of no use; how a child ended is reported by `#end`.
    const silent = () => {
      if (this.#closing) return
      this.close()
      this.events.closed(new Fault('lost', `The server ${this.#server.name} closed its output`))
    }
    stdout.on('end', () => {
      Promise.race([ended, pause(OUTPUT_LOST)])
        .then(silent)
        .catch(unexpected('the end of an MCP server'))
    })
  }

  #readErrors(): void {
    const { log, mask } = this.options
    const toLog = sparing<string>((text, left) =>
      log.info({ ...this.#about, text: mask(text), ...left }, 'mcp server wrote to standard error'),
    )
    const cut = (head: string) => toLog(`${head}…`)
    readInTurns(this.#child.stderr, lineSplitter(MAX_LOGGED, toLog, cut, this.#unfinished[1]))
  }

  /** @param how the child ended */
  #end(how: string): void {
    const { log, mask } = this.options
    const { name, command = '', args } = this.#server
    if (this.pid === undefined) {
      const line = { ...this.#about, command: mask(command), args: args.map((arg) => mask(arg)), how }
      log.error(line, 'mcp server did not start')
    } else log.debug({ ...this.#about, how }, 'mcp server ended')
    const kind = this.pid === undefined ? 'unreachable' : 'lost'
    if (!this.#closing) this.events.closed(new Fault(kind, `The server ${name} ${how}`))
    this.#closing = true
    this.#outgoing.close()
    for (const hold of this.#unfinished) hold.free()
  }
}
