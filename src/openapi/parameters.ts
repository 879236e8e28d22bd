import type { JsonObject } from '../json/index.ts'
import { mapOf, textOf, Unfit } from './open-document.ts'
import { toSchema, withExample } from './schema.ts'
import { access, inPlace, type Style, UNDEFINED, type Writable, writable } from './style.ts'
import { addPart, type Draft, type DraftArg, leaveOutMember } from './tool-draft.ts'
import { isFraming, isHeaderName, LENGTHS } from './tool-names.ts'

/** OpenAPI gives these other places. */
const IGNORED = new Set(['accept', 'content-type', 'authorization'])
const ORDER = ['query', 'header', 'path', 'cookie']
const NEUTRAL = /[\p{Cc}\p{Cs}]/u

/**
 * Adds the parameters of an operation. One that cannot be sent is left out, or ends it where it is required.
 * @throws Unfit
 */
export function addParameters(draft: Draft, parameters: readonly JsonObject[]): void {
  const place = (one: JsonObject) => ORDER.indexOf(String(one.in))
  for (const parameter of [...parameters].sort((a, b) => place(a) - place(b))) {
    const name = String(parameter.name)
    const needed = parameter.required === true || parameter.in === 'path'
    addPart(draft, `the ${String(parameter.in)} parameter ${name}`, needed, () => {
      if (NEUTRAL.test(name)) throw new Unfit('its name contains characters that cannot be sent')
      addParameter(draft, parameter, name, needed)
    })
  }
}

function addParameter(draft: Draft, parameter: JsonObject, name: string, required: boolean): void {
  const style = styleOf(parameter)
  const read = (either = false) => writable(toSchema(schemaOf(parameter), draft.schemas), style, either)
  const add = (what: Writable, use: string, position?: DraftArg['position']): DraftArg => {
    const said = textOf(parameter.description) ?? textOf(what.schema.description) ?? ''
    const description = withExample(said, what.schema.enum ? {} : parameter, LENGTHS.argument)
    const arg = draft.add(name, use, { position, required, schema: what.schema, description })
    for (const left of what.leftOut) leaveOutMember(draft, left, name)
    return arg
  }
  switch (parameter.in) {
    case 'query': {
      const what = read(true)
      draft.query.push({ arg: add(what, 'query', 'query'), name, what, style })
      return
    }
    case 'path': {
      const what = read()
      if (what.kind === 'array') what.schema = { minItems: 1, ...what.schema }
      draft.path.set(name, inPlace(add(what, 'path', 'path').name, name, what, style))
      return
    }
    case 'header': {
      if (!isSettable(draft, name)) return
      const what = read()
      const arg = add(what, 'header')
      if (what.kind === 'scalar' && arg.name === name) arg.position = 'header'
      else {
        const own = style.style.endsWith('Delimited') ? { ...style, style: 'simple' } : style
        draft.headers.set(name, inPlace(arg.name, name, what, own))
      }
      return
    }
    case 'cookie': {
      const what = read()
      if (what.kind === 'object' || (what.kind === 'array' && style.explode)) throw new Unfit(UNDEFINED)
      draft.cookies.push({ arg: add(what, 'cookie'), name, what, style })
      return
    }
    default:
      throw new Unfit(`a parameter in ${String(parameter.in)} is not supported`)
  }
}

/** Whether the header is to be an argument. @throws Unfit */
function isSettable(draft: Draft, name: string): boolean {
  const lower = name.toLowerCase()
  if (IGNORED.has(lower)) return false
  if (isFraming(lower)) {
    draft.leaveOut(`the header ${name}`, 'the gateway sets it')
    return false
  }
  if (!isHeaderName(name)) throw new Unfit('it is not a valid header name')
  // A credential goes there already.
  if ([...draft.headers.keys()].some((one) => one.toLowerCase() === lower)) return false
  if (lower === 'cookie') throw new Unfit('describe each cookie as a parameter of its own')
  return true
}

function styleOf({ in: place, style, explode, content }: JsonObject): Style {
  if (content !== undefined) return { style: 'json', explode: false }
  const own = textOf(style) ?? (place === 'query' || place === 'cookie' ? 'form' : 'simple')
  return { style: own, explode: typeof explode === 'boolean' ? explode : own === 'form' }
}

/** @throws Unfit for a content that is not JSON */
function schemaOf({ schema, content }: JsonObject): JsonObject {
  if (content === undefined) return mapOf(schema)
  const [type, media] = Object.entries(mapOf(content))[0] ?? ['nothing', {}]
  if (!/^(?:application\/json|[\w.-]+\/[\w.-]+\+json)\b/i.test(type))
    throw new Unfit(`the media type ${type} is not supported there`)
  return mapOf(mapOf(media).schema)
}

/** The `Cookie` header of arguments and credentials; undefined: none. */
export function cookieHeader(
  draft: Draft,
  credentials: readonly [name: string, key: string][],
): string | undefined {
  const encode = (value: string) => `{{replace "+" "%20" (urlquery ${value})}}`
  const piece = (given: string, name: string, value: string) =>
    `{{if ${given}}}{{$s}}${encodeURIComponent(name)}=${value}{{$s = "; "}}{{end}}`
  const pieces = credentials.map(([name, key]) => piece(`.Config.${key}`, name, encode(`.Config.${key}`)))
  for (const { arg, name, what } of draft.cookies) {
    const value = access(arg.name)
    const text =
      what.kind === 'array'
        ? `{{range $i, $v := ${value}}}{{if $i}},{{end}}${encode('$v')}{{end}}`
        : encode(what.kind === 'json' ? `(toJSON ${value})` : value)
    pieces.push(piece(`hasKey .Args "${arg.name}"`, name, text))
  }
  return pieces.length > 0 ? `{{$s := ""}}${pieces.join('')}` : undefined
}
