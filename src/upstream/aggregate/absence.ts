import type { ListKind } from '../../mcp/index.ts'
import { retryPause } from '../../net/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'

/** Milliseconds in which changes of the same list are announced together. */
const BURST = 500

export interface AbsenceEvents {
  /** Whether a server is up again. */
  find(server: number): Promise<boolean>
  announce(kinds: Iterable<ListKind>): void
}

/** The servers of one prefix that are down, for a client that must be notified when lists change because of it. */
export class Absence {
  readonly #absent = new Set<number>()
  readonly #changed = new Set<ListKind>()
  #looks = 0
  #looking: NodeJS.Timeout | undefined
  #announcing: NodeJS.Timeout | undefined
  #closed = false

  constructor(private readonly events: AbsenceEvents) {}

  /** Marks a server as down; it is tried until it is up again. */
  add(server: number): void {
    if (this.#absent.has(server)) return
    this.#absent.add(server)
    this.#looks = 0
    this.#look()
  }

  /** Announces changed lists soon, several changes together. */
  changed(kinds: Iterable<ListKind>): void {
    for (const kind of kinds) this.#changed.add(kind)
    if (this.#closed || this.#announcing || !this.#changed.size) return
    this.#announcing = setTimeout(() => {
      this.#announcing = undefined
      const all = [...this.#changed]
      this.#changed.clear()
      this.events.announce(all)
    }, BURST).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#looking)
    clearTimeout(this.#announcing)
  }

  #look(): void {
    clearTimeout(this.#looking)
    if (this.#closed || !this.#absent.size) return
    const again = () => {
      this.#findAll().catch(unexpected('a server that is down', () => this.#look()))
    }
    this.#looking = setTimeout(again, retryPause(this.#looks++)).unref()
  }

  async #findAll(): Promise<void> {
    const find = async (server: number) => {
      if (await this.events.find(server)) this.#absent.delete(server)
    }
    await Promise.all([...this.#absent].map(find))
    this.#look()
  }
}
