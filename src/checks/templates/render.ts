import type { Env, Server } from '../../config/index.ts'
import type { Severity } from '../../findings/index.ts'
import type { JsonObject } from '../../json/index.ts'
import { type Node, RenderError, type Span, type Template, type Tree } from '../../template/index.ts'
import { capital } from '../../text/index.ts'
import { type JsonFault, jsonFault } from '../json-fault.ts'
import { FLAVOURS, type Flavour, sampleArgs, sampleData, sampleRequest } from '../samples.ts'
import type { Subject } from '../subjects.ts'
import { neverFits } from './certain.ts'
import { hasBranches } from './nodes.ts'
import { placeOf } from './place-of.ts'
import type { TemplateReport, TemplateReporter } from './report.ts'
import { namesOf } from './usage.ts'
import { variations } from './variations.ts'
import type { Ref } from './walk.ts'

/** A template that could be compiled, with what it takes to render it. */
export interface Rendering {
  subject: Subject
  template: Template
  tree: Tree
  refs: readonly Ref[]
  /** `.Config` of a server, rendered. */
  config: (server: Server) => Record<string, string>
  env: Env
  /** Whether the text must be JSON. */
  json: boolean
}

/** Whether something at a place is reported already. */
type Known = (span: Span) => boolean

/**
 * Renders a template of a request with sample arguments: all of them, only those that every call has, and, where
 * the text must be JSON, what else calls may differ in. An error is what no call can make good: a type that never
 * fits, or a body that is not JSON. What only the content of the samples brings about is not reported.
 */
export function checkRendering(rendering: Rendering, known: Known, report: TemplateReporter): void {
  const { subject, template, tree, refs } = rendering
  const { args } = subject
  const Config = subject.servers[0] ? rendering.config(subject.servers[0]) : {}
  const request = sampleRequest(template.references)
  const full = (flavour: Flavour) => ({
    Config,
    Args: sampleArgs(args, true, flavour, template.references),
    Request: request,
  })
  let flavour = FLAVOURS[0]
  let first = attempt(template, full(flavour))
  if (first.error && neverFits(first.error, tree, refs, args)) {
    if (!known(first.error)) report(failure(first.error, 'every call'))
    return
  }
  for (let i = 1; first.error && i < FLAVOURS.length; i++) {
    flavour = FLAVOURS[i]!
    first = attempt(template, full(flavour))
  }
  if (first.error) return
  const seen = new Set<string>()
  const isSound = (text: string | undefined, what: string, severity: Severity): boolean => {
    if (!rendering.json || text === undefined || text === '' || seen.has(text)) return true
    seen.add(text)
    const fault = jsonFault(text)
    if (fault) reportFault(rendering, { text, fault, what, severity }, known, report)
    return !fault
  }
  if (!isSound(first.text, 'with sample arguments', 'error')) return

  const least = { Config, Args: sampleArgs(args, false, flavour, template.references), Request: NO_REQUEST }
  const second = attempt(template, least)
  if (second.error) {
    const { start, end } = second.error
    // The author's own `fail` is meant to fail.
    const isOwn = /\bfail\b/.test(subject.source.slice(start, end))
    if (!isOwn && !known(second.error)) report(failure(second.error, 'some calls'))
  } else if (!isSound(second.text, 'with no optional arguments', 'error')) return
  if (!rendering.json || !hasBranches(tree)) return
  const { names, whole } = namesOf(refs, args)
  const read = whole ? new Set(args.schemas.keys()) : names
  let size = 0
  for (const { args: Args, what, severity } of variations(
    args,
    read,
    full(flavour).Args,
    least.Args,
    flavour,
  )) {
    const { text } = attempt(template, { Config, Args, Request: request })
    if (!isSound(text, what, severity)) return
    size += text?.length ?? 0
    if (size > MAX_TRIED) return
  }
}

/** UTF-16 units of output that variations may come to. */
const MAX_TRIED = 1_000_000
const NO_REQUEST: JsonObject = { Headers: {}, Query: {}, Cookies: {}, Path: '/mcp', Body: {} }

/**
 * Renders the template of an answer that is JSON with an answer that has whatever is read of it. Its commas do
 * not depend on data unless it has branches.
 */
