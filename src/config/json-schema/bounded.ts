import type { CodeKeywordDefinition, ErrorObject, FuncKeywordDefinition, KeywordCxt, Options } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { ExactNumber, exactItems, type Json } from '../../json/index.ts'
import { compilePattern } from '../../template/index.ts'
import { addFormats, codegen, makeAjv } from './ajv.ts'

/** The work that the current validation may do, in steps of about 10 ns, and the keys that it has made. */
interface Budget {
  left: number
  keys?: Keys
}

/** Undefined outside of `withinWork`: work is unlimited. */
let budget: Budget | undefined

/** Thrown where a value would take too long to check. */
export class WorkError extends Error {}

/**
 * Runs code that counts its work by `spend`, such as a validator of `boundedAjv`.
 * @throws WorkError if it does more than `steps`
 */
export function withinWork<T>(steps: number, run: () => T): T {
  const outer = budget
  budget = { left: steps }
  try {
    return run()
  } finally {
    budget = outer
  }
}

/** @throws WorkError when nothing is left */
function spend(steps: number): void {
  if (!budget) return
  budget.left -= steps
  if (budget.left < 0) throw new WorkError('too much work')
}

/**
 * ajv for schemas that others wrote and values that others sent: patterns run in linear time, `uniqueItems` and
 * `enum` look values up, formats bound their texts, and validators count their work (`withinWork`). `compile` throws
 * for a pattern that no linear engine can run.
 * @param options those of ajv; `silent` for validators that only tell whether a value is valid, and create no errors
 */
export function boundedAjv({ silent = false, ...options }: Options & { silent?: boolean }): Ajv2020 {
  const ajv = makeAjv({ ...options, code: { ...options.code, regExp: linear } })
  addFormats(ajv)
  for (const definition of [uniqueItems, enumeration]) {
    ajv.removeKeyword(definition.keyword as string)
    ajv.addKeyword(definition)
  }
  countWork(ajv, silent)
  return ajv
}

/** ajv writes `code` into validators that are kept as text; there are none of these. */
const linear = Object.assign(
  (source: string) => {
    const pattern = compilePattern(source)
    if ('error' in pattern) throw new Error(`the pattern cannot be run: ${pattern.error}`)
    const test = (text: string) => {
      // Starting costs as much as some characters.
      spend(16)
      return pattern.test(text, spend)
    }
    return { test, toString: () => `/${source}/u` }
  },
  { code: 'linear' },
)

interface Validating {
  (data: Json): boolean
  errors?: Partial<ErrorObject>[]
}

function keys(): Keys {
  if (!budget) return new Keys()
  budget.keys ??= new Keys()
  return budget.keys
}

const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: true,
  compile(wanted: boolean) {
    const validate: Validating = (data) => {
      const twins = wanted ? twinsOf(data as Json[]) : undefined
      if (!twins) return true
      const [j, i] = twins
      const message = `must NOT have duplicate items (items ## ${j} and ${i} are identical)`
      validate.errors = [{ keyword: 'uniqueItems', params: { i, j }, message }]
      return false
    }
    return validate as never
  },
}

/** The indexes of the first repeated item, and of the earlier one that it equals. */
function twinsOf(list: Json[]): [number, number] | undefined {
  // Numbers are compared exactly.
  const items = exactItems(list)
  if (items.length < 2) return undefined
  spend(items.length << 4)
  const seen = new Map<unknown, number>()
  const known = keys()
  for (let at = 0; at < items.length; at++) {
    const item = items[at]!
    if (typeof item === 'string') spend(item.length >> 3)
    const key = known.of(item)
    const twin = seen.get(key)
    if (twin !== undefined) return [twin, at]
    seen.set(key, at)
  }
  return undefined
}

const enumeration: FuncKeywordDefinition = {
  keyword: 'enum',
  schemaType: 'array',
  errors: true,
  compile(allowed: Json[]) {
    if (allowed.length === 0) throw new Error('enum must have non-empty array')
    const scalars = new Set(allowed.filter((value) => !isComposite(value)))
    const composites = allowed.filter(isComposite)
    const error = { keyword: 'enum', params: { allowedValues: allowed }, message: EQUAL_ONE }
    const validate: Validating = (data) => {
      if (isComposite(data) ? isOneOf(data, composites) : scalars.has(data)) return true
      validate.errors = [error]
      return false
    }
    return validate as never
  },
}
const EQUAL_ONE = 'must be equal to one of the allowed values'

function isOneOf(data: Json, composites: readonly Json[]): boolean {
  if (composites.length === 0) return false
  spend(composites.length << 2)
  const known = keys()
  const key = known.of(data)
  return composites.some((one) => known.of(one) === key)
}

function isComposite(value: Json): boolean {
  return typeof value === 'object' && value !== null
}

