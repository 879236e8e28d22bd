import { type JsonObject, stringify } from '../json/index.ts'
import { hasSlash } from '../template/index.ts'
import type { Place } from './fixed.ts'
import { mapOf, textOf, Unsupported } from './open-document.ts'
import { toSchema, withExample } from './schema.ts'
import {
  access,
  conditionText,
  inPlace,
  joined,
  print,
  sourceText,
  UNDEFINED,
  wireForm,
  writable,
} from './style.ts'
import {
  addPart,
  type Draft,
  type DraftArg,
  leaveOutMember,
  type Style,
  type Writable,
} from './tool-draft.ts'
import { isFraming, isHeaderName, LENGTHS } from './tool-names.ts'

/** OpenAPI describes these elsewhere. */
const IGNORED = new Set(['accept', 'content-type'])
const ORDER = ['query', 'header', 'path', 'cookie']
const NEUTRAL = /[\p{Cc}\p{Cs}]/u

/**
 * Adds an operation's parameters. An unsupported one is omitted, or makes the operation unsupported if required.
 * @throws Unsupported
 */
export function addParameters(draft: Draft, parameters: readonly JsonObject[]): void {
  const place = (one: JsonObject) => ORDER.indexOf(String(one.in))
  for (const parameter of [...parameters].sort((a, b) => place(a) - place(b))) {
    const name = String(parameter.name)
    const needed = parameter.required === true || parameter.in === 'path'
    addPart(draft, `the ${String(parameter.in)} parameter ${name}`, needed, () => {
      if (NEUTRAL.test(name)) throw new Unsupported('its name contains characters that cannot be sent')
      addParameter(draft, parameter, name, needed)
    })
  }
}

function addParameter(draft: Draft, parameter: JsonObject, name: string, required: boolean): void {
  const style = styleOf(parameter)
  const read = (either = false) => {
    const what = writable(toSchema(schemaOf(parameter), draft.schemas), style, either)
    if (what.kind === 'deep' && parameter.in !== 'query') throw new Unsupported(UNDEFINED)
    return what
  }
  const add = (what: Writable, place: Place, position?: DraftArg['position']) => {
    const said = textOf(parameter.description) ?? textOf(what.schema.description) ?? ''
    const description = withExample(said, what.schema.enum ? {} : parameter, LENGTHS.argument)
    const slashes = position === 'path' && showsSlash(parameter, what.schema) ? 'encode' : undefined
    const arg = draft.add(name, place, { position, required, slashes, schema: what.schema, description })
    if (typeof arg?.const === 'string' && position === 'path' && hasSlash(arg.const)) arg.slashes = 'encode'
    for (const left of arg ? what.leftOut : []) leaveOutMember(draft, left, name)
    return arg
  }
  switch (parameter.in) {
    case 'query': {
      const what = read(true)
      const arg = add(what, 'query', 'query')
      if (!arg) return
      arg.wire = wireForm(arg, name, what, style, 'query')
      draft.query.push({ arg, name, what, style })
      return
    }
    case 'path': {
      const what = read(true)
      if (what.kind === 'array' && !what.mixed) what.schema = { minItems: 1, ...what.schema }
      if (what.kind === 'object') what.schema = { minProperties: 1, ...what.schema }
      const arg = add(what, 'path', 'path')
      if (!arg) return
      arg.wire = wireForm(arg, name, what, style, 'path')
      draft.path.set(name, arg.wire ? print(access(arg.name)) : inPlace(arg, name, what, style, 'path'))
      return
    }
    case 'header':
      if (isSettable(draft, name))
        addHeader(draft, name, read(true), style, (what) => add(what, 'header', 'header'))
      return
    case 'cookie': {
      const what = read()
      if (what.kind === 'object' || (what.kind === 'array' && style.explode)) throw new Unsupported(UNDEFINED)
      const arg = add(what, 'cookie')
      if (arg) draft.cookies.push({ arg, name, what, style })
      return
    }
    default:
      throw new Unsupported(`a parameter in ${String(parameter.in)} is not supported`)
  }
}

