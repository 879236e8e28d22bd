import type { IssuerParts } from '../access/authorization-server.ts'
import { Fault } from '../mcp/fault.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { RecentMap } from '../text/index.ts'

/** A header of a request to a server. */
export interface SentHeader {
  /** In lower case. */
  readonly name: string
  readonly value: string
  /** Differs for each login that it is of; absent: it is of none. */
  readonly login?: string | undefined
}

export interface FetchedToken {
  token: string
  /** Milliseconds. */
  lifetime: number
  /** Differs for each login; absent: it is of none. */
  login?: string | undefined
}

/**
 * Asks for a token. Never rejects for what a server does.
 * @param subject the token of the caller that it is exchanged for
 * @param refused the value of the header that the server refused, if it did
 */
export type AskToken = (subject: string | undefined, refused?: string) => Promise<FetchedToken | Fault>

interface Entry {
  /** The newest token of the caller. */
  subject: string | undefined
  held?: { header: SentHeader; staleAt: number; endsAt: number } | undefined
  asking?: Promise<SentHeader | Fault> | undefined
  /** The value that the server refused, until there is another one. */
  refused?: string | undefined
  failed?: { fault: Fault; until: number; subject: string | undefined } | undefined
  /** The last login whose token the server has taken. */
  taken?: string | undefined
  /** The last login whose tokens the server has only refused, and whether it had refused the login before, too. */
  useless?: { login: string | undefined; at: number; isAgain: boolean } | undefined
  /** When a token was last fetched because a server refused the one before. */
  renewed?: number
  /** The newest first. */
  sent: readonly string[]
}

/** The part of its lifetime after which a token is fetched anew, while calls still use it. */
const STALE = 0.8
/** The part of its lifetime after which it is not used: it has to arrive before it expires. */
const USABLE = 0.95
/** Milliseconds for which a failure is cached. */
const FAILURE_TTL = 2_000
/** Minimum milliseconds between two renewals, for a server that refuses every token. */
const RENEWAL_PAUSE = 10_000
/** Milliseconds in which two logins whose tokens are refused show that another one would not help. */
const AGAIN = 600_000

/** The tokens of one server, by caller: each fetched once for all that wait for it. */
export class TokenCache {
  /** The longest unused first; with the callers' own tokens at most 24 MiB. */
  private readonly entries = new RecentMap<string, Entry>(1_000)
  private asked = 0

  constructor(
    private readonly server: string,
    private readonly ask: AskToken,
    private readonly parts: Pick<IssuerParts, 'log' | 'steady'>,
  ) {}

  /** Takes the newest token of a caller. */
  update(key: string, subject: string | undefined): void {
    this.entry(key, subject).subject = subject
  }

  /** The caller has logged in or out. What was sent is still masked. */
  forget(key: string): void {
    const entry = this.entries.get(key)
    if (entry) entry.held = entry.failed = undefined
  }

  /** A server has taken a token. */
  taken(key: string, { login }: SentHeader): void {
    const entry = this.entries.get(key)
    if (entry) entry.taken = login
  }

  /**
   * A server refuses each token: none is used for a while.
   * @param faultOf gets whether the server has taken no token of this login and of another one in the last ten minutes
   */
  giveUp(key: string, { value, login }: SentHeader, faultOf: (isAgain: boolean) => Fault): Fault {
    const entry = this.entry(key, undefined)
    const { subject, useless: last, taken } = entry
    const now = this.parts.steady()
    const isRecent = last !== undefined && now - last.at < AGAIN
    const useless = isRecent && last.login === login ? last : { login, at: now, isAgain: isRecent }
    entry.useless = taken === login ? undefined : useless
    const { isAgain = false } = entry.useless ?? {}
    const fault = faultOf(isAgain)
    entry.refused = value
    entry.held = undefined
    entry.failed = { fault, until: now + (isAgain ? AGAIN : RENEWAL_PAUSE), subject }
    return fault
  }

  sent(key: string): readonly string[] {
    return this.entries.get(key)?.sent ?? []
  }

  /** @param subject is used where the caller is not known any more */
  async header(key: string, subject: string | undefined): Promise<SentHeader | Fault> {
    const entry = this.entry(key, subject)
    const { held, failed } = entry
    const now = this.parts.steady()
    const fault = failed && now < failed.until && failed.subject === entry.subject ? failed.fault : undefined
    if (!held || now >= held.endsAt) return entry.asking ?? fault ?? this.fetch(entry)
    if (now >= held.staleAt && !fault && !entry.asking)
      this.fetch(entry).catch(unexpected('fetching a token for a server'))
    return held.header
  }

  async renew(key: string, subject: string | undefined, refused: SentHeader) {
    const entry = this.entry(key, subject)
    const { held } = entry
    // Another call was refused too, and has seen to it.
    if (held && held.header.value !== refused.value) return held.header
    if (held) {
      const now = this.parts.steady()
      if (entry.renewed !== undefined && now - entry.renewed < RENEWAL_PAUSE) return undefined
      entry.renewed = now
      entry.held = undefined
      entry.refused = refused.value
    }
    const header = await this.header(key, subject)
    // A server that gives the same token again would be asked for nothing.
    return header instanceof Fault || header.value !== refused.value ? header : undefined
  }

  private entry(key: string, subject: string | undefined): Entry {
    const entry: Entry = this.entries.get(key) ?? { subject, sent: [] }
    this.entries.set(key, entry)
    return entry
  }

  private fetch(entry: Entry): Promise<SentHeader | Fault> {
    if (this.asked >= 100)
      return Promise.resolve(
        new Fault('busy', `Too many tokens for the server ${this.server} are being fetched at the moment`),
      )
    this.asked++
    entry.asking = this.settle(entry).finally(() => {
      this.asked--
      entry.asking = undefined
    })
    return entry.asking
  }

  private async settle(entry: Entry): Promise<SentHeader | Fault> {
    const { log, steady } = this.parts
    const { subject, refused } = entry
    const begin = steady()
    const fetched = await this.ask(subject, refused)
    if (fetched instanceof Fault) {
      // Nothing was asked for, and the next call may find a login.
      if (fetched.kind === 'refused') return fetched
      log.warn({ server: this.server, reason: fetched.message }, 'no token for a server could be fetched')
      entry.failed = { fault: fetched, until: steady() + FAILURE_TTL, subject }
      return fetched
    }
    if (entry.refused === refused) entry.refused = undefined
    const { token, lifetime, login } = fetched
    const header = { name: 'authorization', value: `Bearer ${token}`, ...(login !== undefined && { login }) }
    entry.held = { header, staleAt: begin + lifetime * STALE, endsAt: begin + lifetime * USABLE }
    entry.failed = undefined
    if (entry.sent[0] !== header.value) entry.sent = [header.value, ...entry.sent.slice(0, 1)]
    return header
  }
}
