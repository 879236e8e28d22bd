import {
  CHOMPING_MODE,
  COLLECTION_STYLE,
  type DocumentEvent,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml'
import { type Finding, finding } from '../../findings/index.ts'
import { isObject, type Json, type JsonObject, parse, setOwn } from '../../json/index.ts'
import type { Env, Source } from '../model.ts'
import { envFileOf, unreadOf } from '../secret-files.ts'
import { ANY, type Shape } from '../shape.ts'
import { isWithheld, withheld } from '../tenant-env.ts'
import { replaceEnv } from './env.ts'
import { type Member, placeInScalar, type YamlNode } from './places.ts'
import { type Parsed, QUOTE_TEMPLATE } from './syntax.ts'

/** Maximum values that are read through the aliases of one file. */
const MAX_ALIASED = 100_000
/** A plain key whose value is merged into the map. */
const MERGE_KEY = '<<'

interface Values {
  value: Json
  root: YamlNode | undefined
  findings: Finding[]
  /** Nodes that have a finding already: a finding of the schema on their value would repeat it. */
  reportedNodes: ReadonlySet<YamlNode>
}

/**
 * Reads the value of a document, and the places of its parts. Scalars follow `shape`, and variables are replaced.
 * Never throws.
 */
export function readValues(source: Source, env: Env, parsed: Parsed, shape: Shape): Values {
  return new ValueReader(source, env, parsed).document(shape)
}

/** Codes of findings that do not make the value unusable. */
const STILL_READ: ReadonlySet<Finding['code']> = new Set([
  'env-syntax',
  'duplicate-key',
  'renamed-key',
  'yaml-warning',
])

type Report = [Finding['code'], string, Parameters<typeof finding>[3]?]
interface Read {
  value: Json
  node: YamlNode
}

class ValueReader {
  readonly #text: string
  readonly #events: readonly Event[]
  /** Index of the next event. */
  #at = 1
  /** The end of the last value that was read. */
  #end = 0
  /** The events that anchors stand at. */
  readonly #anchors = new Map<string, number>()
  /** The events of the collections that are being read. */
  readonly #open = new Set<number>()
  /** Number of aliases that are being followed. */
  #following = 0
  #aliased = 0
  #tags = 0
  /** Maps that are templates without quotes. */
  readonly #bare = new Set<YamlNode>()
  /** Number of open objects and arrays in the place of a text. */
  #texts = 0
  readonly #findings = new Map<string, Finding>()
  readonly #reportedNodes = new Set<YamlNode>()

  constructor(
    readonly source: Source,
    readonly env: Env,
    readonly parsed: Parsed,
  ) {
    this.#text = source.text
    this.#events = parsed.events
  }

  document(shape: Shape): Values {
    const read = this.#events.length > 0 ? this.#read(shape) : undefined
    return {
      value: read?.value ?? null,
      root: read?.node,
      findings: [...this.#findings.values()],
      reportedNodes: this.#reportedNodes,
    }
  }

  #report(node: YamlNode, ...[code, message, more]: Report): void {
    const range = more?.range ?? this.parsed.range(node.start, node.end)
    // The value of an anchor is read again for each alias, and reported once.
    if (!STILL_READ.has(code)) this.#reportedNodes.add(node)
    const key = `${code} ${range.start.offset} ${range.end.offset}`
    if (!this.#findings.has(key))
      this.#findings.set(key, finding(code, this.source.file, message, { ...more, range }))
  }

  #read(shape: Shape): Read {
    const at = this.#at
    const event = this.#events[at]!
    if (event.type === EVENT_ID.ALIAS) return this.#alias(shape)
    if (this.#following > 0 && this.#isTooMuch(event)) return { value: null, node: this.#skip() }
    this.#anchor(event, at)
    if (event.type === EVENT_ID.SCALAR) return this.#scalar(event, shape)
    const { start } = event as MappingEvent
    if (this.#open.size >= 100) {
      const node = this.#skip()
      this.#report(node, 'yaml-syntax', `nested deeper than 100 levels`, { hint: 'Flatten it' })
      return { value: null, node }
    }
    const node: YamlNode = { start, end: start }
    this.#at++
    this.#end = start + (isFlow(event) ? 1 : 0)
    this.#open.add(at)
    const isText = shape.kind === 'text' && !this.#isTemplate(node)
    if (isText) this.#texts++
    this.#tag(event, event.type === EVENT_ID.MAPPING ? 'map' : 'seq')
    const value = event.type === EVENT_ID.MAPPING ? this.#map(node, shape) : this.#list(node, shape.items)
    if (isText) this.#texts--
    this.#open.delete(at)
    this.#at++
    this.#close(event)
    node.end = this.#end
    if (this.#bare.has(node))
      this.#report(node, 'yaml-syntax', 'a template without quotes', { hint: QUOTE_TEMPLATE })
    return { value, node }
  }

  /** Counts what is read through an alias: of a long text each 128 characters. */
  #isTooMuch(event: Event): boolean {
    this.#aliased += 1 + (event.type === EVENT_ID.SCALAR ? (event.valueEnd - event.valueStart) >> 7 : 0)
    return this.#aliased > MAX_ALIASED
  }

  #list(node: YamlNode, shape: Shape): Json[] {
    node.items = []
    const value: Json[] = []
    while (this.#events[this.#at]!.type !== EVENT_ID.POP) {
      const item = this.#read(shape)
      const isJoined = this.#checkJoined(item.node, shape.kind === 'text')
      node.items.push(item.node)
      value.push(isJoined ? null : item.value)
    }
    return value
  }

  #map(node: YamlNode, shape: Shape): JsonObject {
    const members = new Map<string, Member>()
    node.members = members
    const value: JsonObject = {}
    const merges: Read[] = []
    while (this.#events[this.#at]!.type !== EVENT_ID.POP) {
      const key = this.#key()
      const name = shape.renamed.get(key.source ?? '') ?? key.source
      if (name !== key.source) this.#reportRenamed(name!, key)
      if (name === undefined) {
        this.#reportKey(key, node)
        this.#skip()
      } else if (name === MERGE_KEY && key.scalar?.style === SCALAR_STYLE.PLAIN) {
        const one = { ...shape, required: new Set<string>() }
        merges.push(this.#read({ ...one, kind: 'map', items: one }))
      } else {
        const first = members.get(name)?.key
        if (first) this.#reportTwice(name, key, first)
        const child = memberShape(shape, name)
        const read = this.#read(child)
        this.#checkJoined(read.node, false)
        members.set(name, { key, value: read.node })
        if (!isLeftOut(read.value, name, child, shape)) setOwn(value, name, read.value)
      }
    }
    for (const merged of merges) this.#merge(value, members, merged)
    return value
  }

  /**
   * A plain text over several lines may contain a line that was meant as an item. @returns whether its value is
   * useless
   */
  #checkJoined(node: YamlNode, isItem: boolean): boolean {
    if (node.scalar?.style !== SCALAR_STYLE.PLAIN) return false
    const at = /\n[ \t]*- /.exec(this.#text.slice(node.start, node.end))
    if (!at) return false
    const start = node.start + at.index + at[0].length - 2
    this.#report(
      node,
      isItem ? 'yaml-syntax' : 'yaml-warning',
      `this \`- \` begins no item: its line is indented too far, and continues the text before it`,
      {
        range: this.parsed.range(start, start + 1),
        hint: isItem
          ? 'Indent it like the `- ` of the item before'
          : 'Put the text in quotes, or remove it before the list',
      },
    )
    return isItem
  }

  #reportRenamed(name: string, key: YamlNode): void {
    const range = this.parsed.range(key.start, key.end)
    this.#report(key, 'renamed-key', `\`${key.source}\` is now called \`${name}\``, {
      hint: `Write \`${name}\``,
      fix: { range, text: name },
    })
  }

  #reportTwice(name: string, key: YamlNode, first: YamlNode): void {
    const range = this.parsed.range(first.start, first.end)
    this.#report(key, 'duplicate-key', `duplicate key \`${name}\``, {
      hint: 'Keep one of the two',
      related: [{ file: this.source.file, range, message: 'the first one' }],
    })
  }

  /** `<<`: the keys of a map, or of several (the first wins), which keys of the map itself override. */
  #merge(into: JsonObject, members: Map<string, Member>, { value, node }: Read): void {
    const merged = Array.isArray(value)
      ? value.map((one, i): [Json, YamlNode] => [one, node.items![i]!])
      : [[value, node] as const]
    for (const [one, from] of merged) {
      if (isObject(one)) {
        for (const [name, member] of Object.entries(one))
          if (!Object.hasOwn(into, name)) setOwn(into, name, member)
        for (const [name, member] of from.members ?? []) if (!members.has(name)) members.set(name, member)
        // Without a scalar, null is an alias that cannot be followed, which is reported already.
      } else if (one !== null || from.scalar)
        this.#report(from, 'wrong-type', '`<<` must be an object or an array of objects', {
          hint: 'Write an alias of an object',
        })
    }
  }

  /** A key; without `source`, it is no scalar. */
  #key(): YamlNode {
    const event = this.#events[this.#at]!
    if (event.type === EVENT_ID.ALIAS) {
      const node = this.#skip()
      const target = this.#events[this.#anchors.get(this.#nameOf(event)) ?? -1]
      return target?.type === EVENT_ID.SCALAR && !this.#isTooMuch(target)
        ? { ...node, scalar: target, source: getScalarValue(this.#text, target) }
        : node
    }
    if (event.type !== EVENT_ID.SCALAR) return this.#skip()
    this.#anchor(event, this.#at)
    this.#tag(event, 'scalar')
    return this.#scalarNode(event)
  }

  #alias(shape: Shape): Read {
    const name = this.#nameOf(this.#events[this.#at]!)
    const node = this.#skip()
    const target = this.#anchors.get(name)
    if (target === undefined) {
      this.#report(node, 'bad-alias', `there is no anchor \`&${name}\` before this alias`, {
        hint: `Mark the value with \`&${name}\`; quote a string that starts with \`*\``,
      })
      return { value: null, node }
    }
    if (this.#open.has(target)) {
      const hint = 'Write the value out'
      this.#report(node, 'bad-alias', `the alias \`*${name}\` refers to itself`, { hint })
      return { value: null, node }
    }
    if (this.#aliased > MAX_ALIASED) return { value: null, node }
    const { next, end } = { next: this.#at, end: this.#end }
    this.#following++
    this.#at = target
    const read = this.#read(shape)
    this.#at = next
    this.#end = end
    this.#following--
    if (this.#aliased > MAX_ALIASED && this.#following === 0)
      this.#report(node, 'bad-alias', `the aliases of this file expand to more than ${MAX_ALIASED} values`, {
        hint: 'Write the values out',
      })
    return read
  }

  #scalar(event: ScalarEvent, shape: Shape): Read {
    const node = this.#scalarNode(event)
    const source = node.source!
    const { pieces, problems, text } = source.includes('$')
      ? replaceEnv(source, this.env)
      : { pieces: [], problems: [], text: source }
    for (const problem of problems) {
      const range = placeInScalar(this.#text, this.parsed.range, node, problem.from, problem.to)
      const { code, message, hint } = this.#wordsOf(problem)
      this.#report(node, code, message, { range, hint })
    }
    const isReplaced = pieces.some(({ copied }) => !copied)
    const tag = this.#tag(event, 'scalar')
    const isPlain = event.style === SCALAR_STYLE.PLAIN
    const value =
      tag && !isReplaced
        ? taggedValue(text, tag, isPlain, shape)
        : textValue(text, isPlain, isReplaced, shape)
    if (value !== undefined) return { value, node }
    this.#report(node, 'not-json', `JSON cannot represent the number \`${text}\``, {
      hint: 'Write another number, or quote it if a string is meant',
    })
    return { value: null, node }
  }

  #wordsOf({ kind, name }: ReturnType<typeof replaceEnv>['problems'][number]): {
    code: Finding['code']
    message: string
    hint?: string
  } {
    if (kind === 'unset' && isWithheld(this.env, name)) return withheld(name)
    if (kind === 'unset')
      return {
        code: 'env-unset',
        message: `the environment variable ${name} is not set`,
        hint: hintForUnset(this.env, name),
      }
    if (kind === 'file')
      return {
        code: 'secret-file',
        message: `the gateway cannot read the secret file ${name}`,
        hint: 'Write the absolute path of a file that this user may read',
      }
    return {
      code: 'env-syntax',
      message: `\`${name}\` is not a supported form of an environment variable`,
      hint: /^\$\w+$/.test(name)
        ? `Write \`\${${name.slice(1)}}\``
        : 'Write `${NAME:default}`, or `$${` for a literal `${`',
    }
  }

  #scalarNode(event: ScalarEvent): YamlNode {
    const { valueStart, valueEnd, style, tagEnd, anchorEnd } = event
    const source = getScalarValue(this.#text, event)
    this.#at++
    let start = valueStart
    let end = valueEnd
    if (valueStart < 0) {
      DASH.lastIndex = this.#end
      start = end = DASH.test(this.#text) ? DASH.lastIndex : Math.max(this.#end, tagEnd, anchorEnd)
    } else if (style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED) {
      start--
      end++
    } else if (style !== SCALAR_STYLE.PLAIN) {
      // The header begins with the first `|` or `>` of the line before the text.
      const line = this.#text.lastIndexOf('\n', valueStart - 2) + 1
      const from = Math.max(line, this.#end, tagEnd, anchorEnd)
      start = from + this.#text.slice(from, valueStart).search(/[|>]/)
      end = endOfBlock(this.#text, event)
    }
    this.#end = end
    return { start, end, scalar: event, source }
  }

  /** Skips the next value. */
  #skip(): YamlNode {
    const open: Event[] = []
    let node: YamlNode | undefined
    do {
      const event = this.#events[this.#at]!
      let own: YamlNode | undefined
      if (event.type === EVENT_ID.SCALAR) own = this.#scalarNode(event)
      else this.#at++
      if (event.type === EVENT_ID.ALIAS) own = { start: event.anchorStart - 1, end: event.anchorEnd }
      else if (event.type === EVENT_ID.POP) this.#close(open.pop()!)
      else if (event.type !== EVENT_ID.SCALAR) {
        const { start } = event as MappingEvent
        own = { start, end: start + (isFlow(event) ? 1 : 0) }
        open.push(event)
      }
      if (own) this.#end = own.end
      node ??= own
    } while (open.length > 0)
    node!.end = this.#end
    return node!
  }

  /** Sets the end of a list or map: `[ ]` and `{ }` end at their bracket, others with their last value. */
  #close(event: Event): void {
    if (!isFlow(event)) return
    BRACKET.lastIndex = this.#end
    if (BRACKET.test(this.#text)) this.#end = BRACKET.lastIndex
  }

  #nameOf(event: Event): string {
    const { anchorStart, anchorEnd } = event as ScalarEvent
    return this.#text.slice(anchorStart, anchorEnd)
  }

  #anchor(event: Event, at: number): void {
    if ((event as ScalarEvent).anchorStart >= 0) this.#anchors.set(this.#nameOf(event), at)
  }

  /** The name of the tag of a scalar, such as `int`. A tag that JSON has no value for is reported. */
  #tag(event: Event, kind: 'scalar' | 'map' | 'seq'): string | undefined {
    const { tagStart, tagEnd } = event as ScalarEvent
    if (tagStart < 0) return undefined
    const written = this.#text.slice(tagStart, tagEnd)
    const name = written === '!' ? 'str' : this.#tagName(written)
    if (kind === 'scalar' ? SCALAR_TAGS.has(name) : written === '!' || name === kind) return name
    if (this.#tags++ < 100)
      this.#findings.set(
        `tag ${tagStart}`,
        finding('not-json', this.source.file, `the tag \`${written}\` has no JSON equivalent`, {
          range: this.parsed.range(tagStart, tagEnd),
          hint: 'Remove the tag, and write the value as a string, number, array or object',
        }),
      )
    return undefined
  }

  /** The name of a tag of YAML itself; another tag as it is written. */
  #tagName(written: string): string {
    const [, handle = '', suffix = ''] = /^(!(?:[^!<]*!)?)(.*)$/.exec(written)!
    const document = this.#events[0] as DocumentEvent
    const directive = document.directives.find((one) => one.kind === 'tag' && one.handle === handle)
    const prefix = directive?.kind === 'tag' ? directive.prefix : handle === '!!' ? CORE_TAG : ''
    const full = prefix ? prefix + suffix : suffix.replace(/^<(.*)>$/, '$1')
    return full.startsWith(CORE_TAG) ? full.slice(CORE_TAG.length) : written
  }

  /** Whether a value is a template without quotes: YAML reads a map whose key is a map. */
  #isTemplate({ start }: YamlNode): boolean {
    return this.#text.startsWith('{{', start)
  }

  /** @param map that has the key */
  #reportKey(node: YamlNode, map: YamlNode): void {
    if (!this.#isTemplate(map)) {
      const hint = this.#isTemplate(node) ? QUOTE_TEMPLATE : 'Write the key as a string'
      this.#report(node, 'not-json', 'a key must be a string, not an array or object', { hint })
      this.#reportedNodes.add(map)
      return
    }
    this.#reportedNodes.add(map)
    // In the place of a text, the whole value has to be quoted, which another finding says.
    if (this.#texts === 0) this.#bare.add(map)
  }
}

