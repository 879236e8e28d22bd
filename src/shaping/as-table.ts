import { isObject, type Json, type JsonObject, stringify } from '../json/index.ts'

/** A value as a table: rows, and other data of the answer. */
export interface Table {
  columns: string[]
  rows: ReadonlyMap<string, Json>[]
  /** Path of the list; undefined: the value is the list or the only row. */
  path: string | undefined
  beside: JsonObject
}

/** Maximum columns of a readable table. */
const MAX_COLUMNS = 200
/** Maximum nesting of objects whose members become columns. */
const MAX_NESTED = 4

/** The first list of objects in a value, or its first list, or the value as the only row; undefined if unsuitable. */
export function tableOf(value: Json): Table | undefined {
  const [path, list] = rowsOf(value)
  const columns = new Set<string>()
  const rows: Map<string, Json>[] = []
  for (const item of list) {
    const row = isObject(item) ? rowOf(item) : new Map([['value', item]])
    for (const name of row.keys()) columns.add(name)
    if (columns.size > MAX_COLUMNS) return undefined
    rows.push(row)
  }
  if (columns.size === 0) return undefined
  const beside: JsonObject = {}
  if (isObject(value) && path !== undefined)
    for (const [name, member] of Object.entries(value)) if (name !== path) beside[name] = member
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
    isObject(member) && depth < MAX_NESTED && Object.keys(member).length > 0
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

export const WRITINGS = { csv: CSV, markdown: MARKDOWN }

/** The table with as many of the first rows as fit in `most` characters. */
export function tableText(
  { columns, rows }: Table,
  most: number,
  writing: Writing,
): { text: string; kept: number } {
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
