import { isSecretName } from '../text/index.ts'
import type { Json, JsonObject } from './index.ts'
import { isObject, setOwn } from './values.ts'

const MASK = '***'

/** The value with `***` for members whose key is the name of a secret. Messages are not deeper than JSON may be. */
export function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked)
  if (!isObject(value)) return value
  const copy: JsonObject = {}
  for (const [name, member] of Object.entries(value))
    setOwn(copy, name, isSecretName(name) ? MASK : masked(member))
  return copy
}
