import type { Env, Server } from '../../config/index.ts'
import { isWithheld, withheld } from '../../config/tenant-env.ts'
import type { Finding } from '../../findings/index.ts'
import {
  type Memo,
  type Node,
  type Place,
  placeOf,
  type Span,
  someNode,
  type TemplateError,
  type Tree,
} from '../../template/index.ts'
import { capital } from '../../text/index.ts'
import { jsonFault } from '../json-fault.ts'
import type { Subject } from '../subjects.ts'
import { checkRef } from './known-names.ts'
import { checkCommands, checkLiteralText, checkValue } from './node-checks.ts'
import { recover } from './recover.ts'
import { checkAnswer, checkRendering } from './render.ts'
import { checkUnparsable, nearestKeyword, reportSyntax } from './unparsable.ts'
import { type Ref, type TemplateReporter, walk } from './walk.ts'

/** Phases of templates that are rendered with sample arguments. */
const RENDERED: ReadonlySet<Subject['phase']> = new Set(['request', 'shared', 'prompt'])

/** Whether something is already reported at a position, except findings of some codes. */
type IsReported = (span: Span, ...except: Finding['code'][]) => boolean

export interface Context {
  env: Env
  memo: Memo
  config: (server: Server) => Record<string, string>
}

/**
 * Checks one template completely: syntax, names, values of a body, and its rendering.
 * @returns all its references below the root
 */
