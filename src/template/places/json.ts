import { parse } from '../../json/index.ts'
import type { ErrorSink } from '../errors.ts'
import type { Sink } from '../exec.ts'
import type { Flow } from '../flow.ts'
import { hasLoneSurrogate } from '../fmt/bytes.ts'
import { toJson } from '../fmt/json.ts'
import { printDialect } from '../fmt/print.ts'
import type { Span } from '../node.ts'
import { type Context, type PlaceRules, print, reportEnd } from './rules.ts'

/**
 * JSON has two contexts: values, and inside strings. `escape` and `unicode` are inside a string within `\…` and `\u…`,
 * where values are not allowed.
 * @param inLines each line is a separate value, which no untrusted value may end
 */
export function jsonRules(source: string, errors: ErrorSink, inLines = false): PlaceRules {
  return {
    start: 'value',
    text: advance,
    value(context, flow, span) {
      if (context === 'string') return { sink: stringSink(flow), end: context }
      if (context === 'value') {
        const sink = valueSinkAt(source, span, flow)
        return { sink: inLines && flow.tainted && flow.form !== 'raw' ? onOneLine(sink) : sink, end: context }
      }
      const hint = String.raw`write \\ for a backslash`
      errors.add('context', span, 'a value follows a backslash inside a JSON string', hint)
      return { sink: stringSink(flow), end: 'string' }
    },
    join: () => undefined,
    name: (context) => (context === 'value' ? 'outside a JSON string' : 'inside a JSON string'),
    ends(context, root) {
      if (context !== 'value')
        reportEnd(errors, root, 'a JSON string is never closed', 'add the missing quote')
    },
    output: ({ out }) => out,
  }
}

/** Outside strings, JSON has line breaks only as white space. */
function onOneLine(sink: Sink): Sink {
  return (state, value) => sink(state, value).replace(/[\r\n]+/g, ' ')
}

/** Advances over literal text. `\u` counts its four digits down. */
function advance(from: Context, text: string): Context {
  let context = from
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (context === 'value') {
      const quote = text.indexOf('"', at)
      if (quote < 0) return context
      at = quote
      context = 'string'
    } else if (context === 'string') {
      if (char === '"') context = 'value'
      else if (char === '\\') context = 'escape'
    } else if (context === 'escape') context = char === 'u' ? 'unicode4' : 'string'
    else if (context.startsWith('unicode')) {
      const left = Number(context.slice(7)) - 1
      context = left === 0 || char === '"' ? 'string' : `unicode${left}`
      if (char === '"') context = 'value'
    }
  }
  return context
}

const NEEDS_ESCAPE = /[\x00-\x1f"\\\ud800-\udfff]/

/** Escapes text inside a JSON string; lone surrogates become escapes, so that the body is valid UTF-8. */
function escapeString(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text).slice(1, -1) : text
}

function stringSink({ form }: Flow): Sink {
  return form === 'raw' ? print : (_, value) => escapeString(printDialect(value))
}

/** A value followed by a colon is a key, and keys are strings (RFC 8259, 4). */
function isKey(source: string, { end }: Span): boolean {
  return /^[ \t\r\n]*:/.test(source.slice(end, end + 64))
}

function keySink({ form }: Flow): Sink {
  if (form === 'raw') return print
  return (_, value) => {
    if (typeof value === 'string' && form === 'json' && value.startsWith('"')) return value
    return JSON.stringify(typeof value === 'string' ? value : printDialect(value ?? null))
  }
}

/** `{{$comma}}`, empty first and then a comma, is not a value; only a value can follow a colon. */
function valueSinkAt(source: string, span: Span, flow: Flow): Sink {
  if (isKey(source, span)) return keySink(flow)
  if (flow.separator && !/:[ \t\r\n]*$/.test(source.slice(Math.max(0, span.start - 64), span.start)))
    return print
  return valueSink(flow)
}

function valueSink({ form, built, tainted }: Flow): Sink {
  if (form === 'raw') return (_, value) => printDialect(value ?? 'null')
  if (form === 'json') return (_, value) => (typeof value === 'string' ? value : asValue(value))
  if (built && tainted) {
    // Quotes added by a function do not contain an argument, so such a text is never used as JSON structure.
    return (_, value) =>
      typeof value === 'string' && /^[ \t\r\n]*[[{]/.test(value) ? JSON.stringify(value) : asValue(value)
  }
  return (_, value) => asValue(value)
}

function asValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return isJson(value) ? validUnicode(value) : JSON.stringify(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : JSON.stringify(printDialect(value))
    case 'bigint':
    case 'boolean':
      return String(value)
    default:
      return toJson(value, false)
  }
}

const JSON_START = /^[ \t\r\n]*(?:[[{"\d-]|true|false|null)/

/** Whether the text is exactly one JSON value within the parser's limits. */
function isJson(text: string): boolean {
  if (!JSON_START.test(text)) return false
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

/** Escapes lone surrogates, which JSON allows only inside strings. */
function validUnicode(json: string): string {
  if (!hasLoneSurrogate(json)) return json
  return json.replace(/\p{Surrogate}/gu, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
}