/** Whether the description's own values for a parameter contain a slash. */
function showsSlash({ example, examples }: JsonObject, schema: JsonObject): boolean {
  const ofSchema = [schema.example, schema.examples, schema.enum, schema.const, schema.default]
  const given = [example, ...Object.values(mapOf(examples)).map((one) => mapOf(one).value), ...ofSchema]
  return given.some((one) => one !== undefined && hasSlash(stringify(one)))
}

function addHeader(
  draft: Draft,
  name: string,
  what: Writable,
  style: Style,
  add: (what: Writable) => DraftArg | undefined,
): void {
  const arg = add(what)
  if (!arg) return
  for (const known of draft.headers.keys())
    if (known.toLowerCase() === name.toLowerCase()) draft.headers.delete(known)
  arg.wire = wireForm(arg, name, what, style, 'header')
  if (arg.wire) return
  if (arg.const !== undefined) throw new Unsupported('a header of JSON cannot have a fixed value')
  arg.position = undefined
  const text = inPlace(arg, name, what, style, 'header')
  // The header is omitted without a value.
  const given = arg.fixed && conditionText(arg)
  draft.headers.set(name, given === undefined ? text : `{{with ${given}}}{{.}}{{end}}`)
}

/** Whether the header can be an argument. @throws Unsupported */
function isSettable(draft: Draft, name: string): boolean {
  const lower = name.toLowerCase()
  if (IGNORED.has(lower)) return false
  if (isFraming(lower)) {
    draft.leaveOut(`the header ${name}`, 'the gateway sets it')
    return false
  }
  if (!isHeaderName(name)) throw new Unsupported('it is not a valid header name')
  if (lower === 'cookie') throw new Unsupported('describe each cookie as a parameter of its own')
  return true
}

function styleOf({ in: place, style, explode, content }: JsonObject): Style {
  if (content !== undefined) return { style: 'json', explode: false }
  const own = textOf(style) ?? (place === 'query' || place === 'cookie' ? 'form' : 'simple')
  return { style: own, explode: typeof explode === 'boolean' ? explode : own === 'form' }
}

/** @throws Unsupported for content other than JSON */
function schemaOf({ schema, content }: JsonObject): JsonObject {
  if (content === undefined) return mapOf(schema)
  const [type, media] = Object.entries(mapOf(content))[0] ?? ['nothing', {}]
  if (!/^(?:application\/json|[\w.-]+\/[\w.-]+\+json)\b/i.test(type))
    throw new Unsupported(`the media type ${type} is not supported there`)
  return mapOf(mapOf(media).schema)
}

/** The `Cookie` header of arguments and credentials; undefined: none. */
export function cookieHeader({ cookies }: Draft): string | undefined {
  const pairs = cookies.map(({ arg, name, what }) => {
    const value = sourceText(arg)
    // Templates escape arguments in cookies, but not values of `.Config`.
    const write = arg.fixed ? (one: string) => `{{replace "+" "%20" (urlquery ${one})}}` : print
    const text =
      what.kind === 'array'
        ? joined(value, ',', write)
        : write(what.kind === 'json' ? `(toJSON ${value})` : value)
    return { text: `${encodeURIComponent(name)}=${text}`, given: conditionText(arg) }
  })
  const always = pairs.filter(({ given }) => given === undefined).map(({ text }) => text)
  const others = pairs.filter(({ given }) => given !== undefined)
  const [only] = others
  if (always.length === 0 && others.length === 1) return `{{if ${only!.given}}}${only!.text}{{end}}`
  if (always.length === 0 && others.length > 1)
    return `{{$s := ""}}${others.map(({ given, text }) => `{{if ${given}}}{{$s}}${text}{{$s = "; "}}{{end}}`).join('')}`
  const more = others.map(({ given, text }) => `{{if ${given}}}; ${text}{{end}}`)
  return pairs.length > 0 ? always.join('; ') + more.join('') : undefined
}