export function checkTemplate(subject: Subject, context: Context, report: TemplateReporter): Ref[] {
  const { source, place } = subject
  const { memo } = context
  if (!source.includes('{{')) {
    const { tree } = memo.parse(source)
    if (checkUrlText(subject, report)) return []
    checkLiteralText(tree, subject, [], report)
    if (placeOf(place, tree) === 'json') checkLiteral(source, report)
    return []
  }
  const reported: (Span & { code: Finding['code'] })[] = []
  const isFull = () => reported.length >= 100
  const isReported = ({ start, end }: Span) => reported.some((one) => one.start === start && one.end === end)
  const reportOnce: TemplateReporter = (one) => {
    const { code, at } = one
    if (isFull() || (isReported(at) && code !== 'template-raw')) return
    reported.push({ code, start: at.start, end: at.end })
    report(one)
  }
  const isReportedNear: IsReported = ({ start, end }, ...except) =>
    reported.some(
      (one) => !except.includes(one.code) && one.start < Math.max(end, start + 1) && start < one.end,
    )

  const isUrlWrong = checkUrlText(subject, reportOnce)
  const { source: parsable, tree, unparsable, unclosed } = recover(source, memo)
  const refs = unparsable.flatMap((action) => checkUnparsable(action, subject, reportOnce))
  for (const ref of refs) if (ref.spans.length > 0 && !isFull()) checkRef(ref, subject, reportOnce)
  // `{{endif}}` and `{{ennd}}` are already reported.
  const closers = unparsable.filter(({ start, end }) => isCloser(source.slice(start, end))).length
  for (const { start, end } of unclosed.slice(closers)) {
    const word = /^\{\{-?\s*(\w+)/.exec(source.slice(start, end))?.[1] ?? 'block'
    reportOnce({
      code: 'template-block',
      at: { start, end },
      message: `this \`{{${word}}}\` is never closed`,
      hint: 'Add `{{end}}` where it ends',
    })
  }
  checkCommands(tree, parsable, subject.args, reportOnce)
  const found = placeOf(place, tree)
  const json = found === 'json' || found === 'json-lines'
  const raws: Span[] = []
  walk(tree, json, {
    ref(ref) {
      refs.push(ref)
      // A suggestion takes long to find.
      if (!isFull()) checkRef(ref, subject, reportOnce)
    },
    print: (print) => {
      if (json) checkValue(print, subject.args, reportOnce)
    },
    call: (name, span) => {
      if (name === 'raw') raws.push(span)
      if (name === 'raw' && !isAuthors(found, tree)) checkRaw(found, span, reportOnce)
    },
  })
  checkLiteralText(tree, subject, refs, reportOnce)
  const trusted = ['Config']
  const { pathArgs } = subject.args
  const options = { place, env: context.env, roots: subject.roots, trusted, pathArgs } as const
  const { template, errors } = memo.compile(parsable, options)
  // `raw` is allowed elsewhere, but not in the host.
  if (place === 'url' && raws.length > 0)
    for (const error of memo.compile(withoutCalls(parsable, raws), options).errors)
      if (error.kind === 'context') reportCompile(error, subject, isReportedNear, reportOnce, context.env)
  for (const error of errors)
    if (!inside(error, unparsable)) reportCompile(error, subject, isReportedNear, reportOnce, context.env)
  if (!template || isUrlWrong || unparsable.length + unclosed.length > 0) return refs
  const rendering = { subject, template, tree, refs, ...context }
  if (RENDERED.has(subject.phase))
    checkRendering({ ...rendering, json: place === 'json' }, isReportedNear, reportOnce)
  else if (subject.phase === 'response' && json)
    checkAnswer({ ...rendering, json }, isReportedNear, reportOnce)
  return refs
}

/** The text of the same length without calls of one-argument functions. */
function withoutCalls(source: string, calls: readonly Span[]): string {
  let text = source
  for (const { start, end } of calls) {
    const before = text.slice(0, start).replace(/\|\s*$/, (pipe) => ' '.repeat(pipe.length))
    text = before + ' '.repeat(end - start) + text.slice(end)
  }
  return text
}

function isCloser(action: string): boolean {
  const word = /^\{\{-?\s*(\/|\w+)/.exec(action)?.[1] ?? ''
  return word === '/' || word.startsWith('end') || nearestKeyword(word, action) === 'end'
}

function inside({ start }: Span, unparsable: readonly Span[]): boolean {
  return unparsable.some((action) => action.start <= start && start < action.end)
}

/** Whether `raw` is harmless: nothing is escaped here, or the whole body is one document. */
function isAuthors(place: Place, { root }: Tree): boolean {
  if (place === 'text' || place === 'verbatim') return true
  const isText = (node: Node) => node.type === 'text' && node.text.trim() !== ''
  return (place === 'xml' || place === 'json-lines') && !someNode(root, isText)
}

function checkRaw(place: Place, at: Span, report: TemplateReporter) {
  const where =
    {
      json: 'the JSON',
      'json-lines': 'the JSON',
      xml: 'the XML',
      url: 'the URL',
      form: 'the form',
      header: 'the header',
    }[place as string] ?? 'the text'
  report({
    code: 'template-raw',
    at,
    message: `\`raw\` writes the value without escaping: it can break ${where}`,
    hint: 'Remove `raw`',
  })
}

function reportCompile(
  error: TemplateError,
  { place }: Subject,
  isReported: IsReported,
  report: TemplateReporter,
  env: Env,
) {
  const { kind, message } = error
  const at = { start: error.start, end: error.end }
  const hint = error.hint && capital(error.hint)
  if (kind === 'env' && error.variable !== undefined && isWithheld(env, error.variable))
    report({ at, ...withheld(error.variable) })
  else if (kind === 'env') report({ code: 'env-unset', at, message, hint })
  else if (kind === 'context' && place === 'url') {
    // An undeclared argument is a separate mistake; a misspelt `.Config` is the only one.
    if (!isReported(error, 'template-argument', 'template-raw'))
      report({
        code: 'template-host',
        at,
        message: 'an untrusted value decides the scheme, host or port of the URL',
        hint: 'Write the host into the endpoint or into `config`, with a `/` before the argument',
      })
  } else if (isReported(error)) return
  else if (kind === 'context') report({ code: 'template-context', at, message, hint })
  else if (kind === 'unescaped') report({ code: 'template-unescaped', at, message, hint })
  else reportSyntax(error, report)
}

/** A body without actions. */
function checkLiteral(source: string, report: TemplateReporter) {
  if (source.trim() === '') return
  const fault = jsonFault(source)
  if (!fault) return
  const start = Math.min(fault.offset, source.length - 1)
  report({
    code: 'template-body',
    at: { start, end: start + 1 },
    message: `the body is not JSON: ${fault.message}`,
    hint: fault.hint,
  })
}

const QUOTES = `"'\`“”„‟‘’«»`
/** The beginnings of URLs of HTTP APIs and MCP servers; they may be variables of the environment. */
const START = /^(?:https?:\/\/|\/|\{\{|\$\{)/i
/** A host name, or `localhost`, with or without a port. */
const HOST = /^(?:[\w-]+(?:\.[\w-]+)+|localhost|\[[\da-f:]+\])(?::\d+)?(?=[/?#{]|$)/i

interface Rule {
  pattern: RegExp
  message: string
  hint: string
  severity?: 'warning'
}

/** The first that matches is reported; the place is its group, or else its match. */
const RULES: readonly Rule[] = [
  {
    pattern: new RegExp(`^\\s*[${QUOTES}<]+`),
    message: 'the URL begins with a quotation mark',
    hint: 'Remove it; YAML knows `"` and `\'` only, and only around the whole value',
  },
  {
    pattern: new RegExp(`(?<=^.|[^${QUOTES}>])[${QUOTES}>]+\\s*$`, 's'),
    message: 'the URL ends with a quotation mark, which would be sent',
    hint: 'Remove it',
  },
  {
    pattern: /^https?(?::\/?(?!\/)|\/\/+|;\/\/)|^https?:\/\/\/+/i,
    message: 'the URL does not begin with `http://` or `https://`',
    hint: 'Write `https://` and the host',
  },
  { pattern: HOST, message: 'the URL has no scheme', hint: 'Write `https://` before it' },
  {
    pattern: /^(?!https?:)[a-z][a-z\d+.-]*:\/\//i,
    message: 'the scheme of the URL is neither http nor https',
    hint: 'Write `https://`',
  },
  {
    pattern: /^[^?#]*?[^:/?#{](\/{2,})/,
    message: 'two slashes in a row in the path',
    hint: 'Write one slash',
    severity: 'warning',
  },
]

/** A text up to the end of an action, with `x` for each character of the action. */
function withoutAction(text: string): string {
  const start = text.indexOf('{{')
  if (start === -1 || !text.endsWith('}}')) return text
  return `${text.slice(0, start)}{{${'x'.repeat(text.length - start - 4)}}}`
}

/** Mistakes in the literal parts of a URL, also where templates follow. @returns whether there is one */
function checkUrlText(subject: Subject, report: TemplateReporter): boolean {
  const { source, path, phase, place, servers } = subject
  const isUrl = (place === 'url' && phase !== 'response') || (phase === 'upstream' && path.at(-1) === 'url')
  // The patterns take quadratic time.
  if (!isUrl || source.trim() === '' || source.length > 4096) return false
  // Actions are no text.
  const literal = source
    .split(/(?<=\}\})/)
    .map(withoutAction)
    .join('')
  for (const { pattern, ...found } of RULES) {
    const match = pattern.exec(literal)
    if (!match) continue
    const [whole, mistake = whole] = match
    const start = match.index + whole.length - mistake.length
    report({ code: 'url-text', at: { start, end: start + Math.max(1, mistake.length) }, ...found })
    return true
  }
  if (!START.test(literal)) return false
  const [, name = ''] = /^\{\{-?\s*\.Config\.(\w+)\s*-?\}\}\//.exec(source) ?? []
  if (!servers.some(({ config }) => /^https?:.*\/$/.test(config[name] ?? ''))) return false
  const end = source.indexOf('}}') + 3
  report({
    code: 'url-text',
    at: { start: end - 1, end },
    message: `two slashes in a row: \`${name}\` of \`config\` ends with a slash, too`,
    hint: 'Remove one of the two',
    severity: 'warning',
  })
  return true
}
