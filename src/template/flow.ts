/** What is known of a value before anything is rendered. */
export interface Flow {
  /** It may come from a caller or an upstream. */
  tainted: boolean
  /** What its text is already: JSON, escaped for a URL, or not to be escaped. */
  form: 'text' | 'json' | 'url' | 'raw'
  /** A function put it together of several texts, one of which may have escaped from quotes around it. */
  built?: boolean
  /** Its place below the root. */
  path?: readonly string[]
  /** Its text, when it is always the same. */
  constant?: string
  /** Nothing but what can stand between values, written in the template: true where one of its texts has a comma. */
  separator?: boolean
}

export const CONSTANT: Flow = { tainted: false, form: 'text' }
export const TAINTED: Flow = { tainted: true, form: 'text' }
/** Nothing is known: joining more to it changes nothing. */
export const ANYTHING: Flow = { tainted: true, form: 'text', built: true }

export function constantText(text: string): Flow {
  const flow: Flow = { tainted: false, form: 'text', constant: text }
  if (SEPARATOR.test(text)) flow.separator = text.includes(',')
  return flow
}

const SEPARATOR = /^[ \t\r\n]{0,9},?[ \t\r\n]{0,9}$/

export function pathFlow(path: readonly string[], trusted: ReadonlySet<string>): Flow {
  return { tainted: path.length === 0 || !trusted.has(path[0]!), form: 'text', path }
}

/** A member of the value. */
export function member(flow: Flow, names: readonly string[], trusted: ReadonlySet<string>): Flow {
  if (flow.path) return pathFlow([...flow.path, ...names], trusted)
  return someItem(flow)
}

/** An item or key of the value, which one is not known. */
export function someItem(flow: Flow): Flow {
  return { tainted: flow.tainted, form: 'text', ...(flow.built ? { built: true } : {}) }
}

/** What is known of a value that is one or the other. */
export function join(a: Flow | undefined, b: Flow): Flow {
  if (a === undefined || same(a, b)) return b
  const joined: Flow = { tainted: a.tainted || b.tainted, form: a.form === b.form ? a.form : 'text' }
  if (a.built || b.built) joined.built = true
  if (a.path && b.path && samePath(a.path, b.path)) joined.path = a.path
  if (a.separator !== undefined && b.separator !== undefined) joined.separator = a.separator || b.separator
  return joined
}

export function same(a: Flow, b: Flow): boolean {
  return (
    a.tainted === b.tainted &&
    a.form === b.form &&
    a.built === b.built &&
    a.constant === b.constant &&
    a.separator === b.separator &&
    samePath(a.path, b.path)
  )
}

function samePath(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.length === b.length && a.every((name, at) => name === b[at])
}

export function flowKey(flow: Flow): string {
  return `${flow.tainted} ${flow.form} ${flow.built ?? false} ${flow.path ? JSON.stringify(flow.path) : ''} ${flow.constant ?? ''} ${flow.separator ?? ''}`
}
