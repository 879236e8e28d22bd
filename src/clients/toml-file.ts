import type { Json } from '../json/index.ts'
import type { ClientFile } from './client-file.ts'
import { faultAt } from './file-fault.ts'
import { type Statement, scanToml, TomlFault, textOf } from './toml-scan.ts'
import { tableText } from './toml-text.ts'

/**
 * A file in TOML, in which a server is a table: `[mcp_servers.shop]`. All else, comments too, stays as it is.
 * @throws FileFault with the place of what is wrong, or of servers that are written in another way
 */
export function tomlFile(file: string, text: string, key: string): ClientFile {
  const statements = scanned(file, text)
  const tables = new Map<string, Statement[]>()
  /** Servers in another form, or all of them as one value. */
  const others = new Map<string | undefined, Statement>()
  for (const one of statements) {
    if (one.path[0] !== key) continue
    const name = one.path[1]
    if (name !== undefined && one.kind === 'table') tables.set(name, [...(tables.get(name) ?? []), one])
    else if (one.kind !== 'table' && (name === undefined || !tables.has(name))) others.set(name, one)
  }
  return {
    entries: new Map([...tables.keys()].map((name) => [name, entryOf(text, statements, [key, name])])),
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
      const gone = [...remove, ...set.keys()].flatMap((name) => tables.get(name) ?? [])
      const kept = without(text, statements, new Set(gone))
      const added = [...set].map(([name, entry]) => tableText(key, name, entry))
      const eol = text.includes('\r\n') ? '\r\n' : '\n'
      const before = kept.trim() === '' ? '' : `${kept.trimEnd()}\n${added.length ? '\n' : ''}`
      return (before + added.join('\n')).replace(/\r?\n/g, eol)
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

/** What one table says in plain strings: of a server, its URL. */
function entryOf(text: string, statements: readonly Statement[], [key, name]: readonly string[]): Json {
  const own = statements.filter(
    ({ kind, path }) => kind === 'key' && path.length === 3 && path[0] === key && path[1] === name,
  )
  return Object.fromEntries(
    own.map(({ path, valueStart, end }) => [path[2], textOf(text.slice(valueStart, end).trim())]),
  )
}

/** The text without some tables, each up to the next one; with the comments in between kept. */
function without(text: string, statements: readonly Statement[], gone: ReadonlySet<Statement>): string {
  const headers = statements.filter(({ kind }) => kind !== 'key')
  let kept = ''
  let from = 0
  headers.forEach((header, i) => {
    if (!gone.has(header)) return
    kept += text.slice(from, header.start)
    const next = headers[i + 1]
    const last = statements.filter(
      ({ start }) => start >= header.start && start < (next?.start ?? text.length),
    )
    const line = text.indexOf('\n', (last.at(-1) as Statement).end)
    from = line < 0 ? text.length : line + 1
  })
  return kept + text.slice(from)
}
