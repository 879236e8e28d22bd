import type { Limits } from '../../config/model.ts'
import type { Credential, SentHeader } from '../../credentials/credential.ts'
import { Cancellation, Fault, type Message, type Request } from '../../mcp/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Mask } from '../../tools/mask.ts'
import type { Definition, Resolved } from '../definition.ts'
import { type Channel, type ChannelEvents, Outgoing, type ResumeToken } from './channel.ts'
import type { Http, Repeat } from './http.ts'
import type { StreamWatch } from './lasting-stream.ts'

export const EVENTS = 'text/event-stream'

export interface HttpChannelOptions {
  http: Http
  /** Maximum bytes of one message. */
  maxMessage: number
  limits: Limits
  log: Logger
  /** Masks the server's secrets in its messages. */
  mask: Mask
  /** Whether a request may be repeated. */
  repeat: (request: Pick<Request, 'method' | 'params'>) => Repeat | undefined
  /** Notified of lost event streams. */
  streams: StreamWatch
  /** Session to continue; absent: the first message opens one. */
  resume?: ResumeToken | undefined
}

/** Whether a request refused because of its session was not executed, so that it may be repeated. */
export function isUnexecuted(status: number): boolean {
  return status < 500
}

/** Logs why a session is given up. */
export function logForgotten({ name, log }: { name: string; log: Logger }, refusal: string): void {
  log.warn({ server: name, refusal }, 'an MCP server has forgotten a session; opening another one')
}

/** A session with a server over HTTP. */
export abstract class HttpChannel implements Channel {
  abstract readonly ended: Promise<void>
  /** Whether the server has opened the session. */
  abstract readonly isOpen: boolean
  readonly name: string
  protected readonly resolved: Resolved
  protected readonly abort = new Cancellation()
  protected readonly outgoing: Outgoing
  protected closing = false

  constructor(
    readonly definition: Definition,
    resolved: Resolved,
    protected readonly events: ChannelEvents,
    protected readonly options: HttpChannelOptions,
  ) {
    this.name = definition.server.name
    const { credential } = resolved
    this.resolved = credential ? { ...resolved, credential: ofOneLogin(credential, this) } : resolved
    this.outgoing = new Outgoing(this.name)
  }

  send(message: Message, headers?: Readonly<Record<string, string>>): Fault | undefined {
    if (this.closing) return new Fault('lost', `The session with the server ${this.name} has ended`)
    return this.take(message, headers)
  }

  close(): void {
    if (this.closing) return
    this.closing = true
    this.outgoing.close()
    this.abort.abort()
    this.leave()
  }

  /** Closes because of a fault. */
  protected fail(fault: Fault): void {
    if (this.closing) return
    this.close()
    this.events.closed(fault)
  }

  protected abstract take(message: Message, headers?: Readonly<Record<string, string>>): Fault | undefined
  /** Releases the rest of the session. */
  protected abstract leave(): void
}

/** The credential of one session: once open, it ends with its login, as the next may be of another account. */
function ofOneLogin(credential: Credential, session: Pick<HttpChannel, 'name' | 'isOpen'>): Credential {
  let first: string | undefined
  const checked = <T extends SentHeader | Fault | undefined>(header: T): T | Fault => {
    if (!header || header instanceof Fault || header.login === undefined) return header
    if (!session.isOpen) first = header.login
    first ??= header.login
    if (header.login === first) return header
    const text = `The session with the server ${session.name} has ended with the login that it began with`
    return new Fault('lost', text, { status: 404, isUnexecuted: true })
  }
  return {
    ...credential,
    header: async () => checked(await credential.header()),
    renew: async (refused) => checked(await credential.renew(refused)),
    ...(credential.widen && {
      widen: async (...refused) => checked(await credential.widen?.(...refused)),
    }),
  }
}
