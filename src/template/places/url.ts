import { styled } from '../../text/index.ts'
import { type ErrorSink, Fault } from '../errors.ts'
import { missingFault, type Sink, type State } from '../exec.ts'
import type { Flow } from '../flow.ts'
import { withoutLone } from '../fmt/bytes.ts'
import { printDialect } from '../fmt/print.ts'
import type { Span } from '../node.ts'
import type { CompileOptions, PathArg, Reference, Slashes } from '../types.ts'
import { asMap, isMissing } from '../values.ts'
import { hasDotSegment, hasSlash } from './dot-segments.ts'
import type { Context, PlaceRules } from './rules.ts'

/**
 * The contexts of a URL, by the URL standard (which treats `\` as `/` and drops tabs and line breaks). `base`: after a
 * trusted value that may be an origin or more; `tail`: in the path, query or fragment.
 */
type UrlContext =
  | 'start'
  | 'scheme'
  | 'colon'
  | 'slash'
  | 'slashes'
  | 'authority'
  | 'base'
  | 'base/'
  | 'path'
  | 'query'
  | 'fragment'
  | 'tail'

/** Contexts that allow a caller's value. */
const ACCEPTS_UNTRUSTED = new Set<Context>(['slash', 'base/', 'path', 'query', 'fragment', 'tail'])

/** @param references of the template compiled so far */
export function urlRules(
  errors: ErrorSink,
  pathArgs: CompileOptions['pathArgs'],
  references: ReadonlyMap<string, Reference>,
): PlaceRules {
  return {
    start: 'start',
    text: (context, text) => advance(context as UrlContext, text),
    value(context, flow, span) {
      if (flow.constant !== undefined) {
        return { sink: trustedSink, end: advance(context as UrlContext, flow.constant) }
      }
      if (!flow.tainted) {
        return { sink: trustedSink, end: afterTrusted(context as UrlContext) }
      }
      if (!ACCEPTS_UNTRUSTED.has(context)) {
        const message = 'an untrusted value decides the scheme, host or port of the URL'
        const hint = 'write the origin and a / before it, or take it from .Config'
        errors.add('context', span, message, hint)
      }
      const end = context === 'slash' || context === 'base/' ? 'path' : context
      if (context === 'query' || context === 'fragment')
        return { sink: untrustedSink(flow, span, 'encode'), end }
      const slashes = pathArgs ? slashesOf(flow, span, pathArgs, references) : 'encode'
      return { sink: untrustedSink(flow, span, slashes, styleOf(flow, pathArgs)), end }
    },
    join,
    name: (context) => context,
    ends: () => {},
    output: finishUrl,
  }
}

function advance(from: UrlContext, text: string): UrlContext {
  let context = from
  for (const char of text) {
    if (char !== '\t' && char !== '\n' && char !== '\r')
      context = nextContext(context, char === '\\' ? '/' : char)
  }
  return context
}

function nextContext(context: UrlContext, char: string): UrlContext {
  if (context === 'fragment') return context
  if (char === '#') return 'fragment'
  if (context === 'query') return context
  if (char === '?') return 'query'
  const slash = char === '/'
  switch (context) {
    case 'start':
      return slash ? 'slash' : char === ' ' ? 'start' : 'scheme'
    case 'scheme':
      return slash ? 'path' : char === ':' ? 'colon' : 'scheme'
    case 'colon':
    case 'slashes':
      return slash ? 'slashes' : 'authority'
    case 'slash':
    case 'base/':
      return slash ? 'slashes' : 'path'
    case 'authority':
      return slash ? 'path' : 'authority'
    case 'base':
      return slash ? 'base/' : char === ':' ? 'colon' : 'base'
    default:
      return context
  }
}

function afterTrusted(context: UrlContext): UrlContext {
  switch (context) {
    case 'start':
    case 'scheme':
    case 'base':
      return 'base'
    case 'colon':
    case 'slashes':
    case 'authority':
      return 'authority'
    case 'slash':
    case 'base/':
      return 'path'
    default:
      return context
  }
}

/** The stricter of two contexts; values are checked again when rendered. */
function join(a: Context, b: Context): Context {
  const isEither = (...contexts: UrlContext[]) => contexts.some((one) => one === a || one === b)
  if (isEither('start', 'scheme', 'colon')) return 'scheme'
  if (isEither('slashes', 'authority')) return 'authority'
  return isEither('base') ? 'base' : 'tail'
}

const trustedSink: Sink = (_, value) => {
  if (isMissing(value)) throw missingFault()
  return printDialect(value)
}

/** How slashes in a value are handled; undefined: forbidden. The value's arguments decide. */
function slashesOf(
  { path }: Flow,
  { start, end }: Span,
  pathArgs: Readonly<Record<string, PathArg>>,
  references: ReadonlyMap<string, Reference>,
): Slashes | undefined {
  const pathsInside = () => {
    // `.Args` of `index .Args "id"` is a reference too.
    const all = [...references.values()].filter((one) => one.path.length > 1 && one.path[0] !== 'Config')
    const inside = all.filter((one) => start <= one.start && one.end <= end)
    return (inside.length > 0 ? inside : all).map((one) => one.path)
  }
  const paths = path ? [path] : pathsInside()
  const treatments = paths.map(([root, name = '']) => {
    if (root === 'Args') return Object.hasOwn(pathArgs, name) ? pathArgs[name]!.slashes : undefined
    return root === undefined || root === 'Request' ? undefined : 'encode'
  })
  if (treatments.length === 0 || treatments.includes(undefined)) return undefined
  return treatments.every((one) => one === 'keep') ? 'keep' : 'encode'
}

