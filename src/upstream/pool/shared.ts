import type { BreakerSettings } from '../../config/model.ts'
import type { Resilience } from '../../net/index.ts'
import type { Definition } from '../definition.ts'
import type { PinChange } from '../pins.ts'
import type { StreamChange } from '../transport/lasting-stream.ts'
import type { UpstreamContext } from '../upstream.ts'
import type { Occupant } from './pool.ts'
import { UpstreamServer } from './server.ts'

/** A router that uses a server. */
export interface ServerUser {
  /** Its sessions with the server, of which one may have to make room. */
  occupants(): Occupant[]
  onStream(server: string, change: StreamChange): void
  onPinChange(server: string, change: PinChange, blocked: boolean): void
  createResilience(server: string, breaker: BreakerSettings | undefined): Resilience | undefined
}

interface Shared {
  id: string | undefined
  server: UpstreamServer
  users: Set<ServerUser>
  /** Those that take nothing new. */
  leaving: Set<ServerUser>
}

/** A list that changed, as one worker has heard. */
export interface ListChange {
  /** Of the definition of the server. */
  id: string
  /** Of the values of its templates. */
  key: string
  method: string
}

/** The other workers of the gateway, which have sessions with the same servers. */
export interface OtherWorkers {
  tell(change: ListChange): void
  /** Has what they tell heard. */
  follow(listener: (change: ListChange) => void): void
}

/** The MCP servers that routers use, each once, with its connections: it is closed once nobody uses it. */
export class SharedServers {
  readonly #byId = new Map<string, Shared>()
  readonly #all = new Map<UpstreamServer, Shared>()

  /** @param others absent: there is one process */
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
    // One thing happens once: who has used the server longest accounts for it.
    const first = () => [...users].slice(0, 1)
    const server = new UpstreamServer(
      definition,
      {
        ...context,
        onStream: (...change) => {
          for (const one of first()) one.onStream(...change)
        },
        onPinChange: (...change) => {
          for (const one of first()) one.onPinChange(...change)
        },
        ...(id !== undefined && {
          onListChanged: (key: string, method: string) => this.others?.tell({ id, key, method }),
        }),
        createResilience: (...of) => user.createResilience(...of),
      },
      () => [...users].flatMap((one) => one.occupants()),
    )
    const shared: Shared = { id, server, users, leaving: new Set() }
    if (id !== undefined) this.#byId.set(id, shared)
    this.#all.set(server, shared)
    return server
  }

  /** A router ends what it has under way. Where all do, those who come get a server that does not end with it. */
  leave(server: UpstreamServer, user: ServerUser): void {
    const shared = this.#all.get(server)
    if (!shared) return
    shared.leaving.add(user)
    if (shared.leaving.size === shared.users.size) this.#forget(shared)
  }

  #forget(shared: Shared): void {
    if (shared.id !== undefined && this.#byId.get(shared.id) === shared) this.#byId.delete(shared.id)
  }

  /** Resolves when nothing is left of the server, or at once where others use it. */
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
