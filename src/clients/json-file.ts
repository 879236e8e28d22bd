import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import type { ClientFile, FileEdits } from './client-file.ts'
import { changesTo } from './entry-changes.ts'
import { FileFault, faultAt } from './file-fault.ts'
import { removeAt, setAt } from './json-edit.ts'

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
