import type { JsonObject } from '../json/index.ts'
import { mapOf, textOf, Unfit } from './document-values.ts'
import { toSchema } from './schema.ts'
import { access, inPlace, type Style, type Writable, writable } from './style.ts'
import type { Draft, DraftArg } from './tool-draft.ts'

/** OpenAPI gives these other places. */
const IGNORED = new Set(['accept', 'content-type', 'authorization'])
/** RFC 9110 §7.6.1 and §6.4.1: what frames the message; the gateway sets it. */
const FRAMING =
  /^(?:connection|content-length|expect|host|http2-settings|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
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
    const shown = `the ${String(parameter.in)} parameter ${name}`
    try {
      if (NEUTRAL.test(name)) throw new Unfit('its name contains characters that cannot be sent')
      addParameter(draft, parameter, name)
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      if (parameter.required === true || parameter.in === 'path')
        throw new Unfit(`${shown}: ${error.message}`)
      draft.leaveOut(shown, error.message)
    }
  }
}

function addParameter(draft: Draft, parameter: JsonObject, name: string): void {
  const style = styleOf(parameter)
  const required = parameter.required === true || parameter.in === 'path'
  const make = (what: Writable, use: string, position: DraftArg['position']): DraftArg => {
    const arg: DraftArg = {
      name: draft.nameFor(name, use),
      position,
      required,
      schema: what.schema,
      description: textOf(parameter.description) ?? '',
    }
    draft.args.push(arg)
    for (const left of what.leftOut)
      draft.leaveOut(`${left} of ${name}`, 'no OpenAPI style defines how to write it')
    return arg
  }
  const schema = () => toSchema(schemaOf(parameter), draft.schemas)
  switch (parameter.in) {
    case 'query': {
      const what = writable(schema(), style, true)
      draft.query.push({ arg: make(what, 'query', 'query'), name, what, style })
      return
    }
    case 'path': {
      const what = writable(schema(), style, false)
      if (what.kind === 'array') what.schema = { minItems: 1, ...what.schema }
      const arg = make(what, 'path', 'path')
      draft.path.set(name, inPlace(arg.name, name, what, style))
      return
    }
    case 'header':
      addHeader(draft, name, () => writable(schema(), style, false), style, make)
      return
    case 'cookie': {
      const what = writable(schema(), style, false)
      if (what.kind === 'object' || (what.kind === 'array' && style.explode))
        throw new Unfit('no OpenAPI style defines how to write such a value there')
      draft.cookies.push({ arg: make(what, 'cookie', undefined), name, what, style })
      return
    }
    default:
      throw new Unfit(`a parameter in ${String(parameter.in)} is not supported`)
  }
}

function addHeader(
  draft: Draft,
  name: string,
  read: () => Writable,
  style: Style,
  make: (what: Writable, use: string, position: DraftArg['position']) => DraftArg,
): void {
  const lower = name.toLowerCase()
  if (IGNORED.has(lower)) return
  if (FRAMING.test(lower)) {
    draft.leaveOut(`the header ${name}`, 'the gateway sets it')
    return
  }
  if (!HEADER.test(name)) throw new Unfit('it is not a valid header name')
  // A credential goes there already.
  if ([...draft.headers.keys()].some((one) => one.toLowerCase() === lower)) return
  if (lower === 'cookie') throw new Unfit('describe each cookie as a parameter of its own')
  const what = read()
  const arg = make(what, 'header', undefined)
  if (what.kind === 'scalar' && arg.name === name) arg.position = 'header'
  else
    draft.headers.set(
      name,
      inPlace(
        arg.name,
        name,
        what,
        style.style.endsWith('Delimited') ? { ...style, style: 'simple' } : style,
      ),
    )
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
  const pieces = credentials.map(
    ([name, key]) =>
      `{{if .Config.${key}}}{{$s}}${cookieName(name)}=${encode(`.Config.${key}`)}{{$s = "; "}}{{end}}`,
  )
  for (const { arg, name, what } of draft.cookies) {
    const value = access(arg.name)
    const text =
      what.kind === 'array'
        ? `{{range $i, $v := ${value}}}{{if $i}},{{end}}${encode('$v')}{{end}}`
        : encode(what.kind === 'json' ? `(toJSON ${value})` : value)
    pieces.push(`{{if hasKey .Args "${arg.name}"}}{{$s}}${cookieName(name)}=${text}{{$s = "; "}}{{end}}`)
  }
  return pieces.length > 0 ? `{{$s := ""}}${pieces.join('')}` : undefined
}

function cookieName(name: string): string {
  return encodeURIComponent(name)
}
