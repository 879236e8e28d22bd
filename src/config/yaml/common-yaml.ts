import { type Json, type JsonObject, setOwn } from '../../json/index.ts'
import type { Env } from '../model.ts'
import type { Shape } from '../schemas.ts'
import {
  blockScalar,
  flowPlainEnd,
  isBlank,
  isQuote,
  mayBeginPlain,
  NOT_COMMON,
  note,
  type Place,
  plainEnd,
  plainScalar,
  quotedScalar,
  type Reading,
  unpadded,
} from './common-scalars.ts'
import { TAG_HEAP } from './document.ts'
import { replaceEnv } from './env.ts'
import type { Given } from './locate.ts'
import { isLeftOut, MERGE_KEY, memberShape, textValue } from './yaml-values.ts'

/** A longer text is read by the exact reader, which pauses. UTF-16 code units. */
const MAX_SIZE = 256 * 1024
const MAX_DEPTH = 64
/** The exact reader refuses keys that are a little longer. */
const MAX_KEY = 1000

/** A tab, a carriage return or a byte order mark, a directive, or what begins or ends a document. */
const UNUSUAL = /[\t\r\uFEFF]|^(?:%|---|\.\.\.)/m

/** The value of a text, and which keys the text has. */
export interface Common {
  value: Json
  given: Given
}

/**
 * The value of a text in the part of YAML 1.2 that most configurations keep to, in a twentieth of the time that the
 * exact reader takes: block maps and lists, scalars of each style, flow collections, comments. Undefined for every other
 * text, and for one of which anything is to be reported: the exact reader decides. Where there is a value, `readValues`
 * gives the same, and reports nothing.
 */
export function readCommonYaml(text: string, env: Env, shape: Shape): Common | undefined {
  return readWith(undefined, text, env, shape)
}

/** Where the values of such a text stand. */
export function placesIn(text: string, env: Env, shape: Shape): Place | undefined {
  const root: Place = { key: NO_KEY }
  return readWith(root, text, env, shape) && root
}

const NO_KEY = [-1, -1] as const

function readWith(place: Place | undefined, text: string, env: Env, shape: Shape): Common | undefined {
  if (text.length > MAX_SIZE || UNUSUAL.test(text) || hasTagHeap(text)) return undefined
  const start = { pos: 0, lineStart: 0, found: -1, depth: 0, leavesOut: false }
  const reading: Reading = { text, env, ...start, key: NO_KEY, place }
  try {
    const column = nextToken(reading)
    if (column < 0) return undefined
    const value = readNode(reading, column, -1, shape)
    return nextToken(reading) < 0 ? { value, given: givenIn(value, reading.leavesOut) } : undefined
  } catch (error) {
    if (error === NOT_COMMON) return undefined
    throw error
  }
}

function hasTagHeap(text: string): boolean {
  return (text.includes('!') || text.includes('&')) && TAG_HEAP.test(text)
}

/** @param leavesOut whether the text has keys that the value has not */
function givenIn(value: Json, leavesOut: boolean): Given {
  return (path) => {
    let at: Json | undefined = value
    for (const key of path) {
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key))
        return leavesOut ? undefined : false
      at = (at as JsonObject)[key]
    }
    return true
  }
}

const NEWLINE = 10
const SPACE = 32
const HASH = 35
const DASH = 45
const COLON = 58
const COMMA = 44
const BRACKET = 91
const BRACE = 123
const PIPE = 124
const GREATER = 62

/** Goes to the next token that begins a line, unless it is there; its column, or -1 at the end. */
function nextToken(reading: Reading): number {
  const { text } = reading
  let at = reading.pos
  if (at === reading.found) return at < text.length ? at - reading.lineStart : -1
  if (at > 0 && text.charCodeAt(at - 1) !== NEWLINE) {
    at = lineEnd(text, at)
    reading.lineStart = at
  }
  for (;;) {
    const start = at
    while (text.charCodeAt(at) === SPACE) at++
    const code = text.charCodeAt(at)
    if (code === HASH) at = text.indexOf('\n', at)
    else if (code !== NEWLINE) {
      reading.pos = at
      reading.found = at
      reading.lineStart = start
      return at < text.length ? at - start : -1
    }
    if (at < 0) {
      reading.pos = text.length
      return -1
    }
    at++
  }
}

/** Behind what ends a value on its line: only spaces and a comment may follow. */
function lineEnd(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) === SPACE) at++
  const code = text.charCodeAt(at)
  if (code === NEWLINE) return at + 1
  if (at >= text.length) return at
  if (code !== HASH || text.charCodeAt(at - 1) !== SPACE) throw NOT_COMMON
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

