import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { VaultSettings } from '../../config/index.ts'
import { StoreError } from '../../store/store-error.ts'
import { requirePackages } from '../../text/packages.ts'
import { secretFolder } from './secret-folder.ts'
import type { SecretStore } from './secret-store.ts'

const CIPHER = 'aes-256-gcm'
/** Bytes (NIST SP 800-38D, 8.2.1). */
const NONCE = 12
const TAG = 16
/** Begins each sealed text, and names its form. */
const FORM = 'v1.'

/** Values that are encrypted at rest, each by an id: logins and registrations at authorization servers. */
export class Vault {
  private readonly keys: readonly Buffer[]

  /** @param secrets of the settings: the first seals, all of them open */
  constructor(
    private readonly store: SecretStore,
    secrets: readonly string[],
  ) {
    this.keys = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'plantgw vault', 32)))
  }

  /** @throws StoreError also for a value that was sealed with another key */
  async get<T>(id: string): Promise<T | undefined> {
    const text = await this.store.get(id)
    return text === undefined ? undefined : this.open<T>(id, text)
  }

  /** As `get`, but a value that cannot be decrypted counts as none. @throws StoreError */
  async readable<T>(id: string): Promise<T | undefined> {
    return this.valueOf<T>(id, await this.store.get(id))
  }

  /**
   * Works on one value while no other process does. @param work gets the value, undefined also if it cannot be decrypted,
   * and a function that replaces it, or removes it if undefined
   */
  change<T, R>(
    id: string,
    work: (value: T | undefined, write: (value: T | undefined) => Promise<void>) => Promise<R>,
  ): Promise<R> {
    return this.store.change(id, async (text, write) =>
      work(this.valueOf<T>(id, text), (value) =>
        write(value === undefined ? undefined : this.seal(id, value)),
      ),
    )
  }

  put<T>(id: string, value: T | undefined): Promise<void> {
    return this.store.change(id, (_, write) => write(value === undefined ? undefined : this.seal(id, value)))
  }

  /**
   * Seals everything with the first key, so that the others are not needed any more.
   * @returns how many values it sealed, and how many no key opens, which stay as they are
   */
  async reseal(): Promise<{ sealed: number; unreadable: number }> {
    const count = { sealed: 0, unreadable: 0 }
    for (const id of await this.store.ids())
      await this.store.change(id, async (text, write) => {
        if (text === undefined || this.opened(id, text, this.keys.slice(0, 1)) !== undefined) return
        const value = this.opened(id, text, this.keys)
        if (value !== undefined) await write(this.seal(id, value))
        count[value === undefined ? 'unreadable' : 'sealed']++
      })
    return count
  }

  /** Removes values whose member `expires`, in milliseconds since 1970, has passed. */
  async removeExpired(now: number): Promise<void> {
    for (const id of await this.store.ids()) {
      const { expires = Number.POSITIVE_INFINITY } = (await this.readable<{ expires?: number }>(id)) ?? {}
      if (expires < now) await this.put(id, undefined)
    }
  }

  close(): Promise<void> {
    return this.store.close()
  }

  private seal(id: string, value: unknown): string {
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv(CIPHER, this.keys[0]!, nonce).setAAD(Buffer.from(id))
    const sealed = [nonce, cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()]
    return FORM + Buffer.concat(sealed).toString('base64url')
  }

  private open<T>(id: string, text: string): T {
    const value = this.opened(id, text, this.keys)
    if (value !== undefined) return value as T
    throw new StoreError(
      'damaged',
      `a login in ${this.store.label} cannot be decrypted: it was made with another \`vault.key\`, or is damaged`,
    )
  }

  private valueOf<T>(id: string, text: string | undefined): T | undefined {
    return text === undefined ? undefined : (this.opened(id, text, this.keys) as T | undefined)
  }

  private opened(id: string, text: string, keys: readonly Buffer[]): unknown {
    const bytes = Buffer.from(text.slice(FORM.length), 'base64url')
    if (!text.startsWith(FORM) || bytes.length < NONCE + TAG) return undefined
    for (const key of keys)
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE), { authTagLength: TAG })
        decipher.setAAD(Buffer.from(id)).setAuthTag(bytes.subarray(-TAG))
        const parts = [decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]
        return JSON.parse(Buffer.concat(parts).toString())
      } catch {
        // Another key may open it.
      }
    return undefined
  }
}

/** The id of a value, from what it belongs to. */
export function vaultId(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/**
 * The vault of the settings. A folder is made, or a database connected to, when it is needed.
 * @throws Error if a package for the database is not installed
 */
export async function openVault({ key, previousKey, storage }: VaultSettings): Promise<Vault> {
  const secrets = previousKey === undefined ? [key] : [key, previousKey]
  if (storage.type === 'folder') return new Vault(secretFolder(storage.path), secrets)
  requirePackages(storage.type)
  const { secretTable } = await import('./secret-table.ts')
  return new Vault(await secretTable(storage.type, storage.url), secrets)
}
