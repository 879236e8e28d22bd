import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import { unexpected } from '../telemetry/unexpected.ts'
import { discover, fetchDocument, type IssuerParts, objectOf } from './authorization-server.ts'

/** Loaded at the first token, as most commands need none. */
export const jose = () => import('jose')

/** The public keys of an issuer; a new object if they change. */
export interface Keys {
  readonly find: JWTVerifyGetKey
}

export interface KeySource {
  issuer: string
  /** Absent: found in the issuer's metadata. */
  jwksUrl?: string
}

/** Milliseconds after which keys in use are fetched again. */
const FRESH = 600_000
/** Milliseconds for which old keys may be used while the issuer does not respond. */
const STALE = 3_600_000
/** Minimum milliseconds between fetches, so that tokens with invented keys do not cause many. */
const PAUSE = 30_000
/** The same while there are no keys, to recover soon. */
const PAUSE_WITHOUT = 5_000

/** The public keys of one issuer, fetched on demand. */
export class IssuerKeys {
  private text = ''
  private keys: Keys | undefined
  private loadedAt = Number.NEGATIVE_INFINITY
  private triedAt = Number.NEGATIVE_INFINITY
  private loading: Promise<void> | undefined
  /** Whether the last fetch failed. */
  failed = false

  constructor(
    private readonly source: KeySource,
    private readonly parts: IssuerParts,
  ) {}

  private get age(): number {
    return this.parts.steady() - this.loadedAt
  }
  private get usable(): Keys | undefined {
    return this.age > FRESH + STALE ? undefined : this.keys
  }

  /** The current keys; old ones are refreshed in the background. */
  current(): Keys | undefined {
    if (this.keys && this.age > FRESH) this.refresh().catch(unexpected('fetching the keys of an issuer'))
    return this.usable
  }

  /** Fetches the keys, unless that was done a moment ago. */
  async refresh(): Promise<Keys | undefined> {
    const { steady } = this.parts
    const pause = this.usable ? PAUSE : PAUSE_WITHOUT
    if (!this.loading && steady() - this.triedAt >= pause) {
      this.triedAt = steady()
      this.loading = this.load().finally(() => {
        this.loading = undefined
      })
    }
    await this.loading
    return this.usable
  }

  private async load(): Promise<void> {
    const { log, steady } = this.parts
    const { issuer, jwksUrl } = this.source
    try {
      const url = jwksUrl ?? (await discover(this.parts, issuer, 'jwks_uri')).url
      const text = await fetchDocument(this.parts, url, [issuer, jwksUrl])
      if (text !== this.text || !this.keys) this.keys = { find: await finder(text) }
      this.text = text
      this.loadedAt = steady()
      this.failed = false
    } catch (error) {
      this.failed = true
      log.warn({ issuer, reason: (error as Error).message }, 'the keys of an issuer could not be fetched')
    }
  }
}

/** @throws Error if it is not a key set */
async function finder(text: string): Promise<JWTVerifyGetKey> {
  const set = objectOf(text)
  if (!set || !Array.isArray(set.keys)) throw new Error('the response is not a JSON Web Key Set')
  if (set.keys.length > 100) throw new Error(`the key set has more than 100 keys`)
  const { createLocalJWKSet } = await jose()
  return createLocalJWKSet(set as unknown as JSONWebKeySet)
}
