import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Text that only holders of a secret can write or read (AES-256-GCM); visible ASCII, for ids and URLs. */
export interface Seal {
  /** @param bound context that must match to open it; it is not part of the token */
  close(text: string, bound: string): string
  /** Undefined: the token was changed, is of another secret or label, or is bound to something else. */
  open(token: string, bound: string): string | undefined
}

export interface SealOptions {
  /** The first one seals, all of them open. */
  secrets: readonly string[]
  /** Called for a token that seems to be of another secret. @param mark of that secret, which reveals nothing about it */
  onForeign?: (mark: string) => void
}

/** The mark of the secret, and the sealed data. */
const TOKEN = /^([\w-]{8})\.([\w-]{38,})$/

const NONCE = 12
const TAG = 16

/** Derives a key for one purpose, so that a value made for one is invalid for another (RFC 5869). */
export function keyOf(secret: string, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'plantgw cluster 1', label, 32))
}

/** Public mark that distinguishes secrets. */
function secretMark(secret: string): string {
  return keyOf(secret, 'mark').subarray(0, 6).toString('base64url')
}

export function createSeal({ secrets, onForeign = () => {} }: SealOptions, label: string): Seal {
  const keys = new Map(secrets.map((secret) => [secretMark(secret), keyOf(secret, label)]))
  const [[mark, key]] = [...keys] as [[string, Buffer]]
  return {
    close(text, bound) {
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG })
      cipher.setAAD(Buffer.from(bound))
      const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final()]
      return `${mark}.${Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url')}`
    },
    open(token, bound) {
      if (token.length > 1024 * 1024) return undefined
      const [, whose, text] = TOKEN.exec(token) ?? []
      if (whose === undefined || text === undefined) return undefined
      const own = keys.get(whose)
      if (!own) {
        onForeign(whose)
        return undefined
      }
      const bytes = Buffer.from(text, 'base64url')
      // Decoding is lenient: several texts decode to the same bytes.
      if (bytes.length < NONCE + TAG || bytes.toString('base64url') !== text) return undefined
      const decipher = createDecipheriv('aes-256-gcm', own, bytes.subarray(0, NONCE), { authTagLength: TAG })
      decipher.setAAD(Buffer.from(bound))
      decipher.setAuthTag(bytes.subarray(-TAG))
      try {
        return decipher.update(bytes.subarray(NONCE, -TAG), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return undefined
      }
    },
  }
}
