import type { Configuration, Env, Locate, Path, Tool } from '../../config/index.ts'
import { headersOf, isBelowBase, wholeEndpoint } from '../../config/short-form.ts'
import type { Fix, Reporter } from '../../findings/index.ts'
import { positionsOf, quote, quoteAll } from '../../text/index.ts'
import type { Context } from '../check.ts'
import { readConfiguration } from '../reader.ts'

/** Minimum number of tools for a finding. */
const MANY = 3

/** A replacement of the text between two offsets. */
interface Edit {
  start: number
  end: number
  text: string
}

/** The text of the file, and the places of its values. */
interface Source {
  text: string
  locate: Locate
}

/** A part that all tools repeat, and the edits that move it to their server. */
interface Repeated {
  message: string
  edits: (Edit | undefined)[]
}

/** Finds files that repeat for each tool what holds for all of them. */
export function checkShortForm(configuration: Configuration, report: Reporter, { read }: Context) {
  const { servers, tools } = configuration
  if (servers.length !== 1 || tools.length < MANY) return
  const origin = repeatedOrigin(configuration, read)
  const headers = repeatedHeaders(configuration, read, origin !== undefined)
  const found = [origin, headers].filter((one) => one !== undefined)
  if (found.length === 0) return
  const edits = [...found.flatMap((one) => one.edits), ...shortPrefix(read, servers[0]!.name)]
  const fix = fixOf(edits, read.text)
  report({
    code: 'long-form',
    path: ['servers', 0, 'name'],
    message: `all ${tools.length} tools ${found.map(({ message }) => message).join(', and ')}`,
    hint: 'Write it once, at the server: `validate --fix` does so',
    fix: () => (fix && isSame(read.text, fix) ? fix : undefined),
  })
}

