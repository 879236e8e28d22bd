import { numberText, pauseFor, quoteAll, shorten, wellFormed } from '../../text/index.ts'
import {
  isObject,
  type Json,
  JsonLimitError,
  type JsonObject,
  parseVerbatim,
  setOwn,
  stringify,
} from '../index.ts'
import { fitJson, isOmitted, limitItems, nothingOmitted, type Omitted } from './fit.ts'
import type { MaskFault } from './mask-text.ts'
import { compilePages, type Pages, type PagesFault, type PagesTexts } from './pages.ts'
import { compileFields, compileMasks, type Masks, type MasksFault, type MaskTexts } from './path-masks.ts'
import { joinedSchema, loosenedSchema } from './shaped-schema.ts'

/** How a tool's answers are shaped, as configured. */
export interface ShapingTexts extends MaskTexts {
  maxItems?: number | undefined
  /** Default: `resultChars` of the limits. */
  maxChars?: number | undefined
  format?: 'json' | 'csv' | 'markdown' | undefined
  /** Whether calls may select parts. */
  fields?: boolean | undefined
  /** Whether the rest is kept for clients that request it. */
  more?: 'handle' | undefined
  /** Absent: an answer is the only page. */
  pages?: PagesTexts | undefined
}

/** A fault in a mask or a path. */
export type ShapingFault = MasksFault | PagesFault

/** A text for a client. */
export interface Presented {
  text: string
  /** Other data of an answer whose list is shown as a table, as JSON. */
  beside?: string
  /** The parts that the text lacks, and how to get them. */
  notice: string | undefined
  /** Present if something was cut off. */
  cut?: Cut
  /** The shown value; undefined: not JSON. */
  value?: Json
}

/** The cut-off part of a text. */
interface Cut {
  /** Description of the missing part. */
  lacks: string
  isJson: boolean
  /** The text without limits. */
  whole(): string
}

/** How to get the cut-off part: a sentence, and a resource link. */
interface Rest {
  how: string
  link?: JsonObject | undefined
}

/** Keeps a text that a client gets only in part; undefined: no memory. */
export type Keep = (whole: string, isJson: boolean) => Rest | undefined

/** The text with a notice about its rest. @param keep absent: nothing is kept */
export function withRest(presented: Presented, keep: Keep | undefined): Presented & { link?: JsonObject } {
  const { cut } = presented
  const rest = cut && keep?.(cut.whole(), cut.isJson)
  if (!cut || !rest) return presented
  const { how, link } = rest
  return { ...presented, notice: `${cut.lacks} ${how}`, ...(link && { link }) }
}

/** Compiled shaping of a tool's answers. */
export interface Shaping {
  readonly masks: Masks
  /** Whether it changes answers within the limit. */
  readonly isDeclared: boolean
  /** How pages follow each other; undefined: they are not read. */
  readonly pages: Pages | undefined
  /** Whether JSON is written as a table. */
  readonly isTable: boolean
  /** Maximum characters of a text. */
  readonly maxChars: number
  /** Applies masks and `maxItems` to a value. @param omitted records what is missing */
  apply(value: Json, omitted: Omitted): Json
  /** A shaped value as text. @param whole whether it must keep its form, even if too long */
  present(value: Json, omitted: Omitted, whole?: boolean): Promise<Presented>
  /** Any text, truncated at the limit. @param omitted before the text was made */
  presentText(text: string, omitted?: Omitted): Promise<Presented>
  unchanged(text: string, value: Json, omitted: Omitted): Presented
  /** Whether the cut-off part is kept. */
  readonly keepsRest: boolean
  readonly hasFields: boolean
  /** The shaping for a call that selects parts. @param fields a mask over the masked value */
  narrowed(fields: string): Shaping | MaskFault
  /** The schema of the value to shape, by that of an answer. */
  wholeSchema(schema: JsonObject): JsonObject
  /** The schema of shaped values. */
  schemaOf(schema: JsonObject): JsonObject
}

/** Shared by tools without a `response` and with the same limit, which most are. */
let plain: Shaping | undefined

/** @param resultChars of the limits */
export function compileShaping(
  texts: ShapingTexts | undefined,
  resultChars: number,
): Shaping | ShapingFault[] {
  if (texts) return compileTexts(texts, resultChars)
  if (plain?.maxChars !== resultChars) plain = compileTexts({}, resultChars) as Shaping
  return plain
}

function compileTexts(texts: ShapingTexts, resultChars: number): Shaping | ShapingFault[] {
  const masks = compileMasks(texts)
  const pages = texts.pages && compilePages(texts.pages, texts.maxItems ?? Number.POSITIVE_INFINITY)
  const faults = [masks, pages].flatMap((made): ShapingFault[] => (Array.isArray(made) ? made : []))
  return faults.length > 0
    ? faults
    : shapingOf(masks as Masks, pages as Pages | undefined, texts, resultChars)
}

