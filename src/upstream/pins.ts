import { createHash } from 'node:crypto'
import { canonicalText } from '../json/canonical.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { isObject } from '../mcp/index.ts'

/** What a server declares that models read, as it was when it was pinned. Each is the digest of `digestOf`. */
export interface Pinned {
  instructions?: string
  tools: ReadonlyMap<string, string>
  prompts: ReadonlyMap<string, string>
}

export type PinnedKind = 'tools' | 'prompts' | 'instructions'

/** Something that differs from what was pinned. */
export interface PinChange {
  kind: PinnedKind
  /** Of the tool or prompt; empty for instructions. */
  name: string
  change: 'added' | 'changed'
}

/** SHA-256 of a value's canonical JSON (RFC 8785), in hexadecimal. */
export function digestOf(value: Json): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex')
}

/** Changes that are reported once each; a server that changes for ever is reported so often. */
const MAX_REPORTED = 1000

/** Compares what a server declares, at every list, with what was pinned. */
export class Pins {
  /** Tools and prompts that a list showed to be others than those that were pinned, as `kind name`. */
  private readonly changed = new Set<string>()
  private readonly reported = new Set<string>()

  constructor(
    private readonly pinned: Pinned,
    /** Whether what differs is hidden. */
    readonly blocks: boolean,
    private readonly onChange: (change: PinChange) => void,
  ) {}

  /** What clients may see of a list. */
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

  /** The result of a handshake, as clients may see it. */
  handshake(result: JsonObject): JsonObject {
    const { instructions, ...others } = result
    if (instructions === undefined) return result
    const digest = digestOf(instructions)
    if (this.pinned.instructions === digest) return result
    this.differs('instructions', '', digest)
    return this.blocks ? others : result
  }

  /** Whether clients may use a tool or prompt: what was not pinned they may not, nor what has changed since. */
  allows(kind: 'tools' | 'prompts', name: string): boolean {
    return !this.blocks || (this.pinned[kind].has(name) && !this.changed.has(`${kind} ${name}`))
  }

  private differs(kind: PinnedKind, name: string, digest: string): void {
    const known =
      kind === 'instructions' ? this.pinned.instructions !== undefined : this.pinned[kind].has(name)
    // What was never pinned is not allowed anyway.
    if (known && kind !== 'instructions') this.changed.add(`${kind} ${name}`)
    const key = `${kind} ${name} ${digest}`
    if (this.reported.has(key) || this.reported.size >= MAX_REPORTED) return
    this.reported.add(key)
    this.onChange({ kind, name, change: known ? 'changed' : 'added' })
  }
}
