/** Something that is fuzzed. */
export interface Target {
  readonly name: string
  /** What it holds, in a few words. */
  readonly about: string
  /** Pieces of its language, which mutations put in. */
  readonly tokens: readonly string[]
  /** UTF-16 units of an input at the most. Default 2048. */
  readonly maxLength?: number
  /** Inputs of the bounded run. */
  readonly ciRuns: number
  /** Milliseconds of CPU that one input may take. Default 250. */
  readonly budget?: number
  /** Makes what checks one input: it throws when something does not hold. */
  start(): Promise<Check>
}

export interface Check {
  run(input: string): void | Promise<void>
  /** Inputs that cannot be kept in files, as they hold keys of this run. */
  seeds?: readonly string[]
  close?(): void | Promise<void>
}

/** What does not hold; the same words for every input that shows it. */
export class Broken extends Error {
  override name = 'Broken'
}

export function holds(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Broken(what)
}
