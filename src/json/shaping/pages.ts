import { isObject, type Json, setOwn, stringify } from '../index.ts'
import { type Entry, type MaskFault, parseMask, type Step } from './mask-text.ts'

/** How pages of a list follow each other, as configured. */
export interface PagesTexts {
  next: string
  items?: string | undefined
  max: number
}

/** Where to find the next page. */
export type Next =
  /** In the `Link` header with `rel=next` (RFC 8288). */
  | { kind: 'link' }
  | { kind: 'url'; read(page: Json): string | undefined }
  /** A value in the page, sent as a query parameter of the next request. */
  | { kind: 'value'; query: string; read(page: Json): string | undefined }
  /** The page number is a query parameter. */
  | { kind: 'number'; query: string }

/** Compiled page settings. */
export interface Pages {
  next: Next
  /** Maximum pages of one call. */
  max: number
  /** Number of items that suffices. */
  enough: number
  /** Paths in the pages: the list (with `[]`), and the next page. */
  entries: { items: Entry; next?: Entry }
  /** The list in a page; undefined: none. */
  itemsOf(page: Json): Json[] | undefined
  /** The page with its list replaced. */
  withItems(page: Json, items: Json[]): Json
}

/** A fault in `next` or `items`. */
export type PagesFault = MaskFault & { path: ['pages', 'next' | 'items'] }

/** `page: +1`. */
const COUNTED = /^\s*([^\s.,:{}[\]*"]+)\s*:\s*\+1\s*$/
const HEADER = 'link'

/** @param enough number of items that suffices */
export function compilePages({ next, items, max }: PagesTexts, enough: number): Pages | PagesFault[] {
  const faults: PagesFault[] = []
  const following = compileNext(next)
  if ('fault' in following) faults.push({ ...following, path: ['pages', 'next'] })
  const list = items === undefined ? ROOT : pathIn(items, false)
  if ('fault' in list) faults.push({ ...list, path: ['pages', 'items'] })
  if ('fault' in following || 'fault' in list) return faults
  const names = list.steps.map((step) => (step as { member: string }).member)
  const { entry, ...made } = following
  return {
    next: made,
    max,
    enough,
    entries: { items: { ...list, steps: [...list.steps, 'items'] }, ...(entry && { next: entry }) },
    itemsOf(page) {
      const found = valueAt(page, list.steps)
      return Array.isArray(found) ? found : undefined
    },
    withItems: (page, value) => replaced(page, names, value),
  }
}

/** The page itself is the list. */
const ROOT: Entry = { steps: [], start: 0, end: 0 }

function compileNext(text: string): (Next & { entry?: Entry }) | MaskFault {
  if (text.trim() === HEADER) return { kind: 'link' }
  const query = COUNTED.exec(text)?.[1]
  if (query !== undefined) return { kind: 'number', query }
  const entry = pathIn(text, true)
  if ('fault' in entry) return entry
  const read = (page: Json) => textOf(valueAt(page, entry.steps))
  return entry.name === undefined
    ? { kind: 'url', read, entry }
    : { kind: 'value', query: entry.name, read, entry }
}

/** A single path of members. @param isNext whether it may have a name, and `[]` for the last item */
function pathIn(text: string, isNext: boolean): Entry | MaskFault {
  const entries = parseMask(text)
  if ('fault' in entries) return entries
  const [entry, other] = entries as [Entry, Entry | undefined]
  const at = { start: entry.start, end: entry.end }
  if (other) return { fault: 'has several paths, where one is expected', start: other.start, end: other.end }
  if (entry.fields || entry.steps.some((step) => step === 'members' || step === 'deep'))
    return { fault: 'has `{…}` or `*`, where one path is expected', ...at }
  if (!isNext && entry.name !== undefined) return { fault: 'gives a name to the list', ...at }
  if (!isNext && entry.steps.includes('items'))
    return { fault: 'has `[]`; write the path of the list itself', ...at }
  return entry
}

/** The value at the path, using the last item of arrays. */
function valueAt(value: Json, steps: readonly Step[]): Json | undefined {
  let at: Json | undefined = value
  for (const step of steps) {
    if (step === 'items') at = Array.isArray(at) ? at.at(-1) : undefined
    else if (typeof step === 'object')
      at = isObject(at) && Object.hasOwn(at, step.member) ? at[step.member] : undefined
    if (at === undefined) return undefined
  }
  return at
}

/** A non-empty string or number; undefined: no next page. */
function textOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  const isNumber = value !== null && value !== undefined && typeof value !== 'boolean'
  return isNumber && !Array.isArray(value) && !isObject(value) ? stringify(value) : undefined
}

function replaced(value: Json, [name, ...rest]: readonly string[], by: Json): Json {
  if (name === undefined || !isObject(value)) return by
  const made = { ...value }
  setOwn(made, name, replaced(value[name] ?? null, rest, by))
  return made
}