/** @param parent column of the collection that the value is in; -1 at the top */
function readNode(reading: Reading, column: number, parent: number, shape: Shape): Json {
  const { text, pos } = reading
  const code = text.charCodeAt(pos)
  if (isItem(text, pos)) return readList(reading, column, shape)
  if (keyEnd(reading) >= 0) return readMap(reading, column, shape)
  // A document that is a scalar is no configuration.
  if (parent < 0 && code !== BRACKET && code !== BRACE) throw NOT_COMMON
  return readValue(reading, parent, shape)
}

/** Offset of the `:` behind the key that begins here; -1 where none does. */
function keyEnd({ text, pos }: Reading): number {
  const code = text.charCodeAt(pos)
  if (isQuote(code)) {
    const end = quotedScalar(text, pos).end
    return text.charCodeAt(end) === COLON && isBlank(text.charCodeAt(end + 1)) ? end : -1
  }
  if (!mayBeginPlain(text, pos, false)) return -1
  const end = plainEnd(text, pos)
  return text.charCodeAt(end) === COLON ? end : -1
}

function readKey(reading: Reading): string {
  const { text, pos } = reading
  const end = keyEnd(reading)
  if (end < 0 || end - pos > MAX_KEY) throw NOT_COMMON
  const code = text.charCodeAt(pos)
  const isQuoted = isQuote(code)
  const key = isQuoted ? quotedScalar(text, pos).value : unpadded(text, pos, end)
  if (key === MERGE_KEY) throw NOT_COMMON
  reading.key = [pos, isQuoted ? end : pos + key.length]
  reading.pos = end + 1
  return key
}

function readMap(reading: Reading, column: number, shape: Shape): JsonObject {
  const members = new Members(reading, shape)
  open(reading)
  do members.add(readKey(reading), (child) => readMember(reading, column, child, true))
  while (goesOn(reading, column))
  reading.depth--
  return members.value
}

/** The members of a map without a repeated key. */
class Members {
  readonly value: JsonObject = {}
  /** Keys whose values are left out. */
  private absent: Set<string> | undefined

  constructor(
    private readonly reading: Reading,
    private readonly shape: Shape,
  ) {}

  add(key: string, readMember: (shape: Shape) => Json): void {
    if (Object.hasOwn(this.value, key) || this.absent?.has(key)) throw NOT_COMMON
    const child = memberShape(this.shape, key)
    const { place } = this.reading
    if (place) this.reading.place = this.placeIn(place, key)
    const member = readMember(child)
    this.reading.place = place
    if (!isLeftOut(member, key, child, this.shape)) {
      setOwn(this.value, key, member)
      return
    }
    this.reading.leavesOut = true
    this.absent ??= new Set()
    this.absent.add(key)
  }

  private placeIn(place: Place, key: string): Place {
    const own = { key: this.reading.key }
    place.members ??= new Map()
    place.members.set(key, own)
    return own
  }
}

function readList(reading: Reading, column: number, shape: Shape): Json[] {
  const { text, place } = reading
  const items: Json[] = []
  open(reading)
  do {
    reading.pos++
    if (place) reading.place = nextIn(place)
    items.push(readMember(reading, column, shape.items, false))
    reading.place = place
  } while (goesOn(reading, column) && isItem(text, reading.pos))
  reading.depth--
  return items
}

function nextIn(place: Place): Place {
  const own = { key: NO_KEY }
  place.items ??= []
  place.items.push(own)
  return own
}

/** Whether an item of a list begins here. */
function isItem(text: string, at: number): boolean {
  return text.charCodeAt(at) === DASH && isBlank(text.charCodeAt(at + 1))
}

function open(reading: Reading): void {
  if (++reading.depth > MAX_DEPTH) throw NOT_COMMON
}

/** Whether the next line belongs to the collection of this column. */
function goesOn(reading: Reading, column: number): boolean {
  const next = nextToken(reading)
  if (next > column) throw NOT_COMMON
  return next === column
}

/** What follows a key, or the dash of an item: on the same line, or on the next ones. */
function readMember(reading: Reading, column: number, shape: Shape, ofKey: boolean): Json {
  const { text } = reading
  let at = reading.pos
  while (text.charCodeAt(at) === SPACE) at++
  reading.pos = at
  const code = text.charCodeAt(at)
  if (code !== NEWLINE && at < text.length && code !== HASH) {
    if (ofKey) return readValue(reading, column, shape)
    return readNode(reading, at - reading.lineStart, column, shape)
  }
  const { lineStart } = reading
  const next = nextToken(reading)
  if (next > column) return readNode(reading, next, column, shape)
  if (ofKey && next === column && isItem(text, reading.pos)) return readList(reading, column, shape)
  // Nothing: what was found belongs to whoever goes on.
  reading.pos = at
  reading.lineStart = lineStart
  return shape.kind === 'text' ? '' : null
}

