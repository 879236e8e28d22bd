import { createHash } from 'node:crypto'

/** What two servers may both have, under the same name or URI. */
export type OwnedKind = 'tools' | 'prompts' | 'resources'
export type NamedKind = Exclude<OwnedKind, 'resources'>

/** Names of one kind that are remembered of a server; its oldest give way. */
const MAX_NAMES = 20_000
/** Characters of a name that is remembered as it is. */
const MAX_LENGTH = 200
/** Milliseconds after which the lists of all servers are read again for a name that is unknown. */
const PAUSE = 5_000
/** Callers with values of their own whose names are remembered. */
const MAX_KEPT = 1_000

/** A page of a list of one server. */
export interface Page {
  names: readonly string[]
  /** Absent: it is the first. */
  cursor?: string | undefined
  /** The cursor of the page after it. Absent: it is the last. */
  next?: string | undefined
}

/** A list of a server, as it was read from its first page on. */
interface Reading {
  list: string
  /** The cursor of the page that continues it. */
  next: string | undefined
}

/** What is known of one server. */
interface Owned {
  /** The last reading that had each name. Undefined: it was never listed. */
  names: Map<string, Reading | undefined>
  /** The last one of each list. */
  readings: Map<string, Reading>
}

interface Known {
  owners: Map<string, number>
  servers: Map<number, Owned>
  /** When all lists were read. */
  since: number
  reading: Promise<void> | undefined
}

/**
 * Which of several servers has a tool, prompt or resource, learnt from lists: the first one counts. A server keeps what it
 * has, also while it is down, until its own list was read to the end and lacks it.
 */
export class Owners {
  readonly #known: Record<OwnedKind, Known> = { tools: nothing(), prompts: nothing(), resources: nothing() }

  of(kind: OwnedKind, name: string): number | undefined {
    return this.#known[kind].owners.get(shortened(name))
  }

  /** Takes a page that a server has answered; what its list lacks is free then. @param list one of its lists of this kind */
  read(kind: OwnedKind, list: string, server: number, { names, cursor, next }: Page): void {
    const { owners } = this.#known[kind]
    const own = this.#ownedBy(kind, server)
    const before = own.readings.get(list)
    // Pages of different readings do not tell what the list lacks.
    if (cursor !== undefined && (!before || before.next !== cursor)) return
    const reading = cursor === undefined || !before ? { list, next } : Object.assign(before, { next })
    own.readings.set(list, reading)
    for (const name of names) {
      const owner = this.of(kind, name)
      // A server that starts late has its place before those that come after it in the list.
      if (owner === server || (!before && owner !== undefined && owner > server))
        this.#own(kind, name, server, reading)
    }
    if (next !== undefined) return
    for (const [name, last] of own.names) {
      if (last === undefined || last === reading || last.list !== list) continue
      own.names.delete(name)
      owners.delete(name)
    }
  }

  /** Whether a name that a server has is that server's, rather than another's. @param list that has it; absent: none */
  take(kind: OwnedKind, name: string, server: number, list?: string): boolean {
    const owner = this.of(kind, name)
    if (owner === undefined) {
      const { readings } = this.#ownedBy(kind, server)
      this.#own(kind, name, server, list === undefined ? undefined : readings.get(list))
    }
    return owner === undefined || owner === server
  }

  #ownedBy(kind: OwnedKind, server: number): Owned {
    const { servers } = this.#known[kind]
    const own = servers.get(server) ?? { names: new Map(), readings: new Map() }
    servers.set(server, own)
    return own
  }

  #own(kind: OwnedKind, name: string, server: number, reading: Reading | undefined): void {
    const { owners, servers } = this.#known[kind]
    const key = shortened(name)
    const before = owners.get(key)
    if (before !== undefined) servers.get(before)?.names.delete(key)
    const { names } = this.#ownedBy(kind, server)
    names.set(key, reading)
    owners.set(key, server)
    if (names.size <= MAX_NAMES) return
    const oldest = names.keys().next().value as string
    names.delete(oldest)
    owners.delete(oldest)
  }

  /** Knows what others know. @param at the place of one of their servers here; undefined: it has none */
  learnFrom(others: Owners, at: (server: number) => number | undefined): void {
    for (const kind of ['tools', 'prompts', 'resources'] as const) {
      const { owners } = this.#known[kind]
      for (const [server, { names, readings }] of others.#known[kind].servers) {
        const here = at(server)
        if (here === undefined) continue
        const own = this.#ownedBy(kind, here)
        for (const [list, reading] of readings)
          if (!own.readings.has(list)) own.readings.set(list, { ...reading })
        for (const [key, reading] of names) {
          if (owners.has(key) || own.names.size >= MAX_NAMES) continue
          owners.set(key, here)
          own.names.set(key, reading)
        }
      }
    }
  }

  /**
   * The server that has a name; undefined: none.
   * @param read reads the lists of all servers, for a name that was not listed yet: the pages of each, or undefined for a
   *   server that did not answer
   */
  async find(
    kind: NamedKind,
    name: string,
    read: () => Promise<(readonly Page[] | undefined)[]>,
  ): Promise<number | undefined> {
    const known = this.#known[kind]
    if (this.of(kind, name) === undefined) await known.reading
    const owner = this.of(kind, name)
    if (owner !== undefined || performance.now() - known.since < PAUSE) return owner
    known.reading = read()
      .then((lists) => {
        for (const [server, pages] of lists.entries())
          for (const page of pages ?? []) this.read(kind, kind, server, page)
        // As clients see them, who get a page of each server at a time.
        for (let page = 0; lists.some((pages) => pages?.[page]); page++)
          for (const [server, pages] of lists.entries())
            for (const one of pages?.[page]?.names ?? []) this.take(kind, one, server, kind)
        if (lists.every((pages) => pages)) known.since = performance.now()
      })
      .finally(() => {
        known.reading = undefined
      })
    await known.reading
    return this.of(kind, name)
  }
}

function nothing(): Known {
  return { owners: new Map(), servers: new Map(), since: -Infinity, reading: undefined }
}

/** A name as it is remembered. */
function shortened(name: string): string {
  return name.length > MAX_LENGTH ? createHash('sha256').update(name).digest('base64url') : name
}

/** What servers own, by what their templates come to: another caller may see other tools. */
export class KeptOwners {
  readonly #all = new Map<string, Owners>()

  of(key: string): Owners {
    const owners = this.#all.get(key) ?? new Owners()
    this.#all.delete(key)
    this.#all.set(key, owners)
    if (this.#all.size > MAX_KEPT) this.#all.delete(this.#all.keys().next().value as string)
    return owners
  }
}
