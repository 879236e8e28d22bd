import { setTimeout as pause } from 'node:timers/promises'
import { memory } from '../../access/memory.ts'
import { Fault } from '../../mcp/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import { sparing } from '../../telemetry/sparing.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Mask } from '../../tools/mask.ts'
import type { Definition, Resolved } from '../definition.ts'
import { type Channel, type ChannelEvents, oneLine, TOO_LARGE } from './channel.ts'
import { startChild } from './child.ts'
import { idInEnds, lineSplitter, readInTurns } from './lines.ts'
import { deliver, readTexts } from './messages.ts'
import { createOutgoing, notTaken } from './outgoing.ts'

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

/** Starts an MCP server as a child; messages are lines (2025-11-25 and 2026-07-28, stdio). */
export function openStdio(
  { server }: Definition,
  resolved: Resolved,
  events: ChannelEvents,
  { env, maxMessage, log, mask }: StdioOptions,
): Channel & { pid: number | undefined } {
  const child = startChild(server.command ?? '', server.args, resolved.env, env)
  const about = { server: server.name, pid: child.pid }
  log.debug(about, 'mcp server started')
  let closing = false
  /** What is sent in one turn of the event loop goes out in one write. */
  let outgoing = ''
  const queue = createOutgoing()
  /** Lines of its output and of its standard error that have not ended. */
  const unfinished = [memory.hold(), memory.hold()] as const
  const flush = () => {
    const text = outgoing
    outgoing = ''
    child.stdin.write(text, () => queue.sent(text))
  }

  const ignored = sparing<string>((text, left) =>
    log.warn(
      { ...about, text: text.slice(0, 200), ...left },
      'ignored a line on standard output that is not a message',
    ),
  )
  function take(line: string): void {
    if (closing) return
    const text = mask(line, true)
    const taken = readTexts(text)
    // Programs that print on standard output are common; what is not a message concerns nobody.
    if (!taken.length) ignored(text)
    deliver(taken, events, log, about)
  }
  const tooLarge = (head: string, tail: string) => {
    log.warn({ ...about, limit: maxMessage }, 'mcp server wrote a message that is too large')
    if (!closing) events.rejected(idInEnds(head, tail), TOO_LARGE)
  }
  readInTurns(child.stdout, lineSplitter(maxMessage, take, tooLarge, unfinished[0]))
  const toLog = sparing<string>((text, left) =>
    log.info({ ...about, text: mask(text), ...left }, 'mcp server wrote to standard error'),
  )
  const cut = (head: string) => toLog(`${head}…`)
  readInTurns(child.stderr, lineSplitter(MAX_LOGGED, toLog, cut, unfinished[1]))
  child.stdout.on('end', () => {
    // A child that lives on without its output is of no use; how one ends that does not is told below.
    const silent = () => {
      if (closing) return
      closing = true
      child.close()
      events.closed(new Fault('lost', `The server ${server.name} closed its output`))
    }
    Promise.race([child.ended, pause(OUTPUT_LOST)])
      .then(silent)
      .catch(unexpected('the end of an MCP server'))
  })
  const ended = child.ended.then((how) => {
    if (child.pid === undefined)
      log.error(
        { ...about, command: mask(server.command ?? ''), args: server.args.map((arg) => mask(arg)), how },
        'mcp server did not start',
      )
    else log.debug({ ...about, how }, 'mcp server ended')
    if (!closing)
      events.closed(
        new Fault(child.pid === undefined ? 'unreachable' : 'lost', `The server ${server.name} ${how}`),
      )
    closing = true
    queue.close()
    for (const hold of unfinished) hold.free()
  })
  return {
    pid: child.pid,
    ended,
    send(text) {
      if (closing) return new Fault('lost', `The server ${server.name} has ended`)
      const line = `${oneLine(text)}\n`
      if (!queue.add(line)) return notTaken(server.name)
      if (!outgoing) setImmediate(flush)
      outgoing += line
      return undefined
    },
    close() {
      closing = true
      if (outgoing) flush()
      child.close()
    },
  }
}
