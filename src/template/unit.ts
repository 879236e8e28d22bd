import type { ErrorSink } from './errors.ts'
import { type Flow, join, type Marks, same } from './flow.ts'
import type { FunctionEntry } from './funcs/define.ts'
import type { Environment } from './funcs/gateway.ts'
import type { Span } from './node.ts'
import type { Reference, Roots, Secrets } from './types.ts'

/** State shared by the whole compilation. */
export interface Compilation {
  go: boolean
  functions: ReadonlyMap<string, FunctionEntry>
  env: Environment
  roots: Roots | undefined
  trusted: readonly string[]
  secrets: Secrets | undefined
  sink: ErrorSink
  references: Map<string, Reference>
  /**
   * Values that maps are changed with anywhere. Aliases are not tracked, so every map of the template may contain them.
   */
  changes: Marks
  /** Whether anything but constants was found. */
  dynamic: boolean
}

/** State of compiling one definition. */
export interface Unit extends Compilation {
  scope: Scope
  /** The possible values of each variable, by slot, joined over all assignments. */
  flows: Flow[]
  /** Whether a variable turned out to hold more than assumed. */
  unstable: boolean
  dot: Flow
}

export function declare(unit: Unit, name: string, flow: Flow): number {
  const slot = unit.scope.declare(name)
  widen(unit, slot, flow)
  return slot
}

/** Records that a variable may also hold this. */
export function widen(unit: Unit, slot: number, flow: Flow): void {
  const known = unit.flows[slot]
  const joined = join(known, flow)
  if (known && !same(known, joined)) unit.unstable = true
  unit.flows[slot] = joined
}

export function recordReference(unit: Unit, flow: Flow, span: Span): void {
  unit.dynamic = true
  if (!flow.path) return
  const key = `${span.start} ${JSON.stringify(flow.path)}`
  if (!unit.references.has(key)) {
    unit.references.set(key, { path: flow.path, start: span.start, end: span.end })
  }
}

/** The visible variables, `$` first. Each declaration has its own slot. */
export class Scope {
  readonly names: string[] = ['$']
  /** By name, innermost last. */
  private readonly slots = new Map<string, number[]>([['$', [0]]])
  private next = 1

  slotOf(name: string): number | undefined {
    return this.slots.get(name)?.at(-1)
  }

  declare(name: string): number {
    const slot = this.next++
    const known = this.slots.get(name)
    if (known) known.push(slot)
    else this.slots.set(name, [slot])
    this.names.push(name)
    return slot
  }

  /** Removes all but the first `count`. */
  leave(count: number): void {
    while (this.names.length > count) this.slots.get(this.names.pop()!)!.pop()
  }
}
