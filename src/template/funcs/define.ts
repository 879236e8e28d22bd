import { Fault } from '../errors.ts'
import type { Host } from '../types.ts'
import type { Plain } from '../values.ts'

/** Parameter types; `value` distinguishes nil and missing, `any` makes both nil. */
export type ParamType = 'any' | 'value' | 'string' | 'int' | 'float' | 'bool' | 'map' | 'list'

/** A function of the template language. */
export interface FunctionEntry {
  name: string
  /** Signature in the documentation, such as `trunc length text`. */
  usage: string
  /** One line. */
  doc: string
  params: readonly ParamType[]
  /** Type of any further arguments. */
  rest?: ParamType
  /** Form of the result, which then needs no escaping. */
  form?: 'json' | 'url' | 'html' | 'raw'
  /** @throws Fault */
  call(args: unknown[], host: Host): unknown
}

export interface FunctionGroup {
  title: string
  functions: readonly FunctionEntry[]
}

type Value<Type extends string> = {
  string: string
  int: bigint
  float: number
  bool: boolean
  map: Plain
  list: readonly unknown[]
}[Type extends 'string' | 'int' | 'float' | 'bool' | 'map' | 'list' ? Type : never]

type Typed<Type extends string> = Type extends 'any' | 'value' ? unknown : Value<Type>

type Param<Text extends string> = Text extends `${string}:${infer Type}...`
  ? Typed<Type>[]
  : Text extends `${string}:${infer Type}`
    ? [Typed<Type>]
    : Text extends `${string}...`
      ? string[]
      : [string]

/** Argument types of these parameters. */
type Arguments<Params extends string> = Params extends `${infer First} ${infer Rest}`
  ? [...Param<First>, ...Arguments<Rest>]
  : Params extends ''
    ? []
    : Param<Params>

/** The parameters of a signature. */
type ParamsOf<Signature extends string> = Signature extends `${string} ${infer Params}` ? Params : ''

/**
 * Creates the entries of a function and its aliases.
 * @param signature `name param:type …`, with `string` as default type; a last `param:type...` may repeat; aliases
 * follow the name: `name|alias`
 * @param doc one line
 */
export function define<Signature extends string>(
  signature: Signature,
  doc: string,
  call: (args: Arguments<ParamsOf<Signature>>, host: Host) => unknown,
  form?: FunctionEntry['form'],
): FunctionEntry[] {
  const [names = '', ...rest] = signature.split(' ')
  const params: ParamType[] = []
  const usage: string[] = []
  let variadic: ParamType | undefined
  for (const param of rest) {
    const [, label = '', type = 'string', repeats] = /^(\w+)(?::(\w+))?(\.{3})?$/.exec(param) ?? []
    usage.push(repeats ? `${label}…` : label)
    if (repeats) variadic = type as ParamType
    else params.push(type as ParamType)
  }
  return names.split('|').map((name, at, [first]) => ({
    name,
    usage: [name, ...usage].join(' '),
    doc: at === 0 ? doc : `The same as ${first}`,
    params,
    call: call as FunctionEntry['call'],
    ...(variadic && { rest: variadic }),
    ...(form && { form }),
  }))
}

/**
 * Sprig's function and its `must…` twin, which returns an error where the first panics: both fail the template here.
 */
export function twins<Params extends string>(
  name: string,
  params: Params,
  doc: string,
  call: (args: Arguments<Params>, host: Host) => unknown,
): FunctionEntry[] {
  const must = `must${name[0]!.toUpperCase()}${name.slice(1)}`
  return define(`${name}|${must} ${params}`, doc, call as never)
}

/** @throws Fault `limit` if a string or list would be too long */
export function checkLength(length: number, host: Host, what: 'string' | 'list' = 'string'): void {
  if (length > host.max) throw new Fault('limit', `a ${what} is longer than ${host.max}`)
}

const named = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Functions whose result may be a map that the template can change; all such maps come from these. */
export const MAP_MAKERS = named(
  'dict set unset pick omit merge mustMerge mergeOverwrite mustMergeOverwrite deepCopy mustDeepCopy split splitn ' +
    'urlParse semver',
)

/** Functions that change their first argument, if the template created it. */
export const MAP_CHANGERS = named('set unset merge mustMerge mergeOverwrite mustMergeOverwrite')

/** Functions whose result differs between calls. */
export const IMPURE = named(
  'now date dateInZone date_in_zone htmlDate htmlDateInZone ago durationRound uuidv4 unixEpoch randAlphaNum randAlpha ' +
    'randNumeric randInt',
)

/**
 * Cost in steps of about a microsecond, so that the step limit bounds time. Functions are charged before they run for
 * their texts and lists, and afterwards for their results.
 */

function byName(rows: [value: number, names: string][]): ReadonlyMap<string, number> {
  return new Map(rows.flatMap(([value, names]) => names.split(' ').map((name) => [name, value])))
}

/** UTF-16 units of text for one step, if a function does not examine characters. */
const QUICK = 256

/** The same for functions that do, by their speed. */
const UNITS = byName([
  [
    64,
    'len index slice mustSlice substr trunc b64enc b64dec sha1sum sha256sum sha512sum replace lt le gt ge trim indent ' +
      'nindent urlquery fromJSON fromJson mustFromJson',
  ],
  [32, 'quote trimAll trimall splitList nospace urlParse'],
  [
    16,
    'html initials abbrev abbrevboth wrap wrapWith b32dec base osBase dir osDir clean osClean ext osExt urlJoin safeGet ' +
      'safeGetOr atoi toDecimal date dateInZone date_in_zone htmlDateInZone dateModify date_modify mustDateModify ' +
      'must_date_modify duration durationRound ago unixEpoch semver semverCompare',
  ],
  [
    8,
    'title untitle swapcase snakecase kebabcase camelcase js split splitn b32enc adler32sum toDate mustToDate ' +
      'regexQuoteMeta',
  ],
])

/** Steps of one call of a function that is slow even for short texts. */
const STEPS = byName([
  [
    10,
    'now date dateInZone date_in_zone htmlDate htmlDateInZone dateModify date_modify mustDateModify ' +
      'must_date_modify toDate mustToDate unixEpoch ago',
  ],
  [
    4,
    'fromJSON fromJson mustFromJson sha1sum sha256sum sha512sum adler32sum urlParse urlJoin uuidv4 randAlphaNum ' +
      'randAlpha randNumeric semverCompare split splitn regexMatch mustRegexMatch regexFind mustRegexFind ' +
      'regexFindAll mustRegexFindAll regexReplaceAll mustRegexReplaceAll regexReplaceAllLiteral ' +
      'mustRegexReplaceAllLiteral regexSplit mustRegexSplit',
  ],
])

/** Steps of one call of this function, apart from those for texts and lists. */
export function stepsPerCall(name: string): number {
  return STEPS.get(name) ?? 1
}

/** UTF-16 units of text for one step in this function. */
export function unitsPerStep(name: string): number {
  return UNITS.get(name) ?? QUICK
}

/** Charges for the conversion of a value to text; text itself is free. @returns the text */
export function chargeText(value: unknown, text: string, host: Host): string {
  if (typeof value === 'object') host.charge(1 + (text.length >> 7))
  return text
}