/** `https://api.example.com/v1`, or an action of `.Config`, at the beginning of an endpoint as the file has it. */
const ORIGIN =
  /^(?:https?:\/\/(?:[^\s"'/{}$]|\$\{\w+(?::[^{}]*)?\})+|\$\{\w+(?::[^{}]*)?\}|\{\{\s*\.Config\.\w+\s*\}\})(?:\/v\d+)?(?=\/[^/\s])/

/** Undefined: the endpoints differ, or one is written in a form that cannot be edited. */
function repeatedOrigin({ servers: [server], tools }: Configuration, source: Source): Repeated | undefined {
  if (server!.baseUrl !== undefined) return undefined
  const origins = tools.map((_, i) => {
    const at = scalarAt(source, ['tools', i, 'endpoint'])
    const [origin] = ORIGIN.exec(at?.inner ?? '') ?? []
    return at && origin !== undefined ? { start: at.start, origin } : undefined
  })
  const [first] = origins
  if (!first || !origins.every((one) => one?.origin === first.origin)) return undefined
  const { origin } = first
  const added = addedTo(source, `baseUrl: ${origin.includes('{') ? JSON.stringify(origin) : origin}`)
  const cut = origins.map((one) => ({ start: one!.start, end: one!.start + origin.length, text: '' }))
  return { message: `have endpoints that begin with ${quote(origin)}`, edits: [added, ...cut] }
}

/** Headers that all tools send to the host of their server. @param isOneHost whether all endpoints begin with one origin */
function repeatedHeaders(
  { servers: [server], tools }: Configuration,
  source: Source,
  isOneHost: boolean,
): Repeated | undefined {
  const { baseUrl, credentials, headers } = server!
  const isBelow = baseUrl !== undefined && tools.every(({ endpoint }) => isBelowBase(endpoint))
  if (headers || !(isOneHost || isBelow)) return undefined
  const isShared = ([own, value]: [string, string]) =>
    !value.includes('.Args') &&
    !/^content-type$/i.test(own) &&
    credentials?.header.toLowerCase() !== own.toLowerCase() &&
    tools.every((tool) => tool.headers[own] === value)
  const shared = Object.entries(tools[0]!.headers)
    .filter(isShared)
    .map(([own]) => own)
  if (shared.length === 0) return undefined
  const pairs = shared.map((own) => {
    const value = scalarAt(source, ['tools', 0, 'headers', own])
    const written = value?.isQuoted
      ? source.text.slice(value.start - 1, value.end + 1)
      : JSON.stringify(value?.inner)
    return value && `${/^[\w-]+$/.test(own) ? own : JSON.stringify(own)}: ${written}`
  })
  const added = addedTo(source, `headers: { ${pairs.join(', ')} }`)
  const removed = tools.flatMap((tool, i) => removals(source, ['tools', i, 'headers'], shared, tool))
  if (pairs.includes(undefined)) return undefined
  return { message: `send the same ${quoteAll(shared)}`, edits: [added, ...removed] }
}

/** A plain or quoted text on one line; undefined for another form of scalar, and for an alias. */
function scalarAt({ text, locate }: Source, path: Path) {
  const range = locate(path)
  if (!range) return undefined
  const [start, end] = [range.start.offset, range.end.offset]
  const written = text.slice(start, end)
  const isQuoted = /^(?:"[^"\\\n]*"|'[^'\n]*')$/.test(written)
  if (!isQuoted && !/^[^\s"'&*!|>][^\n]*$/.test(written)) return undefined
  const inset = isQuoted ? 1 : 0
  return {
    start: start + inset,
    end: end - inset,
    inner: written.slice(inset, written.length - inset),
    isQuoted,
  }
}

/** Adds a key as the first one of the server. */
function addedTo({ text, locate }: Source, line: string): Edit | undefined {
  const range = locate(['servers', 0])
  if (!range) return undefined
  const start = range.start.offset
  if (text[start] === '{') return { start: start + 1, end: start + 1, text: `${line}, ` }
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  return /^\s*- +$/.test(before)
    ? { start, end: start, text: `${line}\n${' '.repeat(before.length)}` }
    : undefined
}

/** Removes the lines of headers, and of `headers` if no others are left. */
function removals(
  source: Source,
  path: Path,
  names: readonly string[],
  { headers }: Tool,
): (Edit | undefined)[] {
  if (Object.keys(headers).every((name) => names.includes(name))) return [linesOf(source, path)]
  return names.map((name) => linesOf(source, [...path, name]))
}

/** Removes the lines of a key; undefined if they hold something else, such as a comment. */
function linesOf({ text, locate }: Source, path: Path): Edit | undefined {
  const [key, value] = [locate.key(path), locate(path)]
  if (!key || !value) return undefined
  const start = text.lastIndexOf('\n', key.start.offset - 1) + 1
  const rest = /^[ \t]*(?:\n|$)/.exec(text.slice(value.end.offset))
  const isAlone = /^\s*$/.test(text.slice(start, key.start.offset))
  if (!rest || !isAlone || /(?:^|\s)#/.test(text.slice(start, value.end.offset))) return undefined
  return { start, end: value.end.offset + rest[0].length, text: '' }
}

/** Replaces the only router by `prefix` at the top, if it has nothing but a server and a prefix. */
function shortPrefix({ text }: Source, name: string): Edit[] {
  const own = `["']?${name.replace(/[^\w]/g, '\\$&')}["']?`
  const prefix = `(["']?/[\\w/.-]*["']?)`
  const block = `server: *${own} *\\n +prefix: *${prefix}|prefix: *${prefix} *\\n +server: *${own}`
  const flow = `\\{ *server: *${own} *, *prefix: *${prefix} *\\}|\\{ *prefix: *${prefix} *, *server: *${own} *\\}`
  const found = new RegExp(`^routers: *\\n *- +(?:${block}|${flow}) *\\n(?=\\S|\\n|$)`, 'm').exec(text)
  if (!found) return []
  const given = found.slice(1).find((one) => one !== undefined)
  return [{ start: found.index, end: found.index + found[0].length, text: `prefix: ${given}\n` }]
}

/** One replacement of the text from the first edit to the last; undefined if a place cannot be edited. */
function fixOf(edits: readonly (Edit | undefined)[], text: string): Fix | undefined {
  const known = edits.filter((edit) => edit !== undefined)
  if (known.length < edits.length) return undefined
  const sorted = known.sort((a, b) => a.start - b.start)
  const [first, last] = [sorted[0]!, sorted.at(-1)!]
  let made = ''
  let at = first.start
  for (const edit of sorted) {
    if (edit.start < at) return undefined
    made += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  const position = positionsOf(text)
  return { range: { start: position(first.start), end: position(last.end) }, text: made }
}

/** An environment with every variable set. */
const SET: Env = new Proxy({}, { get: () => 'set', has: () => true })

/** Whether requests and prefixes are the same after the fix. */
function isSame(text: string, { range, text: now }: Fix): boolean {
  const fixed = text.slice(0, range.start.offset) + now + text.slice(range.end.offset)
  const [before, after] = [text, fixed].map(
    (one) => readConfiguration({ file: '', text: one }, SET).configuration,
  )
  return before !== undefined && after !== undefined && sentBy(before) === sentBy(after)
}

function sentBy({ routers, servers: [server], tools }: Configuration): string {
  const sent = tools.map((tool) => {
    const headers = headersOf(tool, [], server).map(({ name, source }) => [name.toLowerCase(), source])
    return { ...tool, endpoint: wholeEndpoint(tool, server!), headers: Object.fromEntries(headers.sort()) }
  })
  return JSON.stringify([routers, sent])
}
