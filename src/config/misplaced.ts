import type { ErrorObject } from 'ajv'
import { type Suggestion, suggest } from '../findings/index.ts'
import { isObject } from '../json/index.ts'
import { quote, quoteAll } from '../text/index.ts'
import type { Path } from './model.ts'
import WORDS from './other-words.json' with { type: 'json' }
import { type LoadedSchema, loadSchema } from './schemas.ts'
import { type SchemaNode, titled } from './shape.ts'

/** A place of a key in a schema. */
interface Home {
  key: string
  /** The keys to the object that has the key; `[]` is an item of a list, `*` a member with a free name. */
  owner: readonly string[]
  object: SchemaNode
  value: SchemaNode
}

const SYNONYMS: Readonly<Record<string, readonly string[]>> = WORDS.keys
const HINTS: readonly { keys: string[]; in?: string[]; hint: string; means?: string }[] = WORDS.hints
const homes = new WeakMap<LoadedSchema, ReadonlyMap<string, Home[]>>()

/** The word without case, `_` and `-`. */
const plain = (word: string) => word.replace(/[_-]/g, '').toLowerCase()

/** All places of all keys, by the plain key, and by that with the name of its object before it: `logLevel`. */
function homesOf(loaded: LoadedSchema): ReadonlyMap<string, Home[]> {
  const known = homes.get(loaded)
  if (known) return known
  const found = new Map<string, Home[]>()
  const visit = (written: SchemaNode | boolean | undefined, owner: readonly string[]) => {
    const object = resolved(written, loaded)
    // Argument schemas contain each other, and have the keys of JSON Schema.
    if (!object || object.title === 'Argument schema') return
    const last = owner.at(-1) ?? ''
    const before = ['', last, ...(SYNONYMS[last] ?? [])]
    for (const [key, member] of Object.entries(object.properties ?? {})) {
      const value = resolved(member, loaded) ?? {}
      const home = { key, owner, object, value: { ...value, items: resolved(value.items, loaded) ?? {} } }
      for (const word of new Set(before.map((one) => plain(one + key))))
        found.set(word, [...(found.get(word) ?? []), home])
      visit(value, [...owner, key])
    }
    visit(object.items, [...owner, '[]'])
    visit(object.additionalProperties, [...owner, '*'])
  }
  visit(loaded.schema, [])
  homes.set(loaded, found)
  return found
}

function resolved(schema: SchemaNode | boolean | undefined, { schema: root }: LoadedSchema) {
  if (typeof schema !== 'object') return undefined
  return schema.$ref ? root.$defs?.[schema.$ref.replace('#/$defs/', '')] : schema
}

/** A path in the form of `Home.owner`. */
export function ownerOf(path: Path, loaded: LoadedSchema): string[] {
  let at: SchemaNode | undefined = loaded.schema
  return path.map((key) => {
    const known: SchemaNode | undefined = typeof key === 'string' ? at?.properties?.[key] : undefined
    at = resolved(known ?? (typeof key === 'number' ? at?.items : at?.additionalProperties), loaded)
    return known ? String(key) : typeof key === 'number' ? '[]' : '*'
  })
}

/** `servers[].limits`. */
export const written = (owner: readonly string[]) => owner.join('.').replaceAll('.[]', '[]')

/** A list and its item are one level. */
const levels = (path: readonly string[]) => path.filter((key) => key !== '[]').length

function ancestorOf(one: readonly string[], other: readonly string[]): readonly string[] {
  const end = one.findIndex((key, i) => key !== other[i])
  return end < 0 ? one : one.slice(0, end)
}

/** Objects that few files have, whose keys are common words. */
const RARE = new Set([
  'proxy',
  'plants',
  'async',
  'card',
  'api',
  'audit',
  'otlp',
  'redis',
  'cancel',
  'tenants',
])

/** The distance of a place in levels; a value that does not fit there, and a rare object, add levels. */
function distance({ owner, value: schema }: Home, from: readonly string[], value: unknown): number {
  const shared = ancestorOf(from, owner).length
  const way = levels(from.slice(shared)) + levels(owner.slice(shared))
  return way + (owner.slice(shared).some((key) => RARE.has(key)) ? 1 : 0) + misfit(value, schema)
}

/** 0 if the schema accepts such a value. */
function misfit(value: unknown, { type, enum: allowed, properties, items }: SchemaNode): number {
  const types = [type ?? []].flat()
  if (allowed) return allowed.includes(value) || allowed.includes(meantValue(value)) ? 0 : 2
  if (types.length === 0 || value === null) return 0
  if (isObject(value)) {
    if (!types.includes('object')) return 2
    return properties && !Object.keys(value).every((key) => key in properties) ? 1 : 0
  }
  if (!Array.isArray(value)) return types.some((one) => one !== 'object' && one !== 'array') ? 0 : 2
  if (!types.includes('array')) return 2
  return value.length > 0 && typeof items === 'object' ? misfit(value[0], items) : 0
}

/** The value that this word of other products means. */
export function meantValue(value: unknown): string | undefined {
  const words: Readonly<Record<string, string>> = WORDS.values
  const word = typeof value === 'string' ? value.toLowerCase() : ''
  return Object.hasOwn(words, word) ? words[word] : undefined
}

/** The replacement for a `type` of another format, by the key of the object that has it. */
export function foreignTypeHint(object: string, type: string): string | undefined {
  const hints: Readonly<Record<string, Readonly<Record<string, string>>>> = WORDS.types
  return hints[object]?.[plain(type)]
}