/** The style in which an argument is written that stands by itself. */
function styleOf({ path = [] }: Flow, pathArgs: CompileOptions['pathArgs'] = {}): Styled | undefined {
  const [root, name = '', ...rest] = path
  if (root !== 'Args' || rest.length > 0 || !Object.hasOwn(pathArgs, name)) return undefined
  const { style, explode, as = name } = pathArgs[name]!
  if (style === 'label' || style === 'matrix') return { name: as, style, explode }
  return style === undefined && explode === undefined ? undefined : { name: as, style: 'simple', explode }
}

interface Styled {
  name: string
  style: 'simple' | 'label' | 'matrix'
  explode: boolean | undefined
}

function untrustedSink({ form }: Flow, span: Span, slashes: Slashes | undefined, style?: Styled): Sink {
  return (state, value) => {
    if (isMissing(value)) throw missingFault()
    if (!state.originChecked) checkOrigin(state)
    const write = (one: unknown): string => {
      const text = printDialect(one)
      if (slashes === undefined && form !== 'raw' && hasSlash(text) && !/[?#]/.test(state.out))
        state.pathFault ??= new Fault('unsafe', SLASH, span, SLASH_HINT)
      if (form === 'url' || form === 'raw') return text
      return slashes === 'keep' ? text.split('/').map(encode).join('/') : encode(text)
    }
    const written = style ? styled(style.name, value, style, { write, membersOf: asMap }) : write(value)
    state.pathValues.push(state.out.length, state.out.length + written.length)
    state.pathValueSpans.push(span)
    return written
  }
}

const SLASH = 'a value in the path holds / or \\, directly or after decoding'
const SLASH_HINT = 'where an argument may hold them, write `slashes: encode` or `slashes: keep` into it'

const UNRESERVED = /^[\w.~-]*$/

/** Percent-encodes for a segment, key or value; a lone surrogate becomes U+FFFD. */
function encode(text: string): string {
  return UNRESERVED.test(text) ? text : encodeURIComponent(withoutLone(text))
}

/** A complete origin, or a relative reference without one. */
const ORIGIN_ENDS =
  /^[\x00-\x20]*(?![\x00-\x20])(?:[a-z][a-z\d+.-]*:[/\\]+[^/\\?#]+[/\\?#]|[/\\](?![/\\])|[^:/\\?#]*[?#]|[^:/\\?#]+[/\\])/i

/** Untrusted values must not become part of the origin, whatever trusted values contain. */
function checkOrigin(state: State): void {
  const before = state.out.replace(/[\t\n\r]/g, '')
  if (!ORIGIN_ENDS.test(before)) {
    const hint = 'end the origin with a / before the first argument'
    throw new Fault('unsafe', 'an untrusted value would become part of the origin', state.at, hint)
  }
  state.originChecked = true
}

/** Longer than servers accept, and bounds the time of checking. */
const LONGEST_PATH = 1024 * 1024

/**
 * The finished URL. Each path segment with an untrusted part is checked as a whole, including its literal text.
 * @throws Fault `unsafe` for a dot segment, also after repeated decoding, or a forbidden slash; `missing` for an empty
 * segment
 */
function finishUrl(state: State): string {
  const { out, pathValues, pathValueSpans } = state
  if (pathValues.length === 0) return out
  const pathEnd = endOfPath(out)
  if (pathEnd > LONGEST_PATH)
    throw new Fault(
      'limit',
      `the path of the URL is longer than ${LONGEST_PATH} characters`,
      pathValueSpans[0],
    )
  for (let at = 0; at < pathValues.length && pathValues[at]! <= pathEnd; ) {
    let from = pathValues[at]!
    while (from > 0 && !isSlash(out[from - 1]!)) from--
    const first = pathValueSpans[at / 2]!
    let last = first
    let to = from
    // Marks ascend: those in the same segment are checked together.
    do {
      last = pathValueSpans[at / 2]!
      to = Math.max(to, Math.min(pathValues[at + 1]!, pathEnd))
      while (to < pathEnd && !isSlash(out[to]!)) to++
      at += 2
    } while (at < pathValues.length && pathValues[at]! <= to)
    checkSegments(out.slice(from, to), {
      start: Math.min(first.start, last.start),
      end: Math.max(first.end, last.end),
    })
  }
  if (state.pathFault) throw state.pathFault
  return out
}

function endOfPath(url: string): number {
  const query = url.indexOf('?')
  const fragment = url.indexOf('#')
  if (fragment < 0) return query < 0 ? url.length : query
  return query < 0 ? fragment : Math.min(query, fragment)
}

/** @param segments one, or several with a raw value */
function checkSegments(segments: string, span: Span): void {
  if (hasDotSegment(segments)) {
    const hint = 'the argument must name a resource'
    const message = 'a path segment would be . or .., directly or after decoding'
    throw new Fault('unsafe', message, span, hint)
  }
  if (/^[\x00-\x20]*$/.test(segments)) {
    const hint = 'the argument must not be empty'
    throw new Fault('missing', 'a value that is a whole path segment is empty', span, hint)
  }
}

function isSlash(char: string): boolean {
  return char === '/' || char === '\\'
}
