import type { Sink, State } from '../exec.ts'
import type { Flow } from '../flow.ts'
import type { Node, Span } from '../node.ts'

/** Where in the output a piece of the template stands, in the words of its place. */
export type Context = string

/** How one place (JSON, URL, …) follows its contexts and escapes values. */
export interface PlaceRules {
  start: Context
  /** The context behind this text of the template. */
  text(context: Context, text: string): Context
  /** How a value is written here, and the context behind it. */
  value(context: Context, flow: Flow, span: Span): { sink: Sink; end: Context }
  /** The context behind two branches that end in different ones; undefined when they cannot meet. */
  join(a: Context, b: Context): Context | undefined
  /** The context in plain words. */
  name(context: Context): string
  /** Judges the context in which the template ends. */
  ends(context: Context, root: readonly Node[]): void
  /** What goes out. @throws Fault */
  output(state: State): string | undefined
}

/** Rules of a place that has one context. */
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
