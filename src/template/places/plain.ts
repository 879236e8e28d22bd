import { percentEncode, percentTable } from '../../text/index.ts'
import { type ErrorSink, execFault, Fault } from '../errors.ts'
import type { Sink, State } from '../exec.ts'
import { wellFormed } from '../fmt/bytes.ts'
import { printDialect, printGo } from '../fmt/print.ts'
import { type Node, someNode, type Tree } from '../node.ts'
import { isMissing } from '../values.ts'
import { type PlaceRules, plainRules, print } from './rules.ts'

/** Go's own printing, without escaping. */
export const goRules = plainRules(
  () => (_, value) => {
    if (isMissing(value)) return '<no value>'
    if (typeof value === 'function') throw execFault("can't print a function")
    return printGo(value)
  },
  ({ out }) => wellFormed(out),
)

/** The dialect without escaping. */
export const textRules = plainRules(() => print)

/** A body of unknown type: untrusted values require `raw`. */
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

/** An `application/x-www-form-urlencoded` body: every value is part of a key or value. */
export const formRules = plainRules(({ form }) =>
  form === 'url' || form === 'raw' ? print : (_, value) => encodeForm(printDialect(value)),
)

const SAFE_IN_FORM = /^[\w.*-]*$/
const FORM = percentTable(/[\w.*-]/)
FORM[0x20] = 0x2b

/** As the URL standard's urlencoded serializer: spaces become `+`. */
function encodeForm(text: string): string {
  if (SAFE_IN_FORM.test(text)) return text
  return percentEncode(Buffer.from(text), FORM)
}

/** One header value: a missing value drops the header. */
export function headerRules(tree: Tree): PlaceRules {
  const frame = headerFrame(tree)
  const sink = headerSink((text) => text)
  return plainRules(
    () => sink,
    (state) => finishHeader(state, frame),
  )
}

/** A `Cookie` header: an untrusted value is part of one cookie value; the caller's own header may be several. */
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
    if (isMissing(value)) {
      state.dropped = true
      return ''
    }
    const text = write(printDialect(value))
    if (text !== '') state.printed = true
    else if (!state.printed) state.beganEmpty = true
    return text
  }
}

function isCallersCookies(path: readonly string[] = []): boolean {
  return path.length === 3 && path.join('.').toLowerCase() === 'request.headers.cookie'
}

/**
 * White space, C1 controls, and characters excluded from cookie values by RFC 6265, 4.1.1; other controls are refused.
 */
const NO_COOKIE = /(?![\n\v\f\r])[\s\x80-\x9f",;\\]/g

/** One cookie value: percent-encoded where it would end, otherwise unchanged. */
export function encodeCookie(text: string): string {
  return text.replace(NO_COOKIE, encodeURIComponent)
}

/** Control characters except tab. */
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/

/** The literal text of a header, such as `Bearer `, which is useless alone. Undefined for a constant header. */
function headerFrame({ root, definitions }: Tree): string | undefined {
  const prints = (nodes: readonly Node[]) =>
    someNode(nodes, (node) => node.type === 'action' && node.pipe.declarations.length === 0)
  if (!prints(root) && ![...definitions.values()].some(prints)) return undefined
  return root.map((node) => (node.type === 'text' ? node.text : '')).join('')
}

/**
 * The finished header; undefined if it must not be sent: a value is missing, or all values and blocks were empty, so
 * that only the frame is left, such as `Bearer `.
 * @throws Fault `unsafe`
 */
function finishHeader(state: State, frame: string | undefined): string | undefined {
  if (!state.printed && !state.beganEmpty && (state.out === '' || state.out === frame)) return undefined
  if (state.dropped || (state.beganEmpty && !state.printed && state.out !== '')) return undefined
  if (CONTROL.test(state.out)) {
    const hint = 'a header value is a single line'
    throw new Fault('unsafe', 'the header would contain a control character', state.at, hint)
  }
  return state.out
}

/** Removes the trailing line break of a YAML block. */
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
