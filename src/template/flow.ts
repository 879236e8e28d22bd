import type { Secrets } from './types.ts'

/** What values may hold, wherever they come from. */
export interface Marks {
  /** It may come from a caller or an upstream. */
  tainted: boolean
  /** It comes of what `CompileOptions.secrets` names. */
  secret: boolean
  /** A function joined several texts; one may have escaped from quotes around it. */
  built: boolean
}

/** What is known of a value before anything is rendered. */
export interface Flow extends Marks {
  /** What its text is already: JSON, escaped for a URL or for HTML, or not to be escaped. */
  form: 'text' | 'json' | 'url' | 'html' | 'raw'
  /** Its place below the root. */
  path?: readonly string[]
  /** Its text, when it is always the same. */
  constant?: string
  /** Nothing but what can stand between values, written in the template: true where one of its texts has a comma. */
  separator?: boolean
}

export const UNMARKED: Marks = { tainted: false, secret: false, built: false }
export const CONSTANT: Flow = { ...UNMARKED, form: 'text' }
export const TAINTED: Flow = { ...CONSTANT, tainted: true }

/** What a value holds that is made of others. */
export function marksOf(parts: readonly Marks[]): Marks {
  return {
    tainted: parts.some(({ tainted }) => tainted),
    secret: parts.some(({ secret }) => secret),
    built: parts.some(({ built }) => built),
  }
}

export function constantText(text: string): Flow {
  const flow: Flow = { ...CONSTANT, constant: text }
  if (SEPARATOR.test(text)) flow.separator = text.includes(',')
  return flow
}

const SEPARATOR = /^[ \t\r\n]{0,9},?[ \t\r\n]{0,9}$/

/** What decides what is known of a place below the root. */
interface Origins {
  trusted: readonly string[]
  secrets: Secrets | undefined
}

export function pathFlow(path: readonly string[], { trusted, secrets }: Origins): Flow {
  const tainted = path.length === 0 || !trusted.includes(path[0]!)
  return { tainted, secret: secrets?.isSecret(path) ?? false, built: false, form: 'text', path }
}

/** A member of the value. */
export function member(flow: Flow, names: readonly string[], origins: Origins): Flow {
  if (flow.path) return pathFlow([...flow.path, ...names], origins)
  return someItem(flow)
}

/** An item or key of the value, which one is not known. */
export function someItem(flow: Flow): Flow {
  return { ...marksOf([flow]), form: 'text' }
}

/** What is known of a value that is one or the other. */
export function join(a: Flow | undefined, b: Flow): Flow {
  if (a === undefined || same(a, b)) return b
  const joined: Flow = { ...marksOf([a, b]), form: a.form === b.form ? a.form : 'text' }
  if (a.path && JSON.stringify(a.path) === JSON.stringify(b.path)) joined.path = a.path
  if (a.separator !== undefined && b.separator !== undefined) joined.separator = a.separator || b.separator
  return joined
}

export function same(a: Flow, b: Flow): boolean {
  return flowKey(a) === flowKey(b)
}

/** The same for flows that say the same. */
export function flowKey({ tainted, secret, form, built, path, constant, separator }: Flow): string {
  return JSON.stringify([tainted, secret, form, built, path, constant, separator])
}
