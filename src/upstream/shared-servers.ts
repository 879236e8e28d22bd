import type { Definition } from './definition.ts'
import type { Occupant } from './pool/pool.ts'
import { UpstreamServer } from './server.ts'
import type { StreamChange } from './transport/lasting-stream.ts'
import type { UpstreamContext } from './upstream.ts'
import type { PinChange } from './view/pins.ts'

/** A router that uses a server. */
export interface ServerUser {
  /** Its sessions with the server, as candidates to be ended. */
  occupants(): Occupant[]
  onStream(server: string, change: StreamChange): void
  onPinChange(server: string, change: PinChange, blocked: boolean): void
}

interface Shared {
  id: string | undefined
  server: UpstreamServer
  users: Set<ServerUser>
  /** Users that start nothing new. */
  leaving: Set<ServerUser>
}

/** A list change reported by one worker. */
export interface ListChange {
  /** Id of the server's definition. */
  id: string
  /** Key of the template values. */
  key: string
  method: string
}

/** The other workers of the gateway, which may have sessions with the same servers. */
export interface OtherWorkers {
  tell(change: ListChange): void
  /** Registers a listener for their reports. */
  follow(listener: (change: ListChange) => void): void
}

/** The MCP servers of all routers, each shared with its connections, and closed when unused. */
export class SharedServers {
  readonly #byId = new Map<string, Shared>()
  readonly #all = new Map<UpstreamServer, Shared>()

  /** @param others absent: a single process */
  constructor(private readonly others?: OtherWorkers) {
    others?.follow(({ id, key, method }) => {
      for (const { id: own, server } of this.#all.values()) if (own === id) server.listChanged(key, method)
    })
  }

  take(
    definition: Definition,
    context: UpstreamContext & { version: string },
    user: ServerUser,
  ): UpstreamServer {
    const { id } = definition
    const known = id === undefined ? undefined : this.#byId.get(id)
    known?.users.add(user)
    if (known) return known.server
    const users = new Set([user])
    // Events are attributed to the longest user only, so that they are counted once.
    const first = () => users.values().next().value as ServerUser | undefined
    const tell = (key: string, method: string) => this.others?.tell({ id: id as string, key, method })
    const events = {
      onStream: (...change: Parameters<ServerUser['onStream']>) => first()?.onStream(...change),
      onPinChange: (...change: Parameters<ServerUser['onPinChange']>) => first()?.onPinChange(...change),
      ...(id !== undefined && { onListChanged: tell }),
    }
    const occupants = () => [...users].flatMap((one) => one.occupants())
    const server = new UpstreamServer(definition, { ...context, ...events }, occupants)
    const shared: Shared = { id, server, users, leaving: new Set() }
    if (id !== undefined) this.#byId.set(id, shared)
    this.#all.set(server, shared)
    return server
  }

  /** A user starts ending its calls. When all users do, new ones get a new instance. */
  leave(server: UpstreamServer, user: ServerUser): void {
    const shared = this.#all.get(server)
    if (!shared) return
    shared.leaving.add(user)
    if (shared.leaving.size === shared.users.size) this.#forget(shared)
  }

  #forget(shared: Shared): void {
    if (shared.id !== undefined && this.#byId.get(shared.id) === shared) this.#byId.delete(shared.id)
  }

  /** Resolves when the server is closed, or at once if others still use it. */
  async release(server: UpstreamServer, user: ServerUser): Promise<void> {
    const shared = this.#all.get(server)
    if (!shared?.users.delete(user)) return
    shared.leaving.delete(user)
    if (shared.users.size) return
    this.#all.delete(server)
    this.#forget(shared)
    await server.close()
  }
}