function readValue(reading: Reading, parent: number, shape: Shape): Json {
  const { text, pos } = reading
  const code = text.charCodeAt(pos)
  if (code === PIPE || code === GREATER) return read(reading, blockScalar(reading, parent), false, shape)
  if (code === BRACKET || code === BRACE) return readFlow(reading, parent, shape)
  if (isQuote(code)) return readQuoted(reading, shape)
  return read(reading, plainScalar(reading, parent), true, shape)
}

function readQuoted(reading: Reading, shape: Shape): Json {
  const { value, end } = quotedScalar(reading.text, reading.pos)
  note(reading, reading.pos, end)
  reading.pos = end
  return read(reading, value, false, shape)
}

/** The value of a scalar. */
function read({ env }: Reading, text: string, isPlain: boolean, shape: Shape): Json {
  const replaced = text.includes('${') ? replaceEnv(text, env) : undefined
  if (replaced && replaced.problems.length > 0) throw NOT_COMMON
  const isReplaced = replaced?.pieces.some(({ copied }) => !copied) ?? false
  const value = textValue(replaced?.text ?? text, isPlain, isReplaced, shape)
  if (value === undefined) throw NOT_COMMON
  return value
}

/** A list in `[ ]` or a map in `{ }`, on as many lines as it takes. */
function readFlow(reading: Reading, parent: number, shape: Shape): Json {
  const start = reading.pos
  const isMap = reading.text.charCodeAt(start) === BRACE
  open(reading)
  reading.pos++
  const value = isMap ? readFlowMap(reading, parent, shape) : readFlowList(reading, parent, shape)
  reading.pos++
  reading.depth--
  note(reading, start, reading.pos)
  return value
}

function readFlowList(reading: Reading, parent: number, shape: Shape): Json[] {
  const { place } = reading
  const items: Json[] = []
  if (flowToken(reading, parent) === BRACKET + 2) return items
  for (;;) {
    if (place) reading.place = nextIn(place)
    items.push(readFlowValue(reading, parent, shape.items))
    reading.place = place
    if (!hasNext(reading, parent, BRACKET + 2)) return items
  }
}

function readFlowMap(reading: Reading, parent: number, shape: Shape): JsonObject {
  const members = new Members(reading, shape)
  if (flowToken(reading, parent) === BRACE + 2) return members.value
  for (;;) {
    members.add(readFlowKey(reading), (child) => {
      flowToken(reading, parent)
      return readFlowValue(reading, parent, child)
    })
    if (!hasNext(reading, parent, BRACE + 2)) return members.value
  }
}

/** Goes to the next token in a flow collection, which must be further to the right than what it is in. */
function flowToken(reading: Reading, parent: number): number {
  const { text } = reading
  let at = reading.pos
  for (;;) {
    while (text.charCodeAt(at) === SPACE) at++
    if (text.charCodeAt(at) !== NEWLINE) break
    at++
    reading.lineStart = at
  }
  reading.pos = at
  if (at - reading.lineStart <= parent) throw NOT_COMMON
  return text.charCodeAt(at)
}

/** Goes past a comma to the next entry, or to what closes the collection. */
function hasNext(reading: Reading, parent: number, close: number): boolean {
  const code = flowToken(reading, parent)
  if (code === close) return false
  if (code !== COMMA) throw NOT_COMMON
  reading.pos++
  flowToken(reading, parent)
  return true
}

function readFlowKey(reading: Reading): string {
  const { text, pos } = reading
  if (isQuote(text.charCodeAt(pos))) {
    const { value, end } = quotedScalar(text, pos)
    if (text.charCodeAt(end) !== COLON || end - pos > MAX_KEY) throw NOT_COMMON
    reading.key = [pos, end]
    reading.pos = end + 1
    return value
  }
  const end = flowPlainEnd(text, pos)
  if (text.charCodeAt(end) !== COLON || end - pos > MAX_KEY) throw NOT_COMMON
  const key = unpadded(text, pos, end)
  if (key === MERGE_KEY) throw NOT_COMMON
  reading.key = [pos, pos + key.length]
  reading.pos = end + 1
  return key
}

function readFlowValue(reading: Reading, parent: number, shape: Shape): Json {
  const { text, pos } = reading
  const code = text.charCodeAt(pos)
  if (code === BRACKET || code === BRACE) return readFlow(reading, parent, shape)
  if (isQuote(code)) return readQuoted(reading, shape)
  const end = flowPlainEnd(text, pos)
  if (text.charCodeAt(end) === COLON) throw NOT_COMMON
  const value = unpadded(text, pos, end)
  note(reading, pos, pos + value.length)
  reading.pos = end
  return read(reading, value, true, shape)
}