const CORE_TAG = 'tag:yaml.org,2002:'
const SCALAR_TAGS: ReadonlySet<string> = new Set(['str', 'null', 'bool', 'int', 'float'])

/** Text allowed between two items of a block list. */
const DASH = /(?:\s|#.*[\r\n])*(?=-)/y
/** Text allowed between the last value of a flow collection and its bracket. */
const BRACKET = /(?:[\s,:?]|#.*[\r\n])*[\]}]/y

function isFlow(event: Event): boolean {
  return (event as SequenceEvent).style === COLLECTION_STYLE.FLOW
}

/** The end of a block scalar; blank lines behind it count only where `+` keeps them. */
function endOfBlock(text: string, { valueStart, valueEnd, chomping }: ScalarEvent): number {
  if (chomping === CHOMPING_MODE.KEEP) return valueEnd
  const end = text.slice(valueStart, valueEnd).trimEnd().length
  const newline = text.indexOf('\n', valueStart + end)
  return newline < 0 ? valueEnd : Math.min(valueEnd, newline + 1)
}

function memberShape(shape: Shape, name: string): Shape {
  const isFree = name.startsWith('x-') && shape.kind === 'map'
  // In an object of strings, keys `x-…` are strings like the others.
  const free = shape.properties.size ? ANY : shape.others
  return shape.properties.get(name) ?? (isFree ? free : shape.others)
}

/** Whether a member counts as not given. */
function isLeftOut(value: Json, name: string, wanted: Shape, { required }: Shape): boolean {
  return value === '' && wanted.neverEmpty && !required.has(name)
}

function hintForUnset(env: Env, name: string): string {
  const unread = unreadOf(env, name)
  if (unread !== undefined) return `Make its secret file readable: ${unread}`
  const file = envFileOf(env)
  return `Set it${file === undefined ? '' : ` in ${file}`}, or give a default: \`\${${name}:default}\``
}

/** @returns undefined for a number that JSON cannot represent */
function taggedValue(text: string, tag: string, isPlain: boolean, { kind }: Shape): Json | undefined {
  if (kind === 'text') return isPlain && tag !== 'str' && NULL.test(text) ? '' : text
  return tag === 'str' ? text : scalarValue(text)
}

/**
 * The value of a scalar without a tag.
 * @returns undefined for a number that JSON cannot represent
 */
function textValue(text: string, isPlain: boolean, isReplaced: boolean, { kind }: Shape): Json | undefined {
  if (kind === 'text') return isPlain && !isReplaced && NULL.test(text) ? '' : text
  if (!isPlain && (!isReplaced || kind === 'any')) return text
  return scalarValue(text)
}

const NULL = /^(?:~|null|Null|NULL|)$/

/** The value of plain text by the core schema of YAML 1.2, numbers exact; undefined for `.inf` and `.nan`. */
export function scalarValue(text: string): Json | undefined {
  if (NULL.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?(?:\.inf|\.Inf|\.INF)$|^(?:\.nan|\.NaN|\.NAN)$/.test(text)) return undefined
  if (/^[-+]?\d+$/.test(text) || /^0x[\da-fA-F]+$/.test(text) || /^0o[0-7]+$/.test(text)) return integer(text)
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text)) return parse(asJson(text))
  return text
}

function integer(text: string): number | bigint {
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text.replace('+', ''))
}

/** `+1.`, `.5` and `01.5` are numbers in YAML but not in JSON. */
function asJson(text: string): string {
  const [, sign, whole, fraction, exponent] = /^[+]?(-?)(\d*)(?:\.(\d*))?([eE].*)?$/.exec(text)!
  const digits = whole!.replace(/^0+(?=\d)/, '') || '0'
  return `${sign}${digits}${fraction ? `.${fraction}` : ''}${exponent ?? ''}`
}