function shapingOf(
  masks: Masks,
  pages: Pages | undefined,
  texts: ShapingTexts,
  resultChars: number,
  asked?: Masks,
): Shaping {
  const { maxItems, format = 'json', maxChars = resultChars, fields: hasFields = false } = texts
  return {
    masks,
    pages,
    isDeclared:
      [masks.select, masks.drop, asked?.select].some((entries) => entries?.length) ||
      maxItems !== undefined ||
      format !== 'json',
    isTable: format !== 'json',
    maxChars,
    keepsRest: texts.more === 'handle',
    unchanged: (text, value, omitted) => ({ text, value, ...noticed(omitted, () => text, true) }),
    apply(value, omitted) {
      const kept = masks.apply(value)
      const left = asked ? asked.apply(kept) : kept
      if ((asked ?? masks).select.length > 0 && isEmpty(left) && !isEmpty(value))
        omitted.missed = namesOf(asked && !isEmpty(kept) ? kept : value)
      if (maxItems === undefined) return left
      omitted.whole = left
      return limitItems(left, maxItems, omitted)
    },
    async present(value, omitted, whole = false) {
      const table = format === 'json' ? undefined : asTable(value, format, maxChars, omitted)
      const all = () => stringify(value)
      if (table && !whole) return { ...table, ...noticed(omitted, all, true), value }
      const fit = await fitJson(value, maxChars, omitted, whole)
      return { ...(table ?? { text: stringify(fit) }), ...noticed(omitted, all, true), value: fit }
    },
    presentText: (text, omitted = nothingOmitted()) => presentText(text, maxChars, omitted),
    hasFields,
    narrowed(fields) {
      const made = compileFields(fields)
      return 'fault' in made ? made : shapingOf(masks, pages, texts, resultChars, made)
    },
    wholeSchema: (schema) => (pages ? joinedSchema(schema) : schema),
    schemaOf(schema) {
      const shaped = masks.schemaOf(pages ? joinedSchema(schema) : schema)
      const isCut = maxItems !== undefined || texts.maxChars !== undefined
      return isCut || hasFields ? loosenedSchema(shaped, hasFields) : shaped
    },
  }
}

function isEmpty(value: Json): boolean {
  return (Array.isArray(value) || isObject(value)) && Object.keys(value).length === 0
}

/** Undefined: the value is not a table, or no row fits. */
function asTable(value: Json, format: 'csv' | 'markdown', most: number, omitted: Omitted) {
  const table = tableOf(value)
  if (!table) return undefined
  const beside = Object.keys(table.beside).length === 0 ? '' : stringify(table.beside)
  const { text, kept } = tableText(table, most - beside.length, WRITINGS[format])
  if (kept === 0) return undefined
  const path = table.path ?? ''
  const of = omitted.lists.get(path)?.of ?? table.rows.length
  if (kept < of) omitted.lists.set(path, { kept, of })
  return { text, ...(beside && { beside }) }
}

async function presentText(text: string, most: number, omitted: Omitted): Promise<Presented> {
  if (text.length > most) return shortened(text, most, omitted)
  return isOmitted(omitted) ? { text, ...noticed(omitted, () => text, false) } : { text, notice: undefined }
}

async function shortened(text: string, most: number, omitted: Omitted): Promise<Presented> {
  // The template's output is what is cut now.
  const all = { ...omitted, whole: undefined }
  const value = jsonIn(text)
  await pauseFor(text)
  if (value !== undefined) {
    const fit = await fitJson(value, most, all)
    return { text: stringify(fit), ...noticed(all, () => text, true), value: fit }
  }
  const first = text.slice(0, most)
  const line = first.lastIndexOf('\n')
  const part = wellFormed(line > most / 2 ? first.slice(0, line) : first)
  const lacks = `Shortened: this is the beginning, ${numberText(part.length)} of ${numberText(text.length)} characters.`
  return { text: part, notice: `${lacks} ${MORE}`, cut: { lacks, isJson: false, whole: () => text } }
}

/** The notice about missing parts. @param all returns the text without the length limit */
function noticed(omitted: Omitted, all: () => string, isJson: boolean): Pick<Presented, 'notice' | 'cut'> {
  if (!isOmitted(omitted)) return { notice: undefined }
  const { missed, whole } = omitted
  const lacks = missed ? missedText(missed) : lacksText(omitted)
  if (missed) return { notice: lacks }
  const cut = whole === undefined ? { isJson, whole: all } : { isJson: true, whole: () => stringify(whole) }
  return { notice: `${lacks} ${MORE}`, cut: { lacks, ...cut } }
}

/** Maximum paths in a notice. */
const MAX_LISTED = 6
const MORE = 'For the rest, call again with arguments that ask for less, such as a filter or another page.'

function missedText(missed: readonly string[]): string {
  return `The response has none of the members that are selected. It has ${quoteAll(missed.map((name) => shorten(name, 60)))}.`
}

