import { setTimeout as pause } from 'node:timers/promises'
import { type MemoryReservation, memory } from '../../access/memory.ts'
import type { Route, Table } from '../../build/types.ts'
import type { Settings } from '../../config/index.ts'
import { Fault } from '../../mcp/index.ts'
import type { Gateway } from '../../server/gateway.ts'
import type { Logger } from '../../telemetry/log.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { withoutEndSlashes } from '../../text/index.ts'
import { noSuch } from '../options.ts'

/** Standard output and end of `serve --stdio`. */
export interface Stdio {
  output: Output
  /** Resolves at the first signal to end. */
  cut: Promise<unknown>
}

/** A transport of a started gateway. */
export interface Reached {
  /** Prints what is served. */
  announce?(): void
  /** Resolves when no client is left; absent: others may come. */
  over?: Promise<undefined>
  /** Resolves when running work has ended. @param signal that ends it; undefined: no client is left */
  drain(signal: string | undefined): Promise<void>
}

/** Milliseconds allowed for answers of ended calls. */
const SILENCE = 500

/** Standard output, reserved for messages, one a line. */
class Output {
  /** Resolves when the reader has closed it. */
  readonly broken: Promise<undefined>
  private break!: () => void
  /** Created once the settings define the limit. */
  private reservation: MemoryReservation | undefined
  private isBroken = false
  private waiting = 0
  private onFlushed: (() => void) | undefined

  constructor(private readonly to: (text: string, done: () => void) => void) {
    this.broken = new Promise((resolve) => {
      this.break = () => {
        this.isBroken = true
        this.reservation?.free()
        this.onFlushed?.()
        resolve(undefined)
      }
    })
    process.stdout.on('error', () => this.break())
  }

  /** A client that does not read is given up once more than `maxQueued` is waiting. */
  write(line: string): void {
    if (this.isBroken) return
    const text = `${line}\n`
    this.reservation ??= memory.queue()
    if (!this.reservation.add(text.length)) {
      this.break()
      return
    }
    this.waiting++
    this.to(text, () => {
      this.waiting--
      if (!this.isBroken) this.reservation?.free(text.length)
      if (!this.waiting) this.onFlushed?.()
    })
  }

  /** Resolves when the client has all lines, or has stopped reading. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.waiting || this.isBroken) resolve()
      else this.onFlushed = resolve
    })
  }
}

/** Reserves standard output for messages: everything else written there goes to standard error. */
export function takeOutput(): Output {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write
  return new Output((text, done) => void write(text, done))
}

/**
 * The settings for a process without listeners beside another one: without its pid file and plant store.
 * @throws Error if the audit log uses standard output
 */
export function withoutPorts(settings: Settings, { pid }: { pid?: string }): Settings {
  const { plants: _, admin: __, tls: ___, cluster: ____, pid: own, ...rest } = settings
  if (rest.audit?.to === 'stdout')
    throw new Error('`audit.to: stdout` of the settings: with --stdio use `file` or `stderr`')
  return { ...rest, host: '127.0.0.1', ...(pid !== undefined && own !== undefined && { pid: own }) }
}

/** Milliseconds allowed for running calls when the gateway ends. */
export function drainTimeout({ drain, limits }: Settings): number {
  return drain.timeout ?? limits.timeout + 5_000
}

interface Client extends Stdio {
  prefix: string | undefined
  settings: Settings
  log: Logger
}

/** Serves the client on standard input and output until the input ends. */
export function reachStdio(gateway: Gateway, { output, cut, prefix, settings, log }: Client): Reached {
  const route = chosenRoute(gateway.table(), prefix)
  const connection = gateway.connect(route, (line) => output.write(line))
  const limit = () => (gateway.table().routes.get(route.prefix) ?? route).maxRequestSize
  const end = (why: string) => gateway.registry.cut(new Fault('lost', `The gateway is shutting down: ${why}`))
  log.info({ prefix: route.prefix || '/' }, 'serving standard input and output')
  const inputEnd = connection.read(process.stdin, limit).then(() => undefined)
  return {
    over: Promise.race([inputEnd, output.broken]),
    async drain(signal: string | undefined): Promise<void> {
      const timeout = drainTimeout(settings)
      connection.end()
      const timer = setTimeout(() => end(`the call did not end within ${timeout / 1000} s`), timeout)
      // After a signal, or if the client stops reading, do not wait for answers.
      const hurry = signal === undefined ? cut.then(() => {}) : new Promise<void>(() => {})
      Promise.race([hurry, output.broken])
        .then(() => end('the client no longer waits for the call'))
        .catch(unexpected('the end of standard output'))
      const whole = gateway.registry.drain(timeout + SILENCE).then(() => connection.settled())
      await Promise.race([whole, hurry.then(() => pause(SILENCE))])
      await Promise.race([output.flushed(), hurry, pause(timeout)])
      clearTimeout(timer)
    },
  }
}

/** @throws Error with the prefixes, if the requested one is not served */
function chosenRoute({ routes }: Table, prefix: string | undefined): Route {
  const [first] = routes.values()
  if (!first) throw new Error('no prefix is served: the configurations have no routers')
  if (prefix === undefined) return routes.get('') ?? first
  const named = withoutEndSlashes(`/${prefix}`.replace(/^\/+/, '/'))
  const found = routes.get(named === '/' ? '' : named)
  const names = [...routes.keys()].map((path) => path || '/')
  if (!found) throw new Error(noSuch(`no prefix ${prefix} is served`, named, names))
  return found
}
