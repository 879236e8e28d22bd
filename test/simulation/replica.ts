/** Gateways of this process, each behind a host of its own in place of a listening socket. */
import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { ConfigurationSource } from '../../src/build/source.ts'
import { readSettings } from '../../src/checks/index.ts'
import type { Settings } from '../../src/config/index.ts'
import { createGateway, type Gateway } from '../../src/server/gateway.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { clock } from './clock.ts'
import { type Exchange, Host, type Latency } from './network.ts'

/** Milliseconds without use after which sessions of clients and of servers end. */
export const IDLE = 20_000
/** Milliseconds of a drain: as long as connections are taken, and for calls after that. */
const DRAIN = { grace: 1_000, timeout: 15_000 }
const SECRET = 'the secret of all histories, which nobody else has'
const given = readSettings(undefined, {}).settings as Settings

export interface ReplicaOptions {
  name: string
  /** Whether there are others. */
  isClustered: boolean
  source: ConfigurationSource
  latency: Latency
  violated(what: string): void
}

export class Replica {
  readonly host: Host
  isDraining = false
  gateway: Gateway | undefined

  constructor(private readonly options: ReplicaOptions) {
    this.host = new Host(`http://${options.name}.test`, options.latency, (exchange) => this.serve(exchange))
  }

  async start(): Promise<void> {
    const { isClustered, source } = this.options
    const limits = { ...given.limits, idleTimeout: IDLE }
    const cluster = isClustered && { cluster: { secret: SECRET, advertise: this.host.origin } }
    const settings: Settings = { ...given, limits, ...cluster }
    const { gateway } = await createGateway({
      paths: source,
      settings,
      env: {},
      log: silentLog,
      version: '1',
      skipInvalid: true,
    })
    this.gateway = gateway
    this.host.isUp = true
    this.isDraining = false
  }

  /** The process ends at once. */
  async kill(): Promise<void> {
    const { gateway } = this
    this.gateway = undefined
    this.host.isUp = false
    this.host.thaw()
    this.host.cut()
    await gateway?.close()
  }

  /** The process ends as on SIGTERM. */
  async drain(): Promise<void> {
    const { gateway, host } = this
    if (!gateway || this.isDraining) return
    this.isDraining = true
    gateway.beginDrain()
    await new Promise<void>((resolve) => void clock.after(DRAIN.grace, resolve))
    if (this.gateway !== gateway) return
    host.isUp = false
    const limit = clock.after(DRAIN.timeout, () => host.cut())
    await gateway.registry.drain(DRAIN.timeout)
    while (host.exchanges.size) await new Promise<void>((resolve) => void clock.after(20, resolve))
    limit.close()
    if (this.gateway !== gateway) return
    this.gateway = undefined
    await gateway.close()
  }

  private serve(exchange: Exchange): void {
    const { gateway } = this
    if (!gateway) {
      exchange.break('UND_ERR_SOCKET')
      return
    }
    const { method, path, headers, body } = exchange.message
    const incoming = Object.assign(Readable.from(body ? [Buffer.from(body)] : []), {
      method,
      url: path,
      headers: { host: 'localhost', ...headers },
      rawHeaders: Object.entries({ host: 'localhost', ...headers }).flat(),
      socket: exchange.socket,
      complete: true,
    })
    const outgoing = new Outgoing()
    exchange.whenGone(() => outgoing.close(false))
    const request = { url: `http://localhost${path}`, method } as Request
    Promise.resolve(gateway.app.fetch(request, { incoming, outgoing }))
      .then((response) => answer(exchange, outgoing, response))
      .catch((error) => this.options.violated(`${method} ${path} fell: ${error.stack}`))
  }
}

/** Node's response, of which the gateway only asks whether it is out. */
class Outgoing extends EventEmitter {
  destroyed = false
  writableFinished = false

  close(finished: boolean): void {
    if (this.destroyed) return
    this.destroyed = true
    this.writableFinished = finished
    this.emit('close')
  }
}

/** Writes a response as `@hono/node-server` does. */
async function answer(exchange: Exchange, outgoing: Outgoing, response: Response): Promise<void> {
  const headers = Object.fromEntries(response.headers)
  const { status, body } = response
  const isStream = headers['content-type'] === 'text/event-stream'
  if (!body || !isStream) {
    const isRead = body && exchange.message.method !== 'HEAD'
    const text = isRead ? await response.text().catch((error: Error) => error) : ''
    // Nobody waits for a body any more that broke off as its client left.
    if (outgoing.destroyed) return
    if (text instanceof Error) throw text
    exchange.answer(status, headers, text)
    outgoing.close(true)
    return
  }
  const reader = body.getReader()
  const cancel = () => {
    reader.cancel().catch(() => {})
  }
  if (outgoing.destroyed) return cancel()
  outgoing.once('close', cancel)
  exchange.respond(status, headers)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (outgoing.destroyed) return
      if (done) break
      exchange.write(Buffer.from(value).toString())
    }
  } catch {
    exchange.break('UND_ERR_SOCKET')
    return
  }
  outgoing.off('close', cancel)
  exchange.end()
  outgoing.close(true)
}
