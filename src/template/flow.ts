import type { Secrets } from './types.ts'

/** Properties of values, whatever their source. */
export interface Marks {
  /** It may come from a caller or an upstream. */
  tainted: boolean
  /** It depends on secrets of `CompileOptions.secrets`. */
  secret: boolean
  /** A function joined several texts, so one may have escaped from quotes around it. */
  built: boolean
}

/** The known facts of a value before rendering. */
export interface Flow extends Marks {
  /** Form of its text: plain, JSON, escaped for a URL or HTML, or exempt from escaping. */
  form: 'text' | 'json' | 'url' | 'html' | 'raw'
  /** Its path below the root. */
  path?: readonly string[]
  constant?: string
  /** Whether it is a literal separator between values: true if one of its texts has a comma. */
  separator?: boolean
}

export const UNMARKED: Marks = { tainted: false, secret: false, built: false }
export const CONSTANT: Flow = { ...UNMARKED, form: 'text' }
export const TAINTED: Flow = { ...CONSTANT, tainted: true }

/** The marks of a value made of others. */
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

/** The rules for the flow of a path below the root. */
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

/** An unknown item or key of the value. */
export function someItem(flow: Flow): Flow {
  return { ...marksOf([flow]), form: 'text' }
}

/** The flow of a value that is one or the other. */
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

/** Equal for equal flows. */
export function flowKey({ tainted, secret, form, built, path, constant, separator }: Flow): string {
  return JSON.stringify([tainted, secret, form, built, path, constant, separator])
}
