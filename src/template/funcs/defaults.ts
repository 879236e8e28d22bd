import { execFault } from '../errors.ts'
import { toJson } from '../fmt/json.ts'
import { kindOf, truth, typeName } from '../values.ts'
import { deepEqual, parseJson } from './convert.ts'
import { chargeText, define, type FunctionEntry } from './define.ts'

export const defaults: readonly FunctionEntry[] = [
  define(
    'default otherwise:any value:any...',
    'The value; the default if the value is empty',
    ([otherwise, value]) => (truth(value) ? value : otherwise),
  ),
  define(
    'empty value:any',
    'True for null, false, 0 and an empty string, array or object',
    ([value]) => !truth(value),
  ),
  define(
    'coalesce values:any...',
    'The first value that is not empty',
    (values) => values.find(truth) ?? null,
  ),
  define('all values:any...', 'True if no value is empty', (values) => values.every(truth)),
  define('any values:any...', 'True if a value is not empty', (values) => values.some(truth)),
  define('ternary yes:any no:any test:bool', 'yes if the test is true, else no', ([yes, no, test]) =>
    test ? yes : no,
  ),
  define('fail message', 'Fails with this message', ([message]) => {
    throw execFault(message)
  }),
  define('typeOf value:any', 'The name of its Go type', ([value]) => typeName(value)),
  define('typeIs type value:any', 'True if it has this Go type', ([type, value]) => type === typeName(value)),
  define('typeIsLike type value:any', 'The same, also for pointers', ([type, value]) =>
    [typeName(value), typeName(value).replace(/^\*/, '')].includes(type),
  ),
  define('kindOf value:any', 'The kind of its Go type, such as string, int, slice or map', ([value]) =>
    kindName(value),
  ),
  define('kindIs kind value:any', 'True if it has this kind', ([kind, value]) => kind === kindName(value)),
  define('deepEqual a:any b:any', 'True if both are equal in all their parts', ([a, b], host) =>
    deepEqual(a, b, host),
  ),
].flat()

const KINDS: Partial<Record<string, string>> = { float: 'float64', uint: 'uint8', complex: 'complex128' }

function kindName(value: unknown): string {
  const kind = kindOf(value)
  return KINDS[kind] ?? kind
}

/** @param html whether characters of HTML are escaped; undefined: as in Go only */
const writer = (name: string, doc: string, html: boolean | undefined, indented = false) =>
  define(
    `${name}|must${name[0]!.toUpperCase()}${name.slice(1)} value:any`,
    doc,
    ([value], host) => chargeText(value, toJson(value, html ?? host.go, indented), host),
    'json',
  )

/** @param otherwise for a string that is not JSON */
const reader = (name: string, doc: string, otherwise: () => unknown) =>
  define(`${name} text`, doc, ([text], host) => {
    try {
      return parseJson(text, host)
    } catch {
      return otherwise()
    }
  })

export const json: readonly FunctionEntry[] = [
  writer('toJson', 'The value as JSON', undefined),
  writer('toRawJson', 'The value as JSON, without escapes for HTML', false),
  writer('toPrettyJson', 'The value as indented JSON', undefined, true),
  reader('fromJson', 'The value of a string of JSON; null for other strings', () => null),
  reader('mustFromJson', 'The value of a string of JSON; an error for other strings', () => {
    throw execFault('the string is not JSON')
  }),
].flat()
