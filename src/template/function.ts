/** What a parameter takes; `value` keeps nil and missing apart, `any` makes both nil. */
export type ParamType = 'any' | 'value' | 'string' | 'int' | 'float' | 'bool' | 'map' | 'list'

/** What a function may know of the rendering that calls it. */
export interface Host {
  /** Values print as in Go; else in the gateway's dialect. */
  readonly go: boolean
  /** Longest text in UTF-16 units, and largest list, that a function may make. */
  readonly max: number
  /** Counts work done, in steps. @throws Fault `limit` */
  charge(steps: number): void
  /** A missing value was about to be printed: an error in a URL, drops a header, nothing elsewhere. */
  missing(): void
}

/** A function of the template language. */
export interface FunctionEntry {
  name: string
  /** Shown in the documentation, such as `trunc length text`. */
  usage: string
  /** One line. */
  doc: string
  params: readonly ParamType[]
  /** Any number of these follow. */
  rest?: ParamType
  /** What the result is already, and need not be escaped for. */
  form?: 'json' | 'url' | 'raw'
  /** @throws Fault */
  call(args: unknown[], host: Host): unknown
}

export interface FunctionGroup {
  title: string
  functions: readonly FunctionEntry[]
}

/**
 * Makes a table's entry.
 * @param signature `name param:type …`; a last `param:type...` may repeat
 */
export function define(
  signature: string,
  doc: string,
  call: FunctionEntry['call'],
  form?: FunctionEntry['form'],
): FunctionEntry {
  const [name = '', ...rest] = signature.split(' ')
  const params: ParamType[] = []
  let variadic: ParamType | undefined
  const usage = [name]
  for (const param of rest) {
    const [label = '', type = 'any'] = param.split(':')
    if (type.endsWith('...')) {
      variadic = type.slice(0, -3) as ParamType
      usage.push(`${label}…`)
    } else {
      params.push(type as ParamType)
      usage.push(label)
    }
  }
  const entry: FunctionEntry = { name, usage: usage.join(' '), doc, params, call }
  if (variadic) entry.rest = variadic
  if (form) entry.form = form
  return entry
}

/** Functions whose result may be a map that the template can change later; every such map comes from one. */
export const MAP_MAKERS: ReadonlySet<string> = new Set(
  'dict set unset pick omit merge mustMerge mergeOverwrite mustMergeOverwrite deepCopy mustDeepCopy split splitn urlParse semver'.split(
    ' ',
  ),
)

/** Functions that change their first argument, where the template made it, with the others. */
export const MAP_CHANGERS: ReadonlySet<string> = new Set(
  'set unset merge mustMerge mergeOverwrite mustMergeOverwrite'.split(' '),
)

/** Functions whose result differs from call to call. */
export const IMPURE: ReadonlySet<string> = new Set(
  'now date dateInZone date_in_zone htmlDate htmlDateInZone ago durationRound uuidv4 unixEpoch randAlphaNum randAlpha randNumeric randInt'.split(
    ' ',
  ),
)
