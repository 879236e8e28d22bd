import { type ErrorSink, Fault } from '../errors.ts'
import type { Sink } from '../exec.ts'
import type { Flow } from '../flow.ts'
import { wellFormed } from '../fmt/bytes.ts'
import { printDialect } from '../fmt/print.ts'
import type { Span } from '../node.ts'
import { type Context, type PlaceRules, print, reportEnd } from './rules.ts'

/**
 * The contexts of an XML body. Values are allowed in `text` and attributes, `"` or `'`; within a reference these are
 * followed by `&`. `<…` is the beginning of markup of yet unknown kind.
 */
export function xmlRules(errors: ErrorSink): PlaceRules {
  const misplaced = (context: Context, span: Span) =>
    errors.add(
      'context',
      span,
      `a value of a caller stands ${nameOf(context)}, where XML has no escaping`,
      'write it into text or into an attribute with quotes, or use `raw`',
    )
  return {
    start: 'text',
    text: advance,
    value(context, flow, span) {
      if (flow.form === 'raw') return { sink: print, end: context }
      if (context === 'text' || context === '"' || context === "'")
        return { sink: escapedSink(context, flow, span), end: context }
      if (flow.tainted) misplaced(context, span)
      return { sink: print, end: flow.constant === undefined ? context : advance(context, flow.constant) }
    },
    join: () => undefined,
    name: nameOf,
    ends(context, root) {
      if (context !== 'text') reportEnd(errors, root, `the XML ends ${nameOf(context)}`, 'close it')
    },
    output: ({ out }) => out,
  }
}

function nameOf(context: Context): string {
  if (context.endsWith('&')) return 'in a reference'
  if (context === 'text') return 'in text'
  if (context === '"' || context === "'") return 'in an attribute'
  if (context.startsWith('<!--')) return 'in a comment'
  if (context.startsWith('<![')) return 'in a CDATA section'
  if (context.startsWith('<?')) return 'in a processing instruction'
  return context.startsWith('<!') ? 'in a declaration' : 'in a tag'
}

function advance(from: Context, text: string): Context {
  let context = from
  for (const char of text) context = nextContext(context, char)
  return context
}

/** Markup with an end longer than `>`; the part of the end seen so far is appended to its beginning. */
const SECTIONS = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

function nextContext(context: Context, char: string): Context {
  if (context.endsWith('&')) {
    const outer = context.slice(0, -1)
    return /[\w#.:-]/.test(char) ? context : char === ';' ? outer : nextContext(outer, char)
  }
  const inText = context === 'text'
  if (inText || context === '"' || context === "'") {
    if (char === '&') return `${context}&`
    if (inText) return char === '<' ? char : context
    return char === context ? 'tag' : context
  }
  if (context === 'tag') return char === '>' ? 'text' : char === '"' || char === "'" ? char : 'tag'
  for (const [start, end] of SECTIONS) {
    if (!context.startsWith(start)) continue
    let seen = context.slice(start.length) + char
    while (!end.startsWith(seen)) seen = seen.slice(1)
    return seen === end ? 'text' : start + seen
  }
  const begun = context + char
  if (SECTIONS.some(([start]) => start.startsWith(begun))) return begun
  if (context.startsWith('<!')) return declaration(context.startsWith('<!D') ? context : '<!D', char)
  return nextContext('tag', char)
}

/** Ends with `>`, or with a subset at `]` and `>`. */
function declaration(context: Context, char: string): Context {
  const inSubset = context.startsWith('<!D[')
  if (char === '>') return !inSubset || context === '<!D[]' ? 'text' : '<!D['
  if (!inSubset) return char === '[' ? '<!D[' : '<!D'
  if (char === ']' || (context === '<!D[]' && /\s/.test(char))) return '<!D[]'
  return '<!D['
}

/** XML 1.0 (2.2) cannot represent them. */
const NO_XML = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** Output of `html` is already escaped. */
function escapedSink(context: Context, { form }: Flow, span: Span): Sink {
  const special = context === 'text' ? /[&<>\r]/g : /[&<>"'\t\n\r]/g
  return (_, value) => {
    const text = wellFormed(printDialect(value))
    if (NO_XML.test(text)) {
      const hint = 'leave it out of the argument'
      throw new Fault('unsafe', 'the body would contain a character that XML does not have', span, hint)
    }
    return form === 'html' ? text : text.replace(special, (char) => ESCAPES[char]!)
  }
}
