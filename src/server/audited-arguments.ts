import { createHmac, randomBytes } from 'node:crypto'
import type { AuditSettings } from '../config/index.ts'
import { canonicalText, type Json, type JsonObject, masked, stringify } from '../json/index.ts'
import { shorten } from '../text/index.ts'

/** A call's arguments in the audit log. */
export interface AuditedArguments {
  /** Names of the arguments: with `names`, and instead of oversized values. */
  argumentNames?: string[]
  /** With `hash`: HMAC-SHA256 of the canonical JSON, in hexadecimal. */
  argumentsHash?: string
  /** With `full`: the values, with secrets masked. */
  arguments?: Json
  /** Bytes of oversized values. */
  argumentsSize?: number
}

/** @returns a function from arguments to their part of a line; undefined: nothing is logged */
export function argumentsTeller({
  args,
  secret,
}: Pick<AuditSettings, 'args' | 'secret'>): ((given: JsonObject) => AuditedArguments) | undefined {
  if (args === 'none') return undefined
  if (args === 'names') return namesOf
  if (args === 'full') return valuesOf
  // Without a key, guessable values such as customer ids could be found by hashing candidates.
  const key = secret ?? randomBytes(32)
  return (given) => ({
    argumentsHash: createHmac('sha256', key).update(canonicalText(given)).digest('hex'),
  })
}

function namesOf(given: JsonObject): AuditedArguments {
  const names = Object.keys(given).slice(0, 64)
  return { argumentNames: names.map((name) => shorten(name, 100)) }
}

function valuesOf(given: JsonObject): AuditedArguments {
  const values = masked(given)
  const argumentsSize = Buffer.byteLength(stringify(values))
  return argumentsSize > 16 * 1024 ? { ...namesOf(given), argumentsSize } : { arguments: values }
}