export function checkAnswer(rendering: Rendering, known: Known, report: TemplateReporter): void {
  const { subject, template, tree, refs } = rendering
  const Data = sampleData(
    refs.filter(({ path }) => path[0] === 'Response' && path[1] === 'Data').map(({ path }) => path.slice(2)),
  )
  const { text } = attempt(template, {
    Config: subject.servers[0] ? rendering.config(subject.servers[0]) : {},
    Args: sampleArgs(subject.args, true, FLAVOURS[0], template.references),
    Request: sampleRequest(template.references),
    Response: { Data, Body: 'sample', Status: 200, Headers: {} },
  })
  const fault = text === undefined || text === '' ? undefined : jsonFault(text)
  if (!fault) return
  const severity = fault.comma && !hasBranches(tree) ? 'error' : 'warning'
  reportFault(rendering, { text: text!, fault, what: 'with a sample answer', severity }, known, report)
}

function attempt(template: Template, root: object): { text?: string | undefined; error?: RenderError } {
  try {
    return { text: template.render(root) }
  } catch (error) {
    if (!(error instanceof RenderError)) throw error
    return { error }
  }
}

interface Broken {
  text: string
  fault: JsonFault
  what: string
  severity: Severity
}

function reportFault(
  { tree, subject }: Rendering,
  { text, fault, what, severity }: Broken,
  known: Known,
  report: TemplateReporter,
): void {
  const span = placeOf(tree, text, fault.offset) ?? { start: 0, end: subject.source.length }
  if (known({ start: span.start - 1, end: span.end + 1 })) return
  const hint = (fault.comma && commaHint(tree, subject.source, span, fault.comma)) || fault.hint
  report({
    code: 'template-body',
    at: span,
    message: `${what} the body is not JSON: ${fault.message}`,
    hint: `${hint}; the body is \`${excerpt(text, fault.offset)}\``,
    severity,
  })
}

/** How to fix a comma that is right in one branch or round and wrong in another; undefined where it is plain. */
function commaHint(
  tree: Tree,
  source: string,
  { start }: Span,
  comma: 'missing' | 'extra',
): string | undefined {
  const range = rangeAround(tree.root, source, start)
  const separate = `Begin each item with its comma: \`{{range $i, $item := ${range}}}{{if $i}}, {{end}}…{{end}}\``
  if (comma === 'missing') return range !== undefined && source.startsWith('{{', start) ? separate : undefined
  if (!hasBranches(tree) || source.slice(0, start).trimEnd().endsWith(',')) return undefined
  if (range !== undefined) return separate
  return 'Let each optional member begin with its comma, after a member that is always there'
}

/** What the `range` goes through that a place is in, or just behind. */
function rangeAround(list: readonly Node[], source: string, at: number): string | undefined {
  for (const node of list) {
    if (!('list' in node)) continue
    const inner = rangeAround(node.list, source, at) ?? rangeAround(node.elseList ?? [], source, at)
    if (inner !== undefined) return inner
    const last = node.list.at(-1)
    const end = last && source.indexOf('}}', source.indexOf('end', last.end)) + 2
    if (node.type !== 'range' || end === undefined || at < node.start || at > end) continue
    const command = node.pipe.commands[0]
    return command && source.slice(command.start, node.pipe.commands.at(-1)!.end)
  }
  return undefined
}

/** That some calls fail, such as those without an optional argument, is a doubt; that every call fails is an error. */
function failure(
  { message, hint, start, end }: RenderError,
  who: 'every call' | 'some calls',
): TemplateReport {
  const found = { code: 'template-render', at: { start, end } } as const
  if (who === 'every call')
    return {
      ...found,
      message: `rendering fails with sample arguments: ${message}`,
      hint: hint && capital(hint),
    }
  return {
    ...found,
    message: `rendering fails for a call with neither optional arguments nor headers: ${message}`,
    hint: hint ? capital(hint) : 'Guard it with `{{if …}}`',
    severity: 'warning',
  }
}

/** The line around an offset, white space drawn together. */
function excerpt(text: string, offset: number): string {
  const from = Math.max(0, offset - 40)
  const to = Math.min(text.length, offset + 40)
  const cut = text.slice(from, to).replace(/\s+/g, ' ').replaceAll('`', '’')
  return `${from > 0 ? '…' : ''}${cut}${to < text.length ? '…' : ''}`
}
