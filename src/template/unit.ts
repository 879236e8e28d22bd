import type { ErrorSink } from './errors.ts'
import { type Flow, join, same } from './flow.ts'
import type { FunctionEntry } from './funcs/define.ts'
import type { Environment } from './funcs/gateway.ts'
import type { Span } from './node.ts'
import type { Reference, Roots } from './types.ts'

/** What the whole compilation shares. */
export interface Compilation {
  go: boolean
  functions: ReadonlyMap<string, FunctionEntry>
  env: Environment
  roots: Roots | undefined
  trusted: ReadonlySet<string>
  sink: ErrorSink
  references: Map<string, Reference>
  /**
   * What maps are changed with, anywhere in the template. Who holds a changed map is not followed: all maps that
   * the template makes may hold it.
   */
  changes: { tainted: boolean; built: boolean }
  /** Something else than constants was met. */
  dynamic: boolean
  /** `$` is declared or assigned somewhere, so that it may be something else than the root. */
  dollarChanges: boolean
}

/** What is known while one definition is compiled. */
export interface Unit extends Compilation {
  /** Names of the variables in sight, the innermost last. */
  scope: string[]
  /** Their slots, the innermost last for each name. */
  slotsOf: Map<string, number[]>
  /** How many variables there are; the first is `$`. */
  slots: number
  /** What each variable may hold, joined over all its assignments. */
  flows: Flow[]
  /** A variable was found to hold more than was thought when it was used. */
  unstable: boolean
  dot: Flow
  /** Dot and `$` are the root itself. */
  dotIsRoot: boolean
  dollarIsRoot: boolean
}

export function slotOf(unit: Unit, name: string): number | undefined {
  return unit.slotsOf.get(name)?.at(-1)
}

/** Forgets the variables declared since. */
export function leaveScope(unit: Unit, mark: number): void {
  while (unit.scope.length > mark) unit.slotsOf.get(unit.scope.pop()!)!.pop()
}

export function declare(unit: Unit, name: string, flow: Flow): number {
  const slot = unit.slots++
  unit.scope.push(name)
  const slots = unit.slotsOf.get(name)
  if (slots) slots.push(slot)
  else unit.slotsOf.set(name, [slot])
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
