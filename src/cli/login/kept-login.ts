import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { isObject } from '../../json/index.ts'
import { replaceFile } from '../../store/file.ts'
import { withLock } from '../../store/lock.ts'

/** Stored data of a login at one server; secret. */
export interface Kept {
  /** URL of the MCP server. */
  url: string
  /** Registered client; absent if the user gives one. */
  client?: StoredOAuthClientInformation | undefined
  /** Client id given by the user. */
  clientId?: string | undefined
  /** Port of the registered redirect address. */
  port?: number | undefined
  tokens?: StoredOAuthTokens | undefined
}

/** Stores logins, each in a file that only the user can read (mode 0600). */
export class KeptLogin {
  private constructor(
    private readonly path: string,
    readonly kept: Kept,
  ) {}

  /** @param client id given by the user, whose logins are separate */
  static async open(server: URL, client: string | undefined, env: NodeJS.ProcessEnv): Promise<KeptLogin> {
    const { href: url, host } = withoutFragment(server)
    const own = { url, ...(client !== undefined && { clientId: client }) }
    const name = createHash('sha256')
      .update(JSON.stringify([url, client ?? null]))
      .digest('hex')
    const path = join(folderOf(env), `${host.replace(/[^\w.-]/g, '_')}-${name.slice(0, 16)}.json`)
    const kept = await read(path)
    return new KeptLogin(path, kept?.url === url ? { ...kept, ...own } : own)
  }

  /** All stored logins, or those at one server. */
  static async all(server: URL | undefined, env: NodeJS.ProcessEnv): Promise<KeptLogin[]> {
    const url = server && withoutFragment(server).href
    const folder = folderOf(env)
    const names = await readdir(folder).catch((): string[] => [])
    const found: KeptLogin[] = []
    for (const name of names.filter((one) => one.endsWith('.json')).sort()) {
      const path = join(folder, name)
      const kept = await read(path)
      if (kept && (url === undefined || kept.url === url)) found.push(new KeptLogin(path, kept))
    }
    return found
  }

  /**
   * Refreshes the token, one command at a time, as a refresh token may be good once.
   * @param work spends the refresh token; returns whether there is another token. Not called if another command got one
   * @throws StoreError if the lock cannot be taken
   */
  refresh(work: () => Promise<boolean>): Promise<boolean> {
    const { path, kept } = this
    const before = kept.tokens?.access_token
    return withLock(`${path}.lock`, `the login at ${kept.url}`, async () => {
      kept.tokens = (await read(path))?.tokens
      if (kept.tokens?.access_token !== before) return kept.tokens !== undefined
      return work()
    })
  }

  remove(): Promise<void> {
    return rm(this.path, { force: true })
  }

  async save(change: Partial<Kept>): Promise<void> {
    Object.assign(this.kept, change)
    const folder = join(this.path, '..')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
    await replaceFile(this.path, `${this.path}.${process.pid}`, [`${JSON.stringify(this.kept, null, 2)}\n`])
  }
}

/** The user's folder for state (XDG Base Directory Specification). */
function folderOf({ XDG_STATE_HOME }: NodeJS.ProcessEnv): string {
  // The specification requires relative paths to be ignored.
  const state = XDG_STATE_HOME?.startsWith('/') ? XDG_STATE_HOME : join(homedir(), '.local', 'state')
  return join(state, 'plantgw', 'logins')
}

/** An unreadable login is ignored, and the user logs in again. */
async function read(path: string): Promise<Kept | undefined> {
  try {
    const kept: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isObject(kept) && typeof kept.url === 'string' ? (kept as unknown as Kept) : undefined
  } catch (error) {
    if (!(error instanceof SyntaxError)) return undefined
    await rm(path, { force: true })
    return undefined
  }
}

function withoutFragment(url: URL): URL {
  const plain = new URL(url)
  plain.hash = ''
  return plain
}
