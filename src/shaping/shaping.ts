import { isObject, type Json, type JsonObject, stringify } from '../json/index.ts'
import { pauseFor, quoteAll, shorten, wellFormed } from '../text/index.ts'
import { tableOf, tableText, WRITINGS } from './as-table.ts'
import { fitJson, isOmitted, limitItems, nothingOmitted, type Omitted } from './fit.ts'
import { jsonIn } from './json-in.ts'
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
  /** What the text lacks, and how to get it. */
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
export interface Rest {
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
  /** A text that shows a shaped value unchanged. */
  unchanged(text: string, value: Json, omitted: Omitted): Presented
  /** Whether the cut-off part is kept. */
  readonly keepsRest: boolean
  /** Whether calls may select parts. */
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
  const lacks = `Shortened: this is the beginning, ${count(part.length)} of ${count(text.length)} characters.`
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
/** Maximum member names in a notice. */
const MAX_NAMES = 20
const MORE = 'For the rest, call again with arguments that ask for less, such as a filter or another page.'

function missedText(missed: readonly string[]): string {
  return `The response has none of the members that are selected. It has ${quoteAll(missed.map((name) => shorten(name, 60)))}.`
}

function lacksText({ lists, strings, rest }: Omitted): string {
  const parts = [...lists].slice(0, MAX_LISTED).map(([path, { kept, of }]) => {
    const inLists = path.includes('[]')
    return `${path === '' ? 'the list' : `\`${path}\``} has the first ${count(kept)} of ${inLists ? 'up to ' : ''}${count(of)} items`
  })
  if (lists.size > MAX_LISTED) parts.push(`${count(lists.size - MAX_LISTED)} other lists are cut`)
  if (strings) parts.push(`${count(strings.count)} strings are cut to ${count(strings.longest)} characters`)
  if (rest) parts.push('what had no room is left out')
  return `Shortened: ${parts.join('; ')}.`
}

/** Member names of an object, or of the first object in a list. */
function namesOf(value: Json): string[] {
  const object = Array.isArray(value) ? value.find(isObject) : value
  return isObject(object) ? Object.keys(object).slice(0, MAX_NAMES) : []
}

function count(number: number): string {
  return number.toLocaleString('en-US')
}
