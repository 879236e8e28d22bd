import { isObject, type JsonObject } from '../json/index.ts'
import type { RpcError } from './protocol.ts'

/** `MissingRequiredClientCapabilityError`. */
const MISSING_CAPABILITY = -32021

/** Whether a client declared a capability, given as a path. */
export function declares(capabilities: JsonObject, [whole, part]: readonly string[]): boolean {
  const declared = capabilities[whole as string]
  if (!isObject(declared)) return false
  // An empty `elicitation` object means form mode (Elicitation, Capabilities).
  return part === undefined || isObject(declared[part]) || (part === 'form' && !Object.keys(declared).length)
}

/** The error for a client that lacks a capability. @param path of the capability */
export function missingCapability(
  path: readonly string[],
  message = `The server asks for the client capability ${path.join('.')}`,
): RpcError {
  const requiredCapabilities = path.reduceRight<JsonObject>((inner, key) => ({ [key]: inner }), {})
  return { code: MISSING_CAPABILITY, message, data: { requiredCapabilities } }
}