const COUNTED = 'plantgw:work'

/** Makes every schema count the cost of validating a value, also through references. */
function countWork(ajv: Ajv2020, silent: boolean): void {
  const definition: CodeKeywordDefinition = {
    keyword: COUNTED,
    before: '$ref',
    code: (context) => countVisit(context, silent),
  }
  ajv.addKeyword(definition)
  // The counter must run wherever one of these keywords is used. A type alone costs almost nothing.
  const { all } = ajv.RULES
  Object.assign(ajv.getKeyword(COUNTED), {
    implements: Object.keys(all).filter((keyword) => keyword !== COUNTED && keyword !== 'type'),
  })
}

function countVisit({ gen, data, it }: KeywordCxt, silent: boolean): void {
  // Continues with the schemas inside.
  if (silent) Object.assign(it, { createErrors: false })
  const { _ } = codegen()
  const count = gen.scopeValue('func', { ref: spend })
  const schema = it.schema as { [keyword: string]: unknown }
  // A mismatch within an alternative creates a plain object, otherwise an error.
  const factor = silent ? (it.compositeRule ? 4 : 1) : COST_OF_ERRORS
  gen.code(_`${count}(${costOf(schema) * factor})`)
  if (LENGTHS.some((keyword) => schema[keyword] !== undefined))
    gen.if(_`typeof ${data} == "string"`, () => gen.code(_`${count}(${data}.length >> 3)`))
}

const LENGTHS = ['minLength', 'maxLength', 'format']
/** Cost of creating an error, relative to validating a value. */
const COST_OF_ERRORS = 20
/** Keywords whose entries are all visited for each value. */
const LISTS = [
  'required',
  'properties',
  'patternProperties',
  'dependentRequired',
  'dependentSchemas',
  'prefixItems',
]
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf', 'contains']

/** Steps for one value, without those of the schemas inside. */
function costOf(schema: { [keyword: string]: unknown }): number {
  let steps = 2
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'enum') steps += 8
    else if (ALTERNATIVES.includes(keyword)) steps += 4 * sizeOf(value)
    else if (keyword === 'const') steps += 1 + (JSON.stringify(value)?.length >> 3)
    else if (LISTS.includes(keyword)) steps += sizeOf(value)
  }
  return steps
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 1
}

/**
 * Makes keys that are the same exactly for values that JSON Schema considers equal (2020-12 core, 4.2.2): numbers by
 * their mathematical value, objects in any order of their members. Takes time linear in all values.
 */
class Keys {
  readonly #made = new Map<string, Key>()
  readonly #known = new WeakMap<object, Key>()

  /** A scalar is its own key. */
  of(value: Json): Scalar | Key {
    if (typeof value === 'bigint') return this.#number(value.toString())
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof ExactNumber) return this.#number(value.text)
    let key = this.#known.get(value)
    if (!key) {
      key = this.#key(Array.isArray(value) ? this.#list(value) : this.#map(value))
      this.#known.set(value, key)
    }
    return key
  }

  #list(items: Json[]): string {
    spend(24 + (items.length << 2))
    return `[${items.map((item) => this.#part(item)).join()}]`
  }

  #map(members: { [name: string]: Json }): string {
    const names = Object.keys(members)
    spend(32 + (names.length << 3))
    if (names.length > 1) names.sort()
    return `{${names.map((name) => `${JSON.stringify(name)}:${this.#part(members[name]!)}`).join()}}`
  }

  /** A part in the key of its holder: an array or object as its number, so that no key is longer than its value. */
  #part(value: Json): string {
    const key = this.of(value)
    if (key instanceof Key) return `#${key.number}`
    if (typeof key !== 'string') return String(key)
    spend(key.length >> 2)
    return JSON.stringify(key)
  }

  #number(text: string): number | Key {
    spend(100 + text.length)
    const decimal = normalized(text)
    const double = Number(text)
    return Number.isFinite(double) && normalized(String(double)) === decimal ? double : this.#key(decimal)
  }

  #key(text: string): Key {
    let key = this.#made.get(text)
    if (!key) {
      key = new Key(this.#made.size)
      this.#made.set(text, key)
    }
    return key
  }
}

type Scalar = null | boolean | number | string
class Key {
  constructor(readonly number: number) {}
}

/** A JSON number as `-digits`e`exponent`, without zeros at either end: the same text for the same number. */
function normalized(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = whole + fraction
  let start = 0
  while (digits[start] === '0') start++
  let end = digits.length
  while (end > start && digits[end - 1] === '0') end--
  if (start === end) return '0e0'
  const power = Number(exponent) + digits.length - end - fraction.length
  return `${mantissa.startsWith('-') ? '-' : ''}${digits.slice(start, end)}e${power}`
}
