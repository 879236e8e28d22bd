import { createHash } from 'node:crypto'
import { RecentMap } from '../../text/index.ts'

/** Kinds of items that several servers may define under the same name or URI. */
export type OwnedKind = 'tools' | 'prompts' | 'resources'
export type NamedKind = Exclude<OwnedKind, 'resources'>

/** Maximum names of one kind remembered for a server; the oldest are dropped first. */
const MAX_NAMES = 20_000
/** Longer names are remembered by their digest. */
const MAX_LENGTH = 200
/** Milliseconds between readings of all lists to find an unknown name. */
const PAUSE = 5_000
/** Maximum sets of template values whose names are remembered. */
const MAX_KEPT = 1_000

/** A page of a server's list. */
export interface Page {
  names: readonly string[]
  /** Absent: the first page. */
  cursor?: string | undefined
  /** Cursor of the next page; absent: it is the last. */
  next?: string | undefined
}

/** One reading of a server's list, from its first page on. */
interface Reading {
  list: string
  /** Cursor of the page that continues it. */
  next: string | undefined
}

/** Names of one server. */
interface Owned {
  /** The last reading that contained each name; undefined: not from a list. */
  names: Map<string, Reading | undefined>
  /** The last reading of each list. */
  readings: Map<string, Reading>
}

interface Known {
  owners: Map<string, number>
  servers: Map<number, Owned>
  /** Time when all lists were read. */
  since: number
  reading: Promise<void> | undefined
}

/**
 * Which of several servers has a tool, prompt or resource; the first one listed wins. A server keeps its items, even
 * while down, until a complete reading of its own list lacks them.
 */
export class Owners {
  readonly #known: Record<OwnedKind, Known> = { tools: nothing(), prompts: nothing(), resources: nothing() }

  of(kind: OwnedKind, name: string): number | undefined {
    return this.#known[kind].owners.get(shortened(name))
  }

  /**
   * Records a page of a server's list; items missing from a complete list are released. @param list one of its lists of
   * this kind
   */
  read(kind: OwnedKind, list: string, server: number, { names, cursor, next }: Page): void {
    const { owners } = this.#known[kind]
    const own = this.#ownedBy(kind, server)
    const before = own.readings.get(list)
    // Pages of different readings do not show which items are missing.
    if (cursor !== undefined && (!before || before.next !== cursor)) return
    const reading = cursor === undefined || !before ? { list, next } : Object.assign(before, { next })
    own.readings.set(list, reading)
    for (const name of names) {
      const owner = this.of(kind, name)
      // A server that starts late keeps its precedence over later servers.
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

  /** Claims a name for a server; false: another server has it. @param list that contains it, if any */
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

  /** Copies what another instance knows. @param at index here of one of its servers; undefined: removed */
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
   * @param read reads the lists of all servers: the pages of each, or undefined for a server that did not answer
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
        // In the order in which clients see them: one page of each server at a time.
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

/** The key of a name. */
function shortened(name: string): string {
  return name.length > MAX_LENGTH ? createHash('sha256').update(name).digest('base64url') : name
}

/** Owners by template values, as callers with other values may see other tools. */
export class KeptOwners {
  readonly #all = new RecentMap<string, Owners>(MAX_KEPT)

  of(key: string): Owners {
    const owners = this.#all.get(key) ?? new Owners()
    this.#all.set(key, owners)
    return owners
  }
}
