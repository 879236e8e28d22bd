/** What has names that two servers may both use. */
export type NamedKind = 'tools' | 'prompts'

/** Names that are remembered of one kind; the oldest give way. */
const MAX_NAMES = 100_000
/** Milliseconds after which the lists of all servers are read again for a name that nobody knows. */
const PAUSE = 5_000
/** Callers with values of their own whose names are remembered. */
const MAX_KEPT = 1_000

interface Known {
  owners: Map<string, { server: number; reading: number }>
  /** Counts the readings of the list; what one did not reach may still be there. */
  readings: number
  /** When all lists were read. */
  since: number
  reading: Promise<void> | undefined
}

/** Which of several servers has a tool or prompt, where its name does not tell: learnt from lists, the first one counts. */
export class PlainNames {
  readonly #known: Record<NamedKind, Known> = { tools: nothing(), prompts: nothing() }

  /** A list is read from its beginning. */
  begin(kind: NamedKind): void {
    this.#known[kind].readings++
  }

  /** Whether a name that a server lists is that server's, rather than another's. */
  take(kind: NamedKind, name: string, server: number): boolean {
    const { owners, readings } = this.#known[kind]
    const owner = owners.get(name)
    if (owner?.reading === readings) return owner.server === server
    // The oldest are those of the oldest readings.
    owners.delete(name)
    owners.set(name, { server, reading: readings })
    if (owners.size > MAX_NAMES) owners.delete(owners.keys().next().value as string)
    return true
  }

  /**
   * The server that has a name; undefined: none.
   * @param read reads the lists of all servers, for a name that was not listed yet: the names of each page, or undefined
   *   for a server that did not answer
   */
  async find(
    kind: NamedKind,
    name: string,
    read: () => Promise<(readonly (readonly string[])[] | undefined)[]>,
  ): Promise<number | undefined> {
    const known = this.#known[kind]
    if (!known.owners.has(name)) await known.reading
    if (known.owners.has(name) || performance.now() - known.since < PAUSE)
      return known.owners.get(name)?.server
    known.reading = read()
      .then((lists) => {
        this.begin(kind)
        // As clients see them, who get a page of each server at a time.
        for (let page = 0; lists.some((pages) => pages?.[page]); page++)
          for (const [server, pages] of lists.entries())
            for (const one of pages?.[page] ?? []) this.take(kind, one, server)
        if (!lists.every((pages) => pages)) return
        known.since = performance.now()
        for (const [one, { reading }] of known.owners) if (reading < known.readings) known.owners.delete(one)
      })
      .finally(() => {
        known.reading = undefined
      })
    await known.reading
    return known.owners.get(name)?.server
  }
}

function nothing(): Known {
  return { owners: new Map(), readings: 0, since: -Infinity, reading: undefined }
}

/** The names of the servers by what their templates come to: another caller may see other tools. */
export class KeptNames {
  readonly #all = new Map<string, PlainNames>()

  of(key: string): PlainNames {
    const names = this.#all.get(key) ?? new PlainNames()
    this.#all.delete(key)
    this.#all.set(key, names)
    if (this.#all.size > MAX_KEPT) this.#all.delete(this.#all.keys().next().value as string)
    return names
  }
}