/** Advice for a key that its object does not know. */
export interface Advice extends Suggestion {
  hint?: string
  /** The known key of the same object. */
  means?: string | undefined
  /** Where the key belongs otherwise. */
  home?: Home
  /** The hint only lists the known keys. */
  isList?: boolean
}

/** The key that is most likely meant: one of the same object, or a place elsewhere. */
export function adviseOn(error: ErrorObject, path: Path, loaded: LoadedSchema): Advice {
  const key = error.params.additionalProperty as string
  const { properties = {} } = error.parentSchema as SchemaNode
  const given = error.data as Record<string, unknown>
  const value = given[key]
  const from = ownerOf(path, loaded)
  const word = plain(key)
  const synonym = Object.keys(SYNONYMS).find(
    (own) =>
      SYNONYMS[own]!.some((one) => plain(one) === word) &&
      properties[own] &&
      !(own in given) &&
      // An object is not meant as a list, nor a list of objects as one of names.
      (resolved(properties[own], loaded)?.type !== 'array' ||
        (Array.isArray(value) && misfit(value, resolved(properties[own], loaded)!) === 0)),
  )
  const same = synonym ?? Object.keys(properties).find((own) => plain(own) === word)
  if (same !== undefined) return { suggestion: same, fix: { was: key, now: same }, means: same }
  const known = HINTS.find(
    ({ keys, in: where }) =>
      keys.some((one) => plain(one) === word) &&
      (!where || (loaded.name === 'configuration' && where.includes(written(from)))),
  )
  if (known) return { hint: known.hint, means: known.means && known.means in given ? undefined : known.means }
  const near = suggest(key, Object.keys(properties))
  const own = near.suggestion === undefined ? undefined : resolved(properties[near.suggestion], loaded)
  const limit = own ? (near.fix ? 0.5 : 1.5) + misfit(value, own) : Number.POSITIVE_INFINITY
  const place = placeOf(word, from, value, loaded)
  if (
    place &&
    place.far < limit &&
    from.length === 0 &&
    'prefix' in given &&
    written(place.home.owner) === 'routers[]'
  )
    return {
      home: place.home,
      hint: `Write \`routers: [{server: …, prefix: …, ${place.home.key}: …}]\` instead of \`prefix\``,
    }
  if (place && place.far < limit)
    return { home: place.home, hint: directions([key], place.home, path, loaded) }
  if (near.suggestion !== undefined) return { ...near, means: near.suggestion }
  const hint = `Known keys: ${quoteAll(Object.keys(properties))}; keys of your own start with \`x-\``
  return { isList: true, hint }
}

const OTHER = { configuration: 'settings', settings: 'configuration', lint: undefined } as const

/** The nearest place that knows a word, in this kind of file or the other. */
function placeOf(word: string, from: readonly string[], value: unknown, loaded: LoadedSchema) {
  const other = OTHER[loaded.name]
  const elsewhere = other ? (homesOf(loadSchema(other)).get(word) ?? []) : []
  const candidates = [
    ...(homesOf(loaded).get(word) ?? []).map((home) => ({ home, far: distance(home, from, value) })),
    ...elsewhere.map((home) => ({ home, far: levels(from) + 1.5 + distance(home, [], value) })),
  ]
  return candidates.sort((a, b) => a.far - b.far)[0]
}

/** An instruction where keys of an object belong that share a home. */
export function directions(keys: readonly string[], home: Home, path: Path, loaded: LoadedSchema): string {
  const { owner, key } = home
  const from = ownerOf(path, loaded)
  const names = keys.map(quote).join(' and ')
  const move = (to: string) =>
    `Move ${names} ${to}${keys.length === 1 && keys[0] !== key ? `, and call it ${quote(key)}` : ''}`
  const write = (objects: readonly string[]) =>
    `Write ${quote(objects.reduceRight((inner, one) => `${one}: {${inner}}`, `${key}: …`))}`
  if (!homesOf(loaded).get(plain(key))?.includes(home)) {
    const inSettings = loaded.name === 'configuration'
    const file = inSettings ? 'the settings, `plantgw.yaml`' : 'a configuration, such as `configs/shop.yaml`'
    if (owner.length === 0) return move(`to ${file}`)
    const isNested = inSettings && owner.every((one) => one !== '[]')
    return isNested ? `${write(owner)} in ${file}` : move(`to ${noun(home, 'a')} in ${file}`)
  }
  const shared = ancestorOf(from, owner).length
  const down = owner.slice(shared)
  if (shared === from.length && down.every((one) => one !== '[]' && one !== '*'))
    return keys.length > 1 ? move(`into ${quote(down.at(-1)!)}`) : write(down)
  if (owner.length === 0)
    return move(`to the top of the file${key === 'prefix' ? ', or to a router where it has `routers`' : ''}`)
  if (down.length === 0) return move(`up to ${noun(home, 'the')}, beside ${quote(from[shared]!)}`)
  return move(`to ${noun(home, 'a')}${owner.at(-1) === '[]' ? `, below ${quote(owner.at(-2)!)}` : ''}`)
}

/** `a router`; `` `limits` of a server``; `` `storage` ``. */
function noun({ owner, object }: Home, article: 'a' | 'the'): string {
  const last = owner.at(-1)!
  if (last === '[]' || last === '*') return titled({ title: 'object', ...object }, article)
  const outer = OWNERS[written(owner.slice(0, -1))]
  return outer === undefined ? quote(last) : `${quote(last)} of ${outer}`
}

const OWNERS: Readonly<Record<string, string>> = {
  'routers[]': 'a router',
  'servers[]': 'a server',
  'mcpServers[]': 'an MCP server',
  'tools[]': 'a tool',
  'tenants[]': 'a tenant',
}
