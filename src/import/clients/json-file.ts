import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { isObject, type Json, type JsonObject } from '../../json/index.ts'
import { type ClientFile, type FileEdits, FileFault, faultAt } from './client-file.ts'
import { urlOf } from './clients.ts'

/**
 * A JSON file, whose comments and trailing commas are kept.
 * @param file for messages
 * @param key below which the servers are
 * @throws FileFault with the place of the error
 */
export function jsonFile(file: string, text: string, key: string): ClientFile {
  const bom = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const bare = text.slice(bom.length)
  const value = read(file, bare, key)
  const servers = isObject(value[key]) ? value[key] : {}
  return {
    entries: new Map(Object.entries(servers)),
    change(edits) {
      let changed = isBlank(bare) ? `${bare.trim()}\n{}\n`.trimStart() : bare
      const put = (path: (string | number)[], to: Json | undefined) => {
        changed = to === undefined ? removeAt(changed, path) : setAt(changed, path, to)
      }
      for (const name of edits.remove) put([key, name], undefined)
      for (const [name, entry] of edits.set) {
        refuseRepeats(file, bare, nodeOf(bare, [key, name]))
        for (const [path, to] of changesTo(servers[name], entry)) put([key, name, ...path], to)
      }
      if (edits.inputs?.length) refuseOtherThanArray(file, bare, nodeOf(bare, ['inputs']))
      changeInputs(value, edits, servers, () => changed, put)
      return bom + changed
    },
  }
}

function read(file: string, text: string, key: string): JsonObject {
  if (isBlank(text)) return {}
  const errors: ParseError[] = []
  const tree = withinStack(file, () => parseTree(text, errors, { allowTrailingComma: true }))
  const [first] = errors
  if (first || !tree)
    throw faultAt(
      file,
      text,
      first?.offset ?? 0,
      `this is not JSON (${first ? wordsOf(first) : 'it is empty'})`,
    )
  const value = withinStack(file, () => getNodeValue(tree) as Json)
  if (!isObject(value)) throw faultAt(file, text, tree.offset, 'the top level is not an object')
  refuseRepeated(file, text, tree, [key])
  const node = findNodeAtLocation(tree, [key])
  if (node && node.type !== 'object') throw faultAt(file, text, node.offset, `\`${key}\` is not an object`)
  refuseRepeated(file, text, node)
  return value
}

/** Whether there is nothing, or nothing but comments that end. */
function isBlank(text: string): boolean {
  const scanner = createScanner(text, false)
  for (let token = scanner.scan(); token !== END; token = scanner.scan())
    if (!TRIVIA.has(token) || scanner.getTokenError() !== 0) return false
  return true
}

/** Tokens of the scanner, whose enumeration cannot be imported: the end, comments, line breaks and blanks. */
const END = 17
const TRIVIA = new Set<number>([12, 13, 14, 15])

function nodeOf(text: string, path: string[]): Node | undefined {
  const tree = parseTree(text, [], { allowTrailingComma: true })
  return tree && findNodeAtLocation(tree, path)
}

/**
 * Clients read the last of repeated keys, an edit finds the first.
 * @param keys only these; default: all
 * @throws FileFault at the second
 */
function refuseRepeated(file: string, text: string, node: Node | undefined, keys?: readonly string[]): void {
  const seen = new Set<string>()
  for (const member of node?.type === 'object' ? (node.children ?? []) : []) {
    const name = member.children?.[0]?.value as string
    if (keys && !keys.includes(name)) continue
    if (seen.has(name)) throw faultAt(file, text, member.offset, `the key \`${name}\` is repeated`)
    seen.add(name)
  }
}

/** As `refuseRepeated`, of an entry and its headers. */
function refuseRepeats(file: string, text: string, entry: Node | undefined): void {
  refuseRepeated(file, text, entry)
  if (entry?.type === 'object') refuseRepeated(file, text, findNodeAtLocation(entry, ['headers']))
}

/** @throws FileFault for a value that nothing can be added to */
function refuseOtherThanArray(file: string, text: string, node: Node | undefined): void {
  if (node && node.type !== 'array') throw faultAt(file, text, node.offset, '`inputs` is not an array')
}

/** The parser recurses. */
function withinStack<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new FileFault(`${file} is nested too deep; nothing was written`)
  }
}

/** `CommaExpected` → `comma expected`. */
function wordsOf({ error }: ParseError): string {
  return printParseErrorCode(error)
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .trim()
}

type Put = (path: (string | number)[], to: Json | undefined) => void

