import type { ErrorObject, ValidateFunction } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { addFormats, makeAjv } from '../config/ajv.ts'
import { type Json, type JsonObject, toDoubles } from '../json/index.ts'
import { CallError } from './failure.ts'
import { hasExact } from './values.ts'
import { lazy } from './words.ts'

/** Holds a value against a schema: what is wrong with it, empty when nothing is. @throws CallError */
export type Validate = (value: Json) => ErrorObject[]
/** Compiles a JSON Schema (2020-12) at its first use: most tools of many configurations are never called. */
export type CompileSchema = (schema: JsonObject) => Validate

/** Values in a value up to which every fault is looked for; a fault takes more memory than the value did. */
const MAX_THOROUGH = 10_000

/**
 * The ajv of one server's tools, made at the first schema: a reload lets go of it, and of every validator that
 * it keeps, together with the old tools. A sound value is checked once; a faulty one again for all its faults.
 */
export function schemaCompiler(): CompileSchema {
  const quick = lazy(() => validator(false))
  const thorough = lazy(() => validator(true))
  return (schema) => {
    const check = lazy(() => compile(quick(), schema))
    const checkAll = lazy(() => compile(thorough(), schema))
    return (value) => {
      const view = hasExact(value) ? toDoubles(value) : value
      if (check()(view)) return []
      const { errors } = check()
      if (countValues(view, MAX_THOROUGH) >= MAX_THOROUGH) return errors ?? []
      checkAll()(view)
      return checkAll().errors ?? errors ?? []
    }
  }
}

function compile(ajv: Ajv2020, schema: JsonObject): ValidateFunction {
  try {
    // ajv compares with doubles.
    return ajv.compile(toDoubles(schema) as object)
  } catch {
    throw new CallError('internal', 'A schema of this tool cannot be used, so its calls cannot be checked.')
  }
}

function validator(allErrors: boolean): Ajv2020 {
  const ajv = makeAjv({
    allErrors,
    strict: false,
    verbose: true,
    logger: false,
    // The reader of configurations has checked them.
    validateSchema: false,
    // Two tools may use one `$id`.
    addUsedSchema: false,
  })
  addFormats(ajv)
  return ajv
}

/** How many values there are in a value, itself included; counts no further than `bound`. */
function countValues(value: Json, bound: number): number {
  let count = 0
  const rest: Json[] = [value]
  while (rest.length > 0 && count < bound) {
    const next = rest.pop()!
    count++
    if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) rest.push(member)
  }
  return count
}
