import type { Json, JsonObject } from '../../json/index.ts'
import { type ClientFile, faultAt } from './client-file.ts'
import { urlOf } from './clients.ts'
import { type Statement, scanToml, TomlFault, textOf } from './toml-scan.ts'

/** A replacement of a part of the text. */
interface Splice {
  start: number
  end: number
  by: string
}

/**
 * A TOML file with one table for each server: `[mcp_servers.shop]`. Everything else, comments too, is kept.
 * @throws FileFault with the place of the error, or of servers written in another form
 */
export function tomlFile(file: string, text: string, key: string): ClientFile {
  const statements = scanned(file, text)
  refuseRepeated(file, text, statements, key)
  const tables = new Map<string, Statement[]>()
  /** Servers in another form, or all of them as one value. */
  const others = new Map<string | undefined, Statement>()
  for (const one of statements) {
    if (one.path[0] !== key) continue
    const name = one.path[1]
    const isTable = one.kind === 'table' || (one.kind === 'array' && name !== undefined && tables.has(name))
    if (name !== undefined && isTable) tables.set(name, [...(tables.get(name) ?? []), one])
    else if (!isTable && (name === undefined || !tables.has(name)) && !others.has(name)) others.set(name, one)
  }
  const entries = new Map<string, Json>()
  for (const name of others.keys()) if (name) entries.set(name, otherOf(text, statements, [key, name]))
  for (const name of tables.keys()) entries.set(name, entryOf(text, statements, [key, name]))
  return {
    entries,
    change({ set, remove }) {
      const other = [undefined, ...remove, ...set.keys()].find((name) => others.has(name))
      const place = others.get(other)
      if (place)
        throw faultAt(
          file,
          text,
          place.start,
          `plantgw only changes servers in tables such as \`[${key}.name]\``,
        )
      const gone = remove.flatMap((name) => rangesOf(text, statements, tables.get(name) ?? []))
      const edits = [...set].flatMap(([name, entry]) => {
        if (!tables.has(name)) return []
        const had = entries.get(name)
        if (urlOf(had) === urlOf(entry)) return membersOf(text, statements, [key, name], entry)
        const ranges = rangesOf(text, statements, tables.get(name) as Statement[])
        return ranges.map((range, i) => (i === 0 ? { ...range, by: tableText(key, name, entry) } : range))
      })
      const added = [...set].filter(([name]) => !tables.has(name))
      const eol = text.includes('\r\n') ? '\r\n' : '\n'
      const withEol = (made: string) => made.replaceAll('\n', eol)
      const kept = spliced(
        text,
        [...gone, ...edits].map((one) => ({ ...one, by: withEol(one.by) })),
      )
      if (added.length + gone.length === 0) return kept
      const before = kept.trim() === '' ? '' : `${kept.trimEnd()}${eol}${added.length ? eol : ''}`
      return before + withEol(added.map(([name, entry]) => tableText(key, name, entry)).join('\n'))
    },
  }
}

function scanned(file: string, text: string): Statement[] {
  try {
    return scanToml(text)
  } catch (error) {
    if (!(error instanceof TomlFault)) throw error
    throw faultAt(file, text, error.at, `this is not TOML (${error.message})`)
  }
}

/** @throws FileFault at the second of two tables of one server, or of two values of one key in it */
function refuseRepeated(file: string, text: string, statements: readonly Statement[], key: string): void {
  const seen = new Set<string>()
  for (const { kind, path, start } of statements) {
    if (path[0] !== key || path.length > 3 || kind === 'array') continue
    const id = JSON.stringify(path)
    if (seen.has(id)) throw faultAt(file, text, start, `\`${path.join('.')}\` is repeated`)
    seen.add(id)
  }
}

/** The keys of a server's table, without subtables. */
function keysOf(statements: readonly Statement[], [key, name]: readonly string[]): Statement[] {
  return statements.filter(
    ({ kind, path }) => kind === 'key' && path.length === 3 && path[0] === key && path[1] === name,
  )
}

/** The plain strings of a server's table: its URL. */
function entryOf(text: string, statements: readonly Statement[], path: readonly string[]): Json {
  return Object.fromEntries(
    keysOf(statements, path).map((one) => [one.path[2], textOf(writtenOf(text, one))]),
  )
}

/** A server in another form: only its URL is looked for. */
function otherOf(text: string, statements: readonly Statement[], [key, name]: readonly string[]): Json {
  const own = statements.filter(({ path }) => path[0] === key && path[1] === name)
  const [url] = own.flatMap((one) => /https?:\/\/[^"'\s]+/i.exec(writtenOf(text, one)) ?? [])
  return url === undefined ? {} : { url }
}

function writtenOf(text: string, { valueStart, end }: Statement): string {
  return text.slice(valueStart, end).trimEnd()
}

/** Changes members of an entry in place, and appends missing ones. */
function membersOf(
  text: string,
  statements: readonly Statement[],
  path: readonly string[],
  entry: JsonObject,
): Splice[] {
  const keys = keysOf(statements, path)
  const missing = { ...entry }
  const edits = keys.flatMap((one): Splice[] => {
    const to = entry[one.path[2] as string]
    delete missing[one.path[2] as string]
    const was = writtenOf(text, one)
    if (to === undefined || textOf(was) === to) return []
    return [{ start: one.valueStart, end: one.valueStart + was.length, by: JSON.stringify(to) }]
  })
  if (Object.keys(missing).length === 0) return edits
  const last = keys.at(-1) as Statement
  const at = nextLine(text, last.end)
  const isOpen = text[at - 1] !== '\n'
  return [...edits, { start: at, end: at, by: `${isOpen ? '\n' : ''}${linesOf(missing)}` }]
}

/** Tables, each up to the end of its last key: the comments behind it belong to the next one. */
function rangesOf(text: string, statements: readonly Statement[], tables: readonly Statement[]): Splice[] {
  const headers = statements.filter(({ kind }) => kind !== 'key')
  return tables.map((header) => {
    const next = headers[headers.indexOf(header) + 1]?.start ?? text.length
    const last = statements.filter(({ start }) => start >= header.start && start < next).at(-1) as Statement
    return { start: header.start, end: nextLine(text, last.end), by: '' }
  })
}

function nextLine(text: string, at: number): number {
  const line = text.indexOf('\n', at)
  return line < 0 ? text.length : line + 1
}

function spliced(text: string, edits: readonly Splice[]): string {
  let made = ''
  let from = 0
  for (const { start, end, by } of [...edits].sort((a, b) => a.start - b.start)) {
    made += text.slice(from, start) + by
    from = end
  }
  return made + text.slice(from)
}

const BARE = /^[A-Za-z0-9_-]+$/

/** A server as a table of TOML; what JSON writes of texts, TOML reads. */
export function tableText(key: string, name: string, entry: JsonObject): string {
  const quoted = BARE.test(name) ? name : JSON.stringify(name)
  return `[${key}.${quoted}]\n${linesOf(entry)}`
}

/** The members of a server, each on its line. */
function linesOf(entry: JsonObject): string {
  return Object.entries(entry)
    .map(([member, value]) => `${member} = ${JSON.stringify(value)}\n`)
    .join('')
}