function lacksText({ lists, strings, rest }: Omitted): string {
  const parts = [...lists].slice(0, MAX_LISTED).map(([path, { kept, of }]) => {
    const inLists = path.includes('[]')
    return `${path === '' ? 'the list' : `\`${path}\``} has the first ${numberText(kept)} of ${inLists ? 'up to ' : ''}${numberText(of)} items`
  })
  if (lists.size > MAX_LISTED) parts.push(`${numberText(lists.size - MAX_LISTED)} other lists are cut`)
  if (strings)
    parts.push(`${numberText(strings.count)} strings are cut to ${numberText(strings.longest)} characters`)
  if (rest) parts.push('what had no room is left out')
  return `Shortened: ${parts.join('; ')}.`
}

/** Member names of an object, or of the first object in a list. */
function namesOf(value: Json): string[] {
  const object = Array.isArray(value) ? value.find(isObject) : value
  return isObject(object) ? Object.keys(object).slice(0, 20) : []
}

/** Undefined: the text is not a JSON array or object. */
export function jsonIn(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return parseVerbatim(text)
  } catch {
    return undefined
  }
}

/** Why a text that looks like JSON cannot be parsed; undefined: it can, or is something else. */
export function jsonLimitOf(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    parseVerbatim(text)
  } catch (error) {
    if (error instanceof JsonLimitError) return error.message
  }
  return undefined
}

/** A value as a table: rows, and other data of the answer. */
interface Table {
  columns: string[]
  rows: ReadonlyMap<string, Json>[]
  /** Path of the list; undefined: the value is the list or the only row. */
  path: string | undefined
  beside: JsonObject
}

/** The first list of objects in a value, or its first list, or the value as the only row; undefined if unsuitable. */
function tableOf(value: Json): Table | undefined {
  const [path, list] = rowsOf(value)
  const columns = new Set<string>()
  const rows: Map<string, Json>[] = []
  for (const item of list) {
    const row = isObject(item) ? rowOf(item) : new Map([['value', item]])
    for (const name of row.keys()) columns.add(name)
    if (columns.size > 200) return undefined
    rows.push(row)
  }
  if (columns.size === 0) return undefined
  const beside: JsonObject = {}
  if (isObject(value) && path !== undefined)
    for (const [name, member] of Object.entries(value)) if (name !== path) setOwn(beside, name, member)
  return { columns: [...columns], rows, path, beside }
}

function rowsOf(value: Json): [path: string | undefined, rows: Json[]] {
  if (Array.isArray(value)) return [undefined, value]
  if (!isObject(value)) return [undefined, []]
  const lists = Object.entries(value).filter((entry): entry is [string, Json[]] => Array.isArray(entry[1]))
  return lists.find(([, items]) => items.some(isObject)) ?? lists[0] ?? [undefined, [value]]
}

/** Members of nested objects are named like `owner.login`; if names clash, the objects become cells. */
function rowOf(item: JsonObject): Map<string, Json> {
  const cells = cellsOf(item)
  const row = new Map(cells)
  return row.size === cells.length ? row : new Map(Object.entries(item))
}

function cellsOf(object: JsonObject, path = '', depth = 0): [string, Json][] {
  return Object.entries(object).flatMap(([name, member]): [string, Json][] =>
    isObject(member) && depth < 4 && Object.keys(member).length > 0
      ? cellsOf(member, `${path}${name}.`, depth + 1)
      : [[`${path}${name}`, member]],
  )
}

/** Strings unchanged, lists of scalars joined with `; `, null as empty, other values as JSON. */
function cell(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  const isFlat = Array.isArray(value) && value.every((item) => !Array.isArray(item) && !isObject(item))
  return isFlat ? value.map(cell).join('; ') : stringify(value)
}

/** Syntax of a table's lines. */
interface Writing {
  before(columns: string[]): string
  row(cells: string[]): string
}

/** RFC 4180 with LF. A single empty cell is quoted, because readers skip empty lines. */
const CSV: Writing = {
  before: (columns) => `${CSV.row(columns)}\n`,
  row: (cells) =>
    cells.map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join() || '""',
}

const MARKDOWN: Writing = {
  before: (columns) => `${MARKDOWN.row(columns)}\n|${' --- |'.repeat(columns.length)}\n`,
  row: (cells) => `| ${cells.map((text) => onOneLine(withoutPipes(text))).join(' | ')} |`,
}

/** Escapes pipes, and backslashes before them, which would otherwise undo the escape. */
function withoutPipes(text: string): string {
  if (!text.includes('|')) return text
  return text.replace(/\\+\|?|\|/g, (found) =>
    found.endsWith('|') ? `${found.slice(0, -1).repeat(2)}\\|` : found,
  )
}

function onOneLine(text: string): string {
  if (!/[\r\n]/.test(text)) return text
  const lines = text.split(/[\r\n]/).map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

const WRITINGS = { csv: CSV, markdown: MARKDOWN }

/** The table with as many of the first rows as fit in `most` characters. */
function tableText({ columns, rows }: Table, most: number, writing: Writing): { text: string; kept: number } {
  let text = writing.before(columns)
  let kept = 0
  for (const row of rows) {
    const cells = columns.map((name) => cell(row.get(name)))
    if (text.length + cells.reduce((sum, one) => sum + one.length, 0) > most) break
    const line = writing.row(cells)
    if (text.length + line.length > most) break
    text += `${line}\n`
    kept++
  }
  return { text: text.slice(0, -1), kept }
}
