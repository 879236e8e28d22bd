import type { ErrorSink } from '../errors.ts'
import type { Sink, State } from '../exec.ts'
import type { Flow } from '../flow.ts'
import { printDialect } from '../fmt/print.ts'
import type { Node, Span } from '../node.ts'

/** Position in the output, in terms of its place. */
export type Context = string

/** How a place (JSON, URL, …) tracks contexts and escapes values. */
export interface PlaceRules {
  start: Context
  text(context: Context, text: string): Context
  /** How to write a value here, and the context after it. */
  value(context: Context, flow: Flow, span: Span): { sink: Sink; end: Context }
  /** The context after two branches; undefined if incompatible. */
  join(a: Context, b: Context): Context | undefined
  /** Description of the context. */
  name(context: Context): string
  ends(context: Context, root: readonly Node[]): void
  /** The final output. @throws Fault */
  output(state: State): string | undefined
}

/** The dialect without escaping. */
export const print: Sink = (_, value) => printDialect(value)

/** Reports at the last character of a template that its output is incomplete. */
export function reportEnd(errors: ErrorSink, root: readonly Node[], message: string, hint: string): void {
  // If branches end in different contexts, the template's end is ambiguous.
  if (errors.errors.some(({ kind }) => kind === 'context')) return
  const end = root.at(-1)?.end ?? 0
  errors.add('context', { start: Math.max(0, end - 1), end }, message, hint)
}

/** Rules of a place with a single context. */
export function plainRules(
  sinkFor: (flow: Flow) => Sink,
  output: PlaceRules['output'] = ({ out }) => out,
): PlaceRules {
  return {
    start: 'text',
    text: (at) => at,
    value: (at, flow) => ({ sink: sinkFor(flow), end: at }),
    join: (at) => at,
    name: (at) => at,
    ends: () => {},
    output,
  }
}
