import { isSecretName } from '../text/index.ts'
import type { Json } from './index.ts'
import { isObject, mapMembers } from './values.ts'

const MASK = '***'

/** The value with `***` for members whose key is the name of a secret. Messages are not deeper than JSON may be. */
export function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked)
  if (!isObject(value)) return value
  return mapMembers(value, (member, name) => (isSecretName(name) ? MASK : masked(member)))
}
