import type { Sink, State } from '../exec.ts'
import type { Flow } from '../flow.ts'
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

/** The last character of a template. */
export function lastSpan(root: readonly Node[]): Span {
  const end = root.at(-1)?.end ?? 0
  return { start: Math.max(0, end - 1), end }
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
