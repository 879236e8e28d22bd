import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { type Finding, finding } from '../../findings/index.ts'
import { type Json, type JsonObject, parse, setOwn } from '../../json/index.ts'
import type { Env, Source } from '../model.ts'
import { ANY, type Shape } from '../schemas.ts'
import { envFileOf, unreadOf } from '../secret-files.ts'
import { isWithheld, withheld } from '../tenant-env.ts'
import { type Parsed, QUOTE_TEMPLATE } from './document.ts'
import { replaceEnv } from './env.ts'
import { placeInScalar } from './scalar-trace.ts'

/** Deeper nesting is refused. */
const MAX_DEPTH = 100
/** So many nodes may be read through aliases of one file. */
const MAX_ALIASED = 100_000
/** A plain key whose value is merged into the map. */
export const MERGE_KEY = '<<'

export interface Values {
  value: Json
  findings: Finding[]
  /** The node that each alias stands for. */
  aliases: ReadonlyMap<Alias, Node>
  /** Nodes that have a finding already: a finding of the schema on their value would repeat it. */
  spoilt: ReadonlySet<Node>
}

interface Reading {
  source: Source
  env: Env
  range: Parsed['range']
  anchors: Map<string, Node>
  aliases: Map<Alias, Node>
  /** Nodes that are being read, from the top down. */
  open: Set<Node>
  /** How many aliases are being followed. */
  following: number
  aliased: number
  /** That there are too many is said once. */
  tooMany: boolean
  findings: Map<string, Finding>
  spoilt: Set<Node>
  /** How many objects and arrays are open that stand where a text is wanted. */
  texts: number
}

/** The value of a YAML tree, with scalars read as `shape` wants them and variables replaced. Never throws. */
export function readValues(source: Source, env: Env, { root, range }: Parsed, shape: Shape): Values {
  const reading: Reading = {
    source,
    env,
    range,
    anchors: new Map(),
    aliases: new Map(),
    open: new Set(),
    following: 0,
    aliased: 0,
    tooMany: false,
    findings: new Map(),
    spoilt: new Set(),
    texts: 0,
  }
  const value = read(root, shape, reading)
  return { value, findings: [...reading.findings.values()], aliases: reading.aliases, spoilt: reading.spoilt }
}

function report(reading: Reading, node: Node, ...[code, message, more]: Report) {
  const [start, end] = node.range ?? [0, 0]
  const range = more?.range ?? reading.range(start, end)
  // What an anchor holds is read again for each alias: once is enough to say it.
  if (code !== 'env-syntax' && code !== 'duplicate-key') reading.spoilt.add(node)
  const key = `${code} ${range.start.offset} ${range.end.offset}`
  if (!reading.findings.has(key)) {
    reading.findings.set(key, finding(code, reading.source.file, message, { ...more, range }))
  }
}
type Report = [Finding['code'], string, Parameters<typeof finding>[3]?]

function read(node: Node | null, shape: Shape, reading: Reading): Json {
  if (!node) return shape.kind === 'text' ? '' : null
  if (isAlias(node)) return readAlias(node, shape, reading)
  if (reading.following > 0 && reading.aliased++ > MAX_ALIASED) return null
  const { anchor } = node as Scalar
  if (anchor) reading.anchors.set(anchor, node)
  if (isScalar(node)) return readScalar(node, shape, reading)
  if (reading.open.size >= MAX_DEPTH) {
    report(reading, node, 'yaml-syntax', `nested deeper than ${MAX_DEPTH} levels`, { hint: 'Flatten it' })
    return null
  }
  reading.open.add(node)
  const isText = shape.kind === 'text' && !isTemplate(node, reading)
  if (isText) reading.texts++
  const value = isMap(node)
    ? readMap(node, shape, reading)
    : isSeq(node)
      ? (node as YAMLSeq<Node>).items.map((item) => read(item, shape.items, reading))
      : null
  if (isText) reading.texts--
  reading.open.delete(node)
  return value
}

