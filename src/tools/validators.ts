import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { boundedAjv, WorkError, withinWork } from '../config/json-schema/bounded.ts'
import { isObject, type Json, type JsonObject, toDoubles } from '../json/index.ts'
import { lazy } from '../text/index.ts'
import { CallError } from './failure.ts'

/**
 * Validates a value against a schema; returns the faults, empty if valid.
 * @throws CallError also if it would exceed MAX_WORK
 */
export type Validate = (value: Json) => ErrorObject[]
/** Compiles a JSON Schema (2020-12) on first use, as most tools are never called. */
export type CompileSchema = (schema: JsonObject, of: Checked) => Validate
/** The failure reported for an invalid value. */
type Checked = 'arguments' | 'output-schema'

/** Work limits: for validation, about 50 ms, then for finding all faults, or only the first. */
const MAX_WORK = 3_000_000
const TOO_LARGE: Record<Checked, string> = {
  arguments:
    'The arguments are too large to be checked against the schema of this tool. No request was sent; send fewer or shorter values in one call.',
  'output-schema':
    'The response of the upstream is too large to be checked against the outputSchema of this tool. Request less in one call.',
}
const UNLOCATED: Record<Checked, string> = {
  arguments:
    'The arguments do not match the schema of this tool, and are too large to find out where. No request was sent; send fewer or shorter values in one call.',
  'output-schema':
    'The response of the upstream does not match the outputSchema of this tool, and is too large to find out where.',
}

/**
 * The ajv instance of one server's tools, created at the first schema, so that a reload frees it with all its
 * validators. A valid value is checked once; an invalid one again to collect faults.
 */
export function schemaCompiler(): CompileSchema {
  const silent = lazy(() => boundedAjv({ ...OPTIONS, silent: true }))
  const first = lazy(() => boundedAjv({ ...OPTIONS, verbose: true }))
  const thorough = lazy(() => boundedAjv({ ...OPTIONS, verbose: true, allErrors: true }))
  return (schema, of) => {
    const fits = lazy(() => compile(silent(), schema))
    const findFirst = lazy(() => compile(first(), schema))
    const findAll = lazy(() => compile(thorough(), schema))
    return (value) => {
      const view = toDoubles(value)
      const fit = within(MAX_WORK, fits(), view)
      if (fit === undefined) throw new CallError(of, TOO_LARGE[of])
      if (fit) return []
      const few = countValues(view, 10_000) < 10_000
      const found =
        (few && within(500_000, findAll(), view) === false && findAll().errors) ||
        (within(2_500_000, findFirst(), view) === false && findFirst().errors)
      if (!found) throw new CallError(of, UNLOCATED[of])
      return found
    }
  }
}

/** Whether the value is valid; undefined if that exceeds the limits of work or depth. */
function within(steps: number, check: ValidateFunction, value: Json): boolean | undefined {
  try {
    return withinWork(steps, () => check(value))
  } catch (error) {
    if (error instanceof WorkError || error instanceof RangeError) return undefined
    throw error
  }
}

function compile(ajv: Ajv2020, schema: JsonObject): ValidateFunction {
  try {
    // ajv compares doubles.
    return ajv.compile(toDoubles(schema) as object)
  } catch {
    throw new CallError('internal', 'A schema of this tool cannot be used, so its calls cannot be checked.')
  }
}

const OPTIONS: Options = {
  strict: false,
  logger: false,
  // The schemas were checked when the configuration was read.
  validateSchema: false,
  // Two tools may use the same `$id`.
  addUsedSchema: false,
}

/** Number of values inside a value, including itself; stops counting at `bound`. Default: none. */
export function countValues(value: Json, bound = Number.POSITIVE_INFINITY): number {
  let count = 0
  const rest: Json[] = [value]
  while (rest.length > 0 && count < bound) {
    const next = rest.pop()!
    count++
    if (Array.isArray(next) || isObject(next)) for (const member of Object.values(next)) rest.push(member)
  }
  return count
}
