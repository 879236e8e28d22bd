import type { Env, Server } from '../../config/index.ts'
import type { Finding } from '../../findings/index.ts'
import type { JsonObject } from '../../json/index.ts'
import { type Node, RenderError, type Span, type Template, type Tree } from '../../template/index.ts'
import { type JsonFault, jsonFault } from '../json-fault.ts'
import { FLAVOURS, type Flavour, sampleArgs, sampleData, sampleRequest } from '../samples.ts'
import type { Subject } from '../subjects.ts'
import { neverFits } from './certain.ts'
import type { Report } from './names.ts'
import { placeOf } from './place-of.ts'
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

/** Whether something at a place is told already. */
type Known = (span: Span) => boolean

/**
 * Renders a template of a request with sample arguments: all of them, only those that every call has, and, where
 * the text must be JSON, what else calls may differ in. An error is what no call can make good: a type that never
 * fits, or a body that is not JSON. What only the content of the samples brings about is not told.
 */
export function checkRendering(rendering: Rendering, known: Known, report: Report): void {
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
    if (!known(first.error)) report('template-render', first.error, ...failure(first.error, true))
    return
  }
  for (let i = 1; first.error && i < FLAVOURS.length; i++) {
    flavour = FLAVOURS[i]!
    first = attempt(template, full(flavour))
  }
  if (first.error) return
  const seen = new Set<string>()
  const isSound = (text: string | undefined, what: string, severity: Finding['severity']): boolean => {
    if (!rendering.json || text === undefined || text === '' || seen.has(text)) return true
    seen.add(text)
    const fault = jsonFault(text)
    if (fault) tellFault(rendering, { text, fault, what, severity }, known, report)
    return !fault
  }
  if (!isSound(first.text, 'with sample arguments', 'error')) return

  const least = { Config, Args: sampleArgs(args, false, flavour, template.references), Request: NO_REQUEST }
  const second = attempt(template, least)
  if (second.error) {
    const { start, end } = second.error
    // What the author's own `fail` says is meant to be said.
    const isOwn = /\bfail\b/.test(subject.source.slice(start, end))
    if (!isOwn && !known(second.error))
      report('template-render', second.error, ...failure(second.error, false))
  } else if (!isSound(second.text, 'with no optional arguments', 'error')) return
  if (!rendering.json || !branches(tree)) return
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
export function checkAnswer(rendering: Rendering, known: Known, report: Report): void {
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
  const severity = fault.ofCommas && !branches(tree) ? 'error' : 'warning'
  tellFault(rendering, { text: text!, fault, what: 'with a sample answer', severity }, known, report)
}

function attempt(template: Template, root: object): { text?: string | undefined; error?: RenderError } {
  try {
    return { text: template.render(root) }
  } catch (error) {
    if (!(error instanceof RenderError)) throw error
    return { error }
  }
}

function branches({ root, definitions }: Tree): boolean {
  const within = (list: readonly Node[]) => list.some((node) => 'list' in node)
  return within(root) || [...definitions.values()].some(within)
}

interface Broken {
  text: string
  fault: JsonFault
  what: string
  severity: Finding['severity']
}

function tellFault(
  { tree, subject }: Rendering,
  { text, fault, what, severity }: Broken,
  known: Known,
  report: Report,
): void {
  const span = placeOf(tree, text, fault.offset) ?? { start: 0, end: subject.source.length }
  if (known({ start: span.start - 1, end: span.end + 1 })) return
  const message = `${what} the body is not JSON: ${fault.message}`
  const cure = (fault.ofCommas && ofBranches(tree, subject.source, span, fault)) || fault.cure
  report('template-body', span, message, `${cure}; the body is \`${excerpt(text, fault.offset)}\``, {
    severity,
  })
}

/** How to mend a comma that is right in one branch or round and wrong in another; undefined where it is plain. */
function ofBranches(tree: Tree, source: string, { start }: Span, { cure }: JsonFault): string | undefined {
  const range = rangeAround(tree.root, source, start)
  const separate = `Begin each item with its comma: \`{{range $i, $item := ${range}}}{{if $i}}, {{end}}…{{end}}\``
  const before = source.slice(0, start).trimEnd()
  if (cure.startsWith('Write'))
    return range !== undefined && source.startsWith('{{', start) ? separate : undefined
  if (!branches(tree) || before.endsWith(',')) return undefined
  if (range !== undefined) return separate
  return 'Let each optional member begin with its comma, behind a member that is always there'
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

type Failure = [message: string, hint: string | undefined, more: { severity?: 'warning' }]

/** That a call without an optional argument fails is a doubt; that every call fails is an error. */
function failure({ message, hint }: RenderError, all: boolean): Failure {
  const cure = hint && hint[0]!.toUpperCase() + hint.slice(1)
  if (all) return [`rendering fails with sample arguments: ${message}`, cure, {}]
  return [
    `rendering fails when a call gives neither optional arguments nor headers: ${message}`,
    cure ?? 'Guard it with `{{if …}}`',
    { severity: 'warning' },
  ]
}

/** The line around an offset, white space drawn together. */
function excerpt(text: string, offset: number): string {
  const from = Math.max(0, offset - 40)
  const to = Math.min(text.length, offset + 40)
  const cut = text.slice(from, to).replace(/\s+/g, ' ').replaceAll('`', '’')
  return `${from > 0 ? '…' : ''}${cut}${to < text.length ? '…' : ''}`
}