/** Adds inputs without duplicates, and removes those that only removed servers used. */
function changeInputs(
  before: JsonObject,
  { inputs = [], remove }: FileEdits,
  servers: JsonObject,
  text: () => string,
  put: Put,
): void {
  const had = Array.isArray(before.inputs) ? before.inputs : []
  const ids = had.map((input) => (isObject(input) ? input.id : undefined))
  const missing = inputs.filter(({ id }) => !ids.includes(id))
  missing.forEach((input, i) => void put(['inputs', had.length + i], input))
  const gone = remove.flatMap((name) => [
    ...JSON.stringify(servers[name] ?? null).matchAll(/\$\{input:([^}"]+)\}/g),
  ])
  const unused = new Set(gone.map(([, id]) => id as string))
  for (const id of unused) if (text().includes(`\${input:${id}}`)) unused.delete(id)
  for (let i = ids.length - 1; i >= 0; i--) if (unused.has(String(ids[i]))) put(['inputs', i], undefined)
}

/** A new value of an entry; undefined: remove it. */
type EntryChange = readonly [path: readonly string[], to: Json | undefined]

/** Keys for the server's URL; if an entry has two of them, the client picks one. */
const URL_KEYS = ['url', 'serverUrl', 'httpUrl']
const COMMAND_KEYS = ['command', 'args']

/**
 * Changes that turn an entry into the wanted one. Additions of the user to an entry with the same
 * address stay, such as `disabled` or a header; an entry with another address is replaced.
 */
function changesTo(had: Json | undefined, wanted: JsonObject): EntryChange[] {
  if (!isObject(had) || urlOf(had) !== urlOf(wanted)) return [[[], wanted]]
  const isOtherForm = 'command' in had !== 'command' in wanted
  const stale = [...URL_KEYS, ...COMMAND_KEYS, ...(isOtherForm ? ['type'] : [])]
  const gone = stale.filter((key) => Object.hasOwn(had, key) && !Object.hasOwn(wanted, key))
  return [...gone.map((key) => [[key], undefined] as const), ...leavesOf(had, wanted)]
}

function leavesOf(had: JsonObject, wanted: JsonObject, isHeaders = false): EntryChange[] {
  return Object.entries(wanted).flatMap(([name, to]): EntryChange[] => {
    const isSame = (one: string) => one === name || (isHeaders && one.toLowerCase() === name.toLowerCase())
    const key = Object.keys(had).find(isSame) ?? name
    const was = had[key]
    if (isObject(was) && isObject(to))
      return leavesOf(was, to, key === 'headers').map(([path, at]) => [[key, ...path], at])
    return JSON.stringify(was) === JSON.stringify(to) ? [] : [[[key], to]]
  })
}

type Path = readonly (string | number)[]

/** How a file is written. */
interface Style {
  unit: string
  eol: string
}

/**
 * Sets a value in JSON with comments, and makes the objects and arrays that it is in. Nothing else changes.
 * @param text valid; commas behind the last member are allowed
 */
function setAt(text: string, path: Path, value: Json): string {
  const root = parseTree(text, [], { allowTrailingComma: true }) as Node
  const node = findNodeAtLocation(root, [...path])
  const style = styleOf(text)
  if (node) return spliced(text, node.offset, node.length, written(value, indentAt(text, node.offset), style))
  const outer = path.slice(0, -1)
  const key = path.at(-1) as string | number
  const container = findNodeAtLocation(root, [...outer])
  if (!container) return setAt(text, outer, typeof key === 'number' ? [value] : { [key]: value })
  return inserted(text, container, key, value, style)
}

/** Removes a member, with its line if it is alone there. */
function removeAt(text: string, path: Path): string {
  const root = parseTree(text, [], { allowTrailingComma: true }) as Node
  const node = findNodeAtLocation(root, [...path])
  const member = node?.parent?.type === 'property' ? node.parent : node
  const siblings = member?.parent?.children ?? []
  if (!member) return text
  const at = siblings.indexOf(member)
  const comma = commaBehind(text, endOf(member))
  const end = comma === undefined ? endOf(member) : comma + 1
  const container = member.parent as Node
  const inside = container.offset + 1
  const isOnly = (text.slice(inside, member.offset) + text.slice(end, endOf(container) - 1)).trim() === ''
  if (isOnly) return spliced(text, inside, container.length - 2, '')
  const before = siblings[at - 1]
  const rest = withoutLine(text, member.offset, end)
  const lastComma = comma === undefined && before ? commaBehind(text, endOf(before)) : undefined
  return lastComma === undefined ? rest : spliced(rest, lastComma, 1, '')
}

function inserted(text: string, container: Node, key: string | number, value: Json, style: Style): string {
  const { children = [], offset } = container
  const closing = endOf(container) - 1
  const outer = indentAt(text, offset)
  const [first] = children
  const isOwnLine = first && text.slice(lineStart(text, first.offset), first.offset).trim() === ''
  const indent = isOwnLine ? indentAt(text, first.offset) : outer + style.unit
  const name = typeof key === 'number' ? '' : `${JSON.stringify(key)}: `
  const last = children.at(-1)
  const comma = last && commaBehind(text, endOf(last))
  // Behind comments that follow the last member, which stay with it.
  const end = offset + text.slice(offset, closing).trimEnd().length
  const isBroken = text.slice(end, closing).includes('\n')
  const member = `${style.eol}${indent}${name}${written(value, indent, style)}${comma === undefined ? '' : ','}`
  const made = spliced(text, end, 0, isBroken ? member : `${member}${style.eol}${outer}`)
  return last && comma === undefined ? spliced(made, endOf(last), 0, ',') : made
}

function written(value: Json, indent: string, { unit, eol }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`)
}

/** Two spaces in a file that is not indented. */
function styleOf(text: string): Style {
  return { unit: /^([ \t]+)["}\]]/m.exec(text)?.[1] ?? '  ', eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

function spliced(text: string, at: number, length: number, by: string): string {
  return text.slice(0, at) + by + text.slice(at + length)
}

const endOf = ({ offset, length }: Node) => offset + length
const lineStart = (text: string, at: number) => text.lastIndexOf('\n', at - 1) + 1

function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? ''
}

/** Where a comma follows, behind blanks and comments. */
function commaBehind(text: string, at: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(at)
  scanner.scan()
  const found = scanner.getTokenOffset()
  return text[found] === ',' ? found : undefined
}

/** Removes a range, with its whole lines and a trailing comment if nothing else is on them. */
function withoutLine(text: string, from: number, to: number): string {
  const start = lineStart(text, from)
  const newline = text.indexOf('\n', to)
  const rest = text.slice(to, newline < 0 ? text.length : newline)
  const isAlone = text.slice(start, from).trim() === '' && /^\s*(?:\/\/.*)?$/.test(rest) && newline >= 0
  return isAlone ? spliced(text, start, newline + 1 - start, '') : spliced(text, from, to - from, '')
}
