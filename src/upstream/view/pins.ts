import { createHash } from 'node:crypto'
import { canonicalText, type Json, type JsonObject } from '../../json/index.ts'
import { isObject } from '../../mcp/index.ts'

/** Pinned declarations of a server, each as a digest by `digestOf`. */
export interface Pinned {
  instructions?: string
  tools: ReadonlyMap<string, string>
  prompts: ReadonlyMap<string, string>
}

export type PinnedKind = 'tools' | 'prompts' | 'instructions'

/** A difference from the pin file. */
export interface PinChange {
  kind: PinnedKind
  /** Name of the tool or prompt; empty for instructions. */
  name: string
  change: 'added' | 'changed'
}

/** SHA-256 of a value's canonical JSON (RFC 8785), in hexadecimal. */
export function digestOf(value: Json): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex')
}

/** Maximum changes reported, in case a server changes constantly. */
const MAX_REPORTED = 1000

/** Compares every list that a server sends with its pin file. */
export class Pins {
  /** Changed tools and prompts, as `kind name`. */
  private readonly changed = new Set<string>()
  private readonly reported = new Set<string>()

  constructor(
    private readonly pinned: Pinned,
    /** Whether differing items are hidden. */
    readonly blocks: boolean,
    private readonly onChange: (change: PinChange) => void,
  ) {}

  /** The items of a list that clients may see. */
  list(kind: 'tools' | 'prompts', definitions: readonly Json[]): Json[] {
    return definitions.filter((definition) => {
      if (!isObject(definition) || typeof definition.name !== 'string') return !this.blocks
      const { name } = definition
      const digest = digestOf(definition)
      const same = this.pinned[kind].get(name) === digest
      if (same) this.changed.delete(`${kind} ${name}`)
      else this.differs(kind, name, digest)
      return same || !this.blocks
    })
  }

  /** An item beside the pin file. */
  stateOf(kind: 'tools' | 'prompts', declared: JsonObject): PinChange['change'] | 'same' {
    const pinned = this.pinned[kind].get(String(declared.name))
    if (pinned === undefined) return 'added'
    return pinned === digestOf(declared) ? 'same' : 'changed'
  }

  /** The handshake result that clients may see. */
  handshake(result: JsonObject): JsonObject {
    const { instructions, ...others } = result
    if (instructions === undefined) return result
    const digest = digestOf(instructions)
    if (this.pinned.instructions === digest) return result
    this.differs('instructions', '', digest)
    return this.blocks ? others : result
  }

  /** Whether clients may use a tool or prompt; unpinned and changed ones are blocked. */
  allows(kind: 'tools' | 'prompts', name: string): boolean {
    return !this.blocks || (this.pinned[kind].has(name) && !this.changed.has(`${kind} ${name}`))
  }

  private differs(kind: PinnedKind, name: string, digest: string): void {
    const known =
      kind === 'instructions' ? this.pinned.instructions !== undefined : this.pinned[kind].has(name)
    // Unpinned items are blocked anyway.
    if (known && kind !== 'instructions') this.changed.add(`${kind} ${name}`)
    const key = `${kind} ${name} ${digest}`
    if (this.reported.has(key) || this.reported.size >= MAX_REPORTED) return
    this.reported.add(key)
    this.onChange({ kind, name, change: known ? 'changed' : 'added' })
  }
}
