import { isObject, type Json, type JsonObject, parseVerbatim, stringify } from '../json/index.ts'
import { giveWay, quoteAll, shorten, wellFormed } from '../text/index.ts'
import { tableOf, tableText, WRITINGS } from './as-table.ts'
import { fitJson, isOmitted, limitItems, nothingOmitted, type Omitted } from './fit.ts'
import type { MaskFault } from './mask-text.ts'
import { compileFields, compileMasks, type Masks, type MasksFault, type MaskTexts } from './path-masks.ts'
import { loosenedSchema } from './shaped-schema.ts'

/** How the answers of a tool are shaped, as an author writes it. */
export interface ShapingTexts extends MaskTexts {
  maxItems?: number | undefined
  /** Default: `resultChars` of the limits. */
  maxChars?: number | undefined
  format?: 'json' | 'csv' | 'markdown' | undefined
  /** Whether a call may ask for less. */
  fields?: boolean | undefined
}

/** A text for a client. */
export interface Presented {
  text: string
  /** What an answer has beside the list that the text shows as a table, as JSON. */
  beside?: string
  /** What the text lacks, and how to get it. */
  notice: string | undefined
  /** The value that the text shows; undefined: the text is not JSON. */
  value?: Json
}

/** Compiled: how the answers of a tool become texts. */
export interface Shaping {
  readonly masks: Masks
  /** Whether it changes answers that are not too long. */
  readonly isDeclared: boolean
  /** Whether JSON is written as a table. */
  readonly isTable: boolean
  /** Characters of a text. */
  readonly maxChars: number
  /** What the masks and `maxItems` leave of a value. @param omitted where it is noted what is missing */
  apply(value: Json, omitted: Omitted): Json
  /** A shaped value as text. @param whole whether it must keep its form, which may make it too long */
  present(value: Json, omitted: Omitted, whole?: boolean): Promise<Presented>
  /** A text of any kind, cut where it is too long. @param omitted before the text was made */
  presentText(text: string, omitted?: Omitted): Promise<Presented>
  noticeOf(omitted: Omitted): string | undefined
  /** Whether a call may ask for less. */
  readonly hasFields: boolean
  /** The same for a call that asks for less. @param fields a mask of what the masks leave */
  narrowed(fields: string): Shaping | MaskFault
  /** The schema of shaped values. */
  schemaOf(schema: JsonObject): JsonObject
}

/** @param resultChars of the limits */
export function compileShaping(texts: ShapingTexts | undefined, resultChars: number): Shaping | MasksFault[] {
  const masks = compileMasks(texts ?? {})
  return Array.isArray(masks) ? masks : shapingOf(masks, texts, resultChars)
}

function shapingOf(
  masks: Masks,
  texts: ShapingTexts | undefined,
  resultChars: number,
  asked?: Masks,
): Shaping {
  const { maxItems, format = 'json', maxChars = resultChars, fields: hasFields = false } = texts ?? {}
  return {
    masks,
    isDeclared:
      masks.select.length > 0 || masks.drop.length > 0 || maxItems !== undefined || format !== 'json',
    isTable: format !== 'json',
    maxChars,
    noticeOf,
    apply(value, omitted) {
      const kept = masks.apply(value)
      const left = asked ? asked.apply(kept) : kept
      if ((asked ?? masks).select.length > 0 && isEmpty(left) && !isEmpty(value))
        omitted.missed = namesOf(asked && !isEmpty(kept) ? kept : value)
      return maxItems === undefined ? left : limitItems(left, maxItems, omitted)
    },
    async present(value, omitted, whole = false) {
      const table = format === 'json' ? undefined : asTable(value, format, maxChars, omitted)
      if (table && !whole) return { ...table, notice: noticeOf(omitted), value }
      const fit = await fitJson(value, maxChars, omitted, whole)
      return { ...(table ?? { text: stringify(fit) }), notice: noticeOf(omitted), value: fit }
    },
    presentText: (text, omitted = nothingOmitted()) => presentText(text, maxChars, omitted),
    hasFields,
    narrowed(fields) {
      const made = compileFields(fields)
      return 'fault' in made ? made : shapingOf(masks, texts, resultChars, made)
    },
    schemaOf(schema) {
      const shaped = masks.schemaOf(schema)
      const isCut = maxItems !== undefined || texts?.maxChars !== undefined
      return isCut || hasFields ? loosenedSchema(shaped, hasFields) : shaped
    },
  }
}

function isEmpty(value: Json): boolean {
  return (Array.isArray(value) || isObject(value)) && Object.keys(value).length === 0
}

/** Undefined: the value is no table, or not one row fits. */
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
  if (text.length <= most) return { text, notice: noticeOf(omitted) }
  const value = jsonIn(text)
  await giveWay()
  if (value !== undefined) {
    const fit = await fitJson(value, most, omitted)
    return { text: stringify(fit), notice: noticeOf(omitted), value: fit }
  }
  const first = text.slice(0, most)
  const line = first.lastIndexOf('\n')
  const cut = wellFormed(line > most / 2 ? first.slice(0, line) : first)
  return {
    text: cut,
    notice: `Shortened: this is the beginning, ${count(cut.length)} of ${count(text.length)} characters. ${MORE}`,
  }
}

/** Undefined: the text is not an array or object of JSON. */
export function jsonIn(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return parseVerbatim(text)
  } catch {
    return undefined
  }
}

/** Paths in a notice. */
const MAX_LISTED = 6
/** Names of members in a notice. */
const MAX_NAMES = 20
const MORE = 'For the rest, call again with arguments that ask for less, such as a filter or another page.'

function noticeOf(omitted: Omitted): string | undefined {
  if (!isOmitted(omitted)) return undefined
  const { lists, strings, rest, missed } = omitted
  if (missed)
    return `The response has none of the members that are selected. It has ${quoteAll(missed.map((name) => shorten(name, 60)))}.`
  const parts = [...lists].slice(0, MAX_LISTED).map(([path, { kept, of }]) => {
    const inLists = path.includes('[]')
    return `${path === '' ? 'the list' : `\`${path}\``} has the first ${count(kept)} of ${inLists ? 'up to ' : ''}${count(of)} items`
  })
  if (lists.size > MAX_LISTED) parts.push(`${count(lists.size - MAX_LISTED)} other lists are cut`)
  if (strings) parts.push(`${count(strings.count)} strings are cut to ${count(strings.longest)} characters`)
  if (rest) parts.push('what had no room is left out')
  return `Shortened: ${parts.join('; ')}. ${MORE}`
}

/** Of an object, or of the first object of a list. */
function namesOf(value: Json): string[] {
  const object = Array.isArray(value) ? value.find(isObject) : value
  return isObject(object) ? Object.keys(object).slice(0, MAX_NAMES) : []
}

function count(number: number): string {
  return number.toLocaleString('en-US')
}
