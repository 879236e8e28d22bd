import type { Sink } from '../exec.ts'
import type { Flow } from '../flow.ts'
import type { Node, Span } from '../node.ts'

/** Where in the output a piece of the template stands, in the words of its place. */
export type Context = string

/** How one place (JSON, URL, …) follows its contexts and escapes values. */
export interface PlaceRules {
  start: Context
  /** Nothing is reached here: behind `break` and `continue`. */
  dead: Context
  /** The context behind this text of the template. */
  text(context: Context, text: string, span: Span): Context
  /** How a value is written here, and the context behind it. */
  value(context: Context, flow: Flow, span: Span): { sink: Sink; end: Context }
  /** The context behind two branches; undefined when they cannot meet. */
  join(a: Context, b: Context): Context | undefined
  /** The context in plain words. */
  name(context: Context): string
  /** Judges the context in which the template ends. */
  finish(context: Context, root: readonly Node[]): void
}

export const DEAD: Context = 'unreachable'

/** Rules of a place that has one context. */
export function plainRules(sinkFor: (flow: Flow, span: Span) => Sink): PlaceRules {
  const context = 'text'
  return {
    start: context,
    dead: DEAD,
    text: (at) => at,
    value: (at, flow, span) => ({ sink: sinkFor(flow, span), end: at }),
    join: () => context,
    name: (at) => at,
    finish: () => {},
  }
}
