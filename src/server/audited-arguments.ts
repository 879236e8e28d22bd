import { createHmac, randomBytes } from 'node:crypto'
import type { AuditSettings } from '../config/index.ts'
import { canonicalText } from '../json/canonical.ts'
import { type Json, type JsonObject, stringify } from '../json/index.ts'
import { masked } from '../json/masked.ts'
import { shorten } from '../text/index.ts'

/** What a line tells of the arguments of a call. */
export interface AuditedArguments {
  /** Names of the arguments: with `names`, and in place of values that are too large. */
  argumentNames?: string[]
  /** With `hash`: HMAC-SHA256 of the canonical JSON, in hexadecimal. */
  argumentsHash?: string
  /** With `full`: the values, secrets masked. */
  arguments?: Json
  /** Bytes of values that are too large. */
  argumentsSize?: number
}

/** Bytes of the values of a call that are written. */
const MAX_VALUES = 16 * 1024
const MAX_NAMES = 64
const MAX_NAME = 100

/** @returns gives what a line tells of arguments; undefined: nothing is told */
export function argumentsTeller({
  args,
  secret,
}: Pick<AuditSettings, 'args' | 'secret'>): ((given: JsonObject) => AuditedArguments) | undefined {
  if (args === 'none') return undefined
  if (args === 'names') return namesOf
  if (args === 'full') return valuesOf
  // Few values, such as the ids of customers, would be found by hashing all of them, were there no key.
  const key = secret ?? randomBytes(32)
  return (given) => ({
    argumentsHash: createHmac('sha256', key).update(canonicalText(given)).digest('hex'),
  })
}

function namesOf(given: JsonObject): AuditedArguments {
  const names = Object.keys(given).slice(0, MAX_NAMES)
  return { argumentNames: names.map((name) => shorten(name, MAX_NAME)) }
}

function valuesOf(given: JsonObject): AuditedArguments {
  const values = masked(given)
  const argumentsSize = Buffer.byteLength(stringify(values))
  return argumentsSize > MAX_VALUES ? { ...namesOf(given), argumentsSize } : { arguments: values }
}