function readAlias(alias: Alias, shape: Shape, reading: Reading): Json {
  const target = reading.anchors.get(alias.source)
  if (!target) {
    report(reading, alias, 'bad-alias', `there is no anchor \`&${alias.source}\` before this alias`, {
      hint: `Mark the value with \`&${alias.source}\`; quote a string that starts with \`*\``,
    })
    return null
  }
  if (reading.open.has(target)) {
    report(reading, alias, 'bad-alias', `the alias \`*${alias.source}\` refers to itself`, {
      hint: 'Write the value out',
    })
    return null
  }
  reading.aliases.set(alias, target)
  reading.following++
  const value = read(target, shape, reading)
  reading.following--
  if (reading.aliased > MAX_ALIASED && reading.following === 0 && !reading.tooMany) {
    reading.tooMany = true
    report(
      reading,
      alias,
      'bad-alias',
      `the aliases of this file expand to more than ${MAX_ALIASED} values`,
      {
        hint: 'Write the values out',
      },
    )
  }
  return value
}

function readMap(map: YAMLMap, shape: Shape, reading: Reading): Json {
  const value: JsonObject = {}
  const seen = new Map<string, Node>()
  const merges: Node[] = []
  for (const { key, value: member } of map.items as { key: Node | null; value: Node | null }[]) {
    const node = isAlias(key) ? (reading.anchors.get(key.source) ?? key) : key
    if (node && !isScalar(node)) {
      reportKey(node, map, reading)
      reading.spoilt.add(map)
      continue
    }
    if (node?.anchor) reading.anchors.set(node.anchor, node)
    if (node?.source === MERGE_KEY && node.type === 'PLAIN') {
      if (member) merges.push(member)
      continue
    }
    const name = keyText(node)
    const first = seen.get(name)
    if (first) {
      const [start, end] = first.range!
      report(reading, key!, 'duplicate-key', `duplicate key \`${name}\``, {
        hint: 'Keep one of the two',
        related: [{ file: reading.source.file, range: reading.range(start, end), message: 'the first one' }],
      })
    }
    if (key) seen.set(name, key)
    const child = memberShape(shape, name)
    const one = read(member, child, reading)
    if (!isLeftOut(one, name, child, shape)) setOwn(value, name, one)
  }
  for (const member of merges) merge(value, member, shape, reading)
  return value
}

/** What is wanted of the member of a map. */
export function memberShape(shape: Shape, name: string): Shape {
  const isFree = name.startsWith('x-') && shape.kind === 'map'
  return shape.properties.get(name) ?? (isFree ? ofFree(shape) : shape.others)
}

/** Whether a member counts as not given. */
export function isLeftOut(value: Json, name: string, wanted: Shape, { required }: Shape): boolean {
  return value === '' && wanted.neverEmpty && !required.has(name)
}

/** Keys `x-…` are free where the keys are fixed; in an object of strings they are strings like the others. */
function ofFree(shape: Shape): Shape {
  return shape.properties.size ? ANY : shape.others
}

/** `<<`: the keys of a map, or of several (the first wins), which keys of the map itself override. */
function merge(value: JsonObject, member: Node, shape: Shape, reading: Reading) {
  const target = isAlias(member) ? (reading.anchors.get(member.source) ?? member) : member
  if (!isSeq(target)) return mergeMap(value, member, target, shape, reading)
  // An alias in a list that it stands for would never end.
  if (reading.open.has(target)) return void readAlias(member as Alias, shape, reading)
  reading.open.add(target)
  if (isAlias(member)) {
    reading.aliases.set(member, target)
    reading.following++
  }
  for (const item of (target as YAMLSeq<Node>).items) {
    const inner = isAlias(item) ? (reading.anchors.get(item.source) ?? item) : item
    mergeMap(value, item, inner, shape, reading)
  }
  if (isAlias(member)) reading.following--
  reading.open.delete(target)
}

function mergeMap(value: JsonObject, member: Node, target: Node, shape: Shape, reading: Reading) {
  if (isMap(target) || isAlias(target)) {
    // Null where there are too many aliases, or none is to be had.
    const inherited = read(member, { ...shape, required: new Set() }, reading) as JsonObject | null
    for (const [name, one] of Object.entries(inherited ?? {})) {
      if (!Object.hasOwn(value, name)) setOwn(value, name, one)
    }
  } else
    report(reading, member, 'wrong-type', '`<<` must be an object or an array of objects', {
      hint: 'Write an alias of an object',
    })
}

export function keyText(node: Scalar | null): string {
  return node ? (node.source ?? String(node.value)) : ''
}

