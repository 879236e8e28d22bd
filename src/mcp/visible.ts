import { isObject, type Json, type JsonObject, setOwn, stringify } from '../json/index.ts'
import { shorten, withoutHidden } from '../text/index.ts'

/** Names and values that clients send back, which must stay identical to the server's. */
const EXACT: ReadonlySet<string> = new Set([
  'name',
  'uri',
  'uriTemplate',
  'enum',
  'const',
  'default',
  'pattern',
  'required',
  '$ref',
  'nextCursor',
])

/** The value without hidden characters in its strings; the same object if it has none. */
export function visible<T extends Json>(value: T): T {
  return seen(value) as T
}

/** A text of a server inside a message: on one line, without hidden characters, at most `longest` characters. */
export function visibleLine(text: string, longest: number): string {
  return shorten(visible(text.replace(/\s+/g, ' ').trim()), longest)
}

/** Like `visible`, as JSON text. */
export function visibleText(value: Json): string {
  const text = stringify(value)
  return isPlain(text) ? text : stringify(visible(value))
}

/** Whether a JSON text is printable ASCII without escapes for hidden characters. */
export function isPlain(text: string): boolean {
  return /^[\t\n\r\x20-\x7e]*$/.test(text) && !/\\[bfu]/.test(text)
}

function seen(value: Json): Json {
  if (typeof value === 'string') return withoutHidden(value)
  if (Array.isArray(value)) {
    const items = value.map(seen)
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  if (!isObject(value)) return value
  let changed: JsonObject | undefined
  for (const [key, member] of Object.entries(value)) {
    const clean = EXACT.has(key) && !isObject(member) ? member : seen(member)
    if (clean === member) continue
    changed ??= { ...value }
    setOwn(changed, key, clean)
  }
  return changed ?? value
}
