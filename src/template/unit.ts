import type { ErrorSink } from './errors.ts'
import { type Flow, join, type Marks, same } from './flow.ts'
import type { FunctionEntry } from './funcs/define.ts'
import type { Environment } from './funcs/gateway.ts'
import type { Span } from './node.ts'
import type { Scope } from './scope.ts'
import type { Reference, Roots, Secrets } from './types.ts'

/** What the whole compilation shares. */
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
   * What maps are changed with, anywhere in the template. Who holds a changed map is not followed: all maps that
   * the template makes may hold it.
   */
  changes: Marks
  /** Something else than constants was met. */
  dynamic: boolean
}

/** What is known while one definition is compiled. */
export interface Unit extends Compilation {
  scope: Scope
  /** What each variable may hold, by its slot, joined over all its assignments. */
  flows: Flow[]
  /** A variable was found to hold more than was thought when it was used. */
  unstable: boolean
  dot: Flow
}

export function declare(unit: Unit, name: string, flow: Flow): number {
  const slot = unit.scope.declare(name)
  widen(unit, slot, flow)
  return slot
}

/** Notes that a variable may also hold this. */
export function widen(unit: Unit, slot: number, flow: Flow): void {
  const known = unit.flows[slot]
  const joined = join(known, flow)
  if (known && !same(known, joined)) unit.unstable = true
  unit.flows[slot] = joined
}

export function refer(unit: Unit, flow: Flow, span: Span): void {
  unit.dynamic = true
  if (!flow.path) return
  const key = `${span.start} ${JSON.stringify(flow.path)}`
  if (!unit.references.has(key)) {
    unit.references.set(key, { path: flow.path, start: span.start, end: span.end })
  }
}
