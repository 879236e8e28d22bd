import { percentEncode, percentTable } from '../../text/index.ts'
import { type ErrorSink, execFault, Fault } from '../errors.ts'
import type { Sink, State } from '../exec.ts'
import { wellFormed } from '../fmt/bytes.ts'
import { printDialect, printGo } from '../fmt/print.ts'
import type { Node, Tree } from '../node.ts'
import { type PlaceRules, plainRules } from './rules.ts'

/** Go's own printing, without escaping. */
export const goRules = plainRules(
  () => (_, value) => {
    if (value === undefined || value === null) return '<no value>'
    if (typeof value === 'function') throw execFault("can't print a function")
    return printGo(value)
  },
  ({ out }) => wellFormed(out),
)

const print: Sink = (_, value) => (typeof value === 'string' ? value : printDialect(value))

/** The dialect without escaping. */
export const textRules = plainRules(() => print)

/** A body for whose type no escaping is known: the author says by `raw` that a value from outside may stand there. */
export function verbatimRules(errors: ErrorSink): PlaceRules {
  return {
    ...textRules,
    value(at, { form, tainted }, span) {
      if (tainted && form !== 'raw') {
        const hint = 'send JSON, a form or XML, or write `raw` where any text may stand'
        errors.add('unescaped', span, 'values of callers are not escaped in a body of this media type', hint)
      }
      return { sink: print, end: at }
    },
  }
}

/** An `application/x-www-form-urlencoded` body: every value is a key or a value, or a part of one. */
export const formRules = plainRules(({ form }) =>
  form === 'url' || form === 'raw' ? print : (_, value) => encodeForm(printDialect(value)),
)

const SAFE_IN_FORM = /^[\w.*-]*$/
const FORM = percentTable(/[\w.*-]/)
FORM[0x20] = 0x2b

/** As the URL standard's urlencoded serializer does: spaces become `+`. */
function encodeForm(text: string): string {
  if (SAFE_IN_FORM.test(text)) return text
  return percentEncode(Buffer.from(text), FORM)
}

/** The value of one header: a value that is missing drops the header. */
export function headerRules(tree: Tree): PlaceRules {
  const frame = headerFrame(tree)
  const sink = headerSink((text) => text)
  return plainRules(
    () => sink,
    (state) => finishHeader(state, frame),
  )
}

/** A `Cookie` header: what comes from outside is one value, or a part of one; the caller's own header is several. */
export function cookieRules(tree: Tree): PlaceRules {
  const rules = headerRules(tree)
  const escaped = headerSink(encodeCookie)
  return {
    ...rules,
    value(at, flow, span) {
      const { tainted, form, path } = flow
      const isReady = !tainted || form === 'raw' || isCallersCookies(path)
      return isReady ? rules.value(at, flow, span) : { sink: escaped, end: at }
    },
  }
}

function headerSink(write: (text: string) => string): Sink {
  return (state, value) => {
    if (value === undefined || value === null) {
      state.dropped = true
      return ''
    }
    const text = write(printDialect(value))
    if (text !== '') state.printed = true
    else if (!state.printed) state.emptied = true
    return text
  }
}

function isCallersCookies(path: readonly string[] = []): boolean {
  return path.length === 3 && path.join('.').toLowerCase() === 'request.headers.cookie'
}

/** White space, C1 controls and what RFC 6265, 4.1.1 keeps out of a cookie's value; other controls are refused. */
const NO_COOKIE = /(?![\n\v\f\r])[\s\x80-\x9f",;\\]/g

/** The value of one cookie: percent-encoded where it would end, and byte for byte elsewhere. */
export function encodeCookie(text: string): string {
  return text.replace(NO_COOKIE, encodeURIComponent)
}

/** Control characters other than tab. */
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/

/**
 * The text around the values and blocks of a header, such as `Bearer `: alone it says nothing. Undefined for a
 * template that prints no value, whose text is all there is to say.
 */
function headerFrame({ root, definitions }: Tree): string | undefined {
  const prints = (nodes: readonly Node[]): boolean =>
    nodes.some((node) => {
      if (node.type === 'action') return node.pipe.declarations.length === 0
      if (node.type === 'if' || node.type === 'with' || node.type === 'range')
        return prints(node.list) || prints(node.elseList ?? [])
      return false
    })
  if (!prints(root) && ![...definitions.values()].some(prints)) return undefined
  return root.map((node) => (node.type === 'text' ? node.text : '')).join('')
}

/**
 * The finished header; undefined when it must not be sent: a value is missing, or nothing came out of its values
 * and blocks, so that only the frame is left, such as a lone `Bearer `.
 * @throws Fault `unsafe`
 */
function finishHeader(state: State, frame: string | undefined): string | undefined {
  if (!state.printed && !state.emptied && (state.out === '' || state.out === frame)) return undefined
  if (state.dropped || (state.emptied && !state.printed && state.out !== '')) return undefined
  if (CONTROL.test(state.out)) {
    const hint = 'a header value is a single line'
    throw new Fault('unsafe', 'the header would contain a control character', state.at, hint)
  }
  return state.out
}

/** A header or URL written as a YAML block ends in a line break, which is not part of it. */
export function trimEnds(root: Node[]): Node[] {
  const list = root.slice()
  const first = list[0]
  if (first?.type === 'text') list[0] = { ...first, text: first.text.replace(/^[ \t\r\n]+/, '') }
  const last = list[list.length - 1]
  if (last?.type === 'text') list[list.length - 1] = { ...last, text: withoutLineEnd(last.text) }
  return list
}

function withoutLineEnd(text: string): string {
  const trimmed = text.trimEnd()
  return /[\r\n]/.test(text.slice(trimmed.length)) ? trimmed : text
}