/** Whether a value is a template without quotes: YAML reads a map whose key is a map. */
function isTemplate(node: Node, { source }: Reading): boolean {
  return source.text.startsWith('{{', node.range?.[0])
}

/** @param map that has the key */
function reportKey(node: Node, map: Node, reading: Reading) {
  if (!isTemplate(map, reading)) {
    const hint = isTemplate(node, reading) ? QUOTE_TEMPLATE : 'Write the key as a string'
    report(reading, node, 'not-json', 'a key must be a string, not an array or object', { hint })
    // Where a text is wanted, the whole is to be quoted, which is reported of it.
  } else if (reading.texts === 0)
    report(reading, map, 'yaml-syntax', 'a template without quotes', { hint: QUOTE_TEMPLATE })
}

function readScalar(node: Scalar, shape: Shape, reading: Reading): Json {
  const source = node.source ?? ''
  if (!source.includes('${')) return typedValue(node, source, false, shape, reading)
  const replaced = replaceEnv(source, reading.env)
  for (const { kind, name, from, to } of replaced.problems) {
    const range = placeInScalar(reading, node, from, to)
    if (kind === 'unset' && isWithheld(reading.env, name)) {
      const { code, message, hint } = withheld(name)
      report(reading, node, code, message, { range, hint })
    } else if (kind === 'unset') {
      report(reading, node, 'env-unset', `the environment variable ${name} is not set`, {
        range,
        hint: hintForUnset(reading.env, name),
      })
    } else if (kind === 'file') {
      report(reading, node, 'secret-file', `the gateway cannot read the secret file ${name}`, {
        range,
        hint: 'Write the absolute path of a file that this user may read',
      })
    } else {
      report(reading, node, 'env-syntax', `\`${name}\` is not a supported form of an environment variable`, {
        range,
        hint: 'Write `${NAME:default}`, or `$${` for a literal `${`',
      })
    }
  }
  return typedValue(
    node,
    replaced.text,
    replaced.pieces.some(({ copied }) => !copied),
    shape,
    reading,
  )
}

function hintForUnset(env: Env, name: string): string {
  const unread = unreadOf(env, name)
  if (unread !== undefined) return `Make its secret file readable: ${unread}`
  const file = envFileOf(env)
  return `Set it${file === undefined ? '' : ` in ${file}`}, or give a default: \`\${${name}:default}\``
}

function typedValue(node: Scalar, text: string, replaced: boolean, shape: Shape, reading: Reading): Json {
  const plain = node.type === 'PLAIN'
  const value =
    node.tag && !replaced ? taggedValue(node, text, shape) : textValue(text, plain, replaced, shape)
  if (value !== undefined) return value
  report(reading, node, 'not-json', `JSON cannot represent the number \`${text}\``, {
    hint: 'Write another number, or quote it if a string is meant',
  })
  return null
}

/** A tag may set another type than the text shows. */
function taggedValue({ type, value }: Scalar, text: string, { kind }: Shape): Json | undefined {
  if (kind === 'text') return type === 'PLAIN' && value === null ? '' : text
  return typeof value === 'string' ? value : scalarValue(text, value)
}

/**
 * The value of a scalar without a tag; undefined for a number that JSON cannot represent.
 * @param replaced whether variables were replaced in it
 */
export function textValue(
  text: string,
  plain: boolean,
  replaced: boolean,
  { kind }: Shape,
): Json | undefined {
  if (kind === 'text') return plain && !replaced && NULL.test(text) ? '' : text
  if (!plain && (!replaced || kind === 'any')) return text
  return scalarValue(text)
}

const NULL = /^(?:~|null|Null|NULL|)$/

/**
 * The value of plain text by the core schema of YAML 1.2, numbers exact; undefined for `.inf` and `.nan`.
 * @param known what the YAML reader made of it, for tags that set the type
 */
export function scalarValue(text: string, known?: unknown): Json | undefined {
  if (NULL.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?(?:\.inf|\.Inf|\.INF)$|^(?:\.nan|\.NaN|\.NAN)$/.test(text)) return undefined
  if (/^[-+]?\d+$/.test(text) || /^0x[\da-fA-F]+$/.test(text) || /^0o[0-7]+$/.test(text)) return integer(text)
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text)) return parse(asJson(text))
  if (typeof known === 'boolean' || typeof known === 'number') return known
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
