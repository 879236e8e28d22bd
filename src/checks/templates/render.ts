import type { Env, Server } from '../../config/index.ts'
import type { Severity } from '../../findings/index.ts'
import {
  type CommandNode,
  type Node,
  type Operand,
  RenderError,
  type Span,
  type Template,
  type TextNode,
  type Tree,
} from '../../template/index.ts'
import { capital } from '../../text/index.ts'
import { type JsonFault, jsonFault } from '../json-fault.ts'
import {
  FLAVOURS,
  type Flavour,
  NO_CALLER,
  sampleArgs,
  sampleCaller,
  sampleData,
  sampleRequest,
  variations,
} from '../samples.ts'
import type { Args, Subject } from '../subjects.ts'
import { schemaAt } from './node-checks.ts'
import { argumentsRead } from './usage.ts'
import { eachPipe, hasBranches, type Ref, type TemplateReport, type TemplateReporter } from './walk.ts'

/** A compiled template and its context for rendering. */
interface Rendering {
  subject: Subject
  template: Template
  tree: Tree
  refs: readonly Ref[]
  /** Rendered `.Config` of a server. */
  config: (server: Server) => Record<string, string>
  env: Env
  /** Whether the text must be JSON. */
  json: boolean
}

/** Whether something at a position is already reported. */
type IsReported = (span: Span) => boolean

/**
 * Renders a request template with sample arguments: all, only those that every call has, and for JSON also variations.
 * Reports errors that no call can avoid: a type that never fits, or invalid JSON. Problems caused by the samples'
 * content are not reported.
 */
export function checkRendering(rendering: Rendering, isReported: IsReported, report: TemplateReporter): void {
  const { subject, template, tree, refs } = rendering
  const args = readBy(refs, subject.args)
  const Config = configOf(rendering)
  const request = sampleRequest(template.references)
  const caller = sampleCaller(template.references)
  const full = (flavour: Flavour) => ({
    Config,
    Args: sampleArgs(args, true, flavour, template.references),
    Request: request,
    Caller: caller,
  })
  let flavour = FLAVOURS[0]
  let all = full(flavour)
  let first = tryRender(template, all)
  if (first.error && neverFits(first.error, tree, refs, args)) {
    if (!isReported(first.error)) report(failure(first.error, 'every call'))
    return
  }
  for (let i = 1; first.error && i < FLAVOURS.length; i++) {
    flavour = FLAVOURS[i]!
    all = full(flavour)
    first = tryRender(template, all)
  }
  if (first.error) return
  const checked = new Set<string>()
  const isBodyValid = (text: string | undefined, what: string, severity: Severity): boolean => {
    if (!rendering.json || text === undefined || text === '' || checked.has(text)) return true
    checked.add(text)
    const fault = jsonFault(text)
    if (fault) reportFault(rendering, { text, fault, what, severity }, isReported, report)
    return !fault
  }
  if (!isBodyValid(first.text, 'with sample arguments', 'error')) return
  // Every call renders the same.
  if (refs.every(({ path }) => path[0] === 'Config')) return

  const least = {
    Config,
    Args: sampleArgs(args, false, flavour, template.references),
    Request: NO_REQUEST,
    Caller: NO_CALLER,
  }
  const second = tryRender(template, least)
  if (second.error) {
    const { start, end } = second.error
    // The author's own `fail` is intended.
    const isOwn = /\bfail\b/.test(subject.source.slice(start, end))
    if (!isOwn && !isReported(second.error)) report(failure(second.error, 'some calls'))
  } else if (!isBodyValid(second.text, 'with no optional arguments', 'error')) return
  if (!rendering.json || !hasBranches(tree)) return
  let size = 0
  for (const { args: Args, what, severity } of variations(args, all.Args, least.Args, flavour)) {
    const { text } = tryRender(template, { Config, Args, Request: request, Caller: caller })
    if (!isBodyValid(text, what, severity)) return
    size += text?.length ?? 0
    if (size > 1_000_000) return
  }
}

/** The arguments that a template reads; others do not affect it. */
function readBy(refs: readonly Ref[], args: Args): Args {
  const { names, whole } = argumentsRead(refs, args)
  if (whole) return args
  return { ...args, schemas: new Map([...args.schemas].filter(([name]) => names.has(name))) }
}

const NO_REQUEST = sampleRequest([])

/** Renders a JSON answer template with a sample answer. Without branches, its commas do not depend on data. */
export function checkAnswer(rendering: Rendering, isReported: IsReported, report: TemplateReporter): void {
  const { subject, template, tree, refs } = rendering
  const Data = sampleData(
    refs.filter(({ path }) => path[0] === 'Response' && path[1] === 'Data').map(({ path }) => path.slice(2)),
  )
  const { text } = tryRender(template, {
    Config: configOf(rendering),
    Args: sampleArgs(readBy(refs, subject.args), true, FLAVOURS[0], template.references),
    Request: sampleRequest(template.references),
    Caller: sampleCaller(template.references),
    Response: { Data, Body: 'sample', Status: 200, Headers: {} },
  })
  const fault = text === undefined || text === '' ? undefined : jsonFault(text)
  if (!fault) return
  const severity = fault.comma && !hasBranches(tree) ? 'error' : 'warning'
  reportFault(rendering, { text: text!, fault, what: 'with a sample answer', severity }, isReported, report)
}

/** Config of the first server. */
function configOf({ subject: { servers }, config }: Rendering): Record<string, string> {
  return servers[0] ? config(servers[0]) : {}
}

function tryRender(template: Template, root: object): { text?: string | undefined; error?: RenderError } {
  try {
    return { text: template.render(root) }
  } catch (error) {
    if (!(error instanceof RenderError)) throw error
    return { error }
  }
}

interface BodyFault {
  text: string
  fault: JsonFault
  what: string
  severity: Severity
}

function reportFault(
  { tree, subject }: Rendering,
  { text, fault, what, severity }: BodyFault,
  isReported: IsReported,
  report: TemplateReporter,
): void {
  const span = placeOf(tree, text, fault.offset) ?? { start: 0, end: subject.source.length }
  if (isReported({ start: span.start - 1, end: span.end + 1 })) return
  const hint = (fault.comma && commaHint(tree, subject.source, span, fault.comma)) || fault.hint
  report({
    code: 'template-body',
    at: span,
    message: `${what} the body is not JSON: ${fault.message}`,
    hint: `${hint}; the body is \`${excerpt(text, fault.offset)}\``,
    severity,
  })
}

/** The hint for a comma that is right in one branch or iteration and wrong in another; undefined if simple. */
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

/** The value of the `range` around or just before a position. */
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

/** A failure of some calls, such as without an optional argument, is a warning; of every call, an error. */
function failure(
  { message, hint, start, end }: RenderError,
  who: 'every call' | 'some calls',
): TemplateReport {
  const every = who === 'every call'
  const calls = every ? 'with sample arguments' : 'for a call with neither optional arguments nor headers'
  return {
    code: 'template-render',
    at: { start, end },
    message: `rendering fails ${calls}: ${message}`,
    hint: hint ? capital(hint) : every ? undefined : 'Guard it with `{{if …}}`',
    severity: every ? undefined : 'warning',
  }
}

/** The line around an offset, with white space collapsed. */
function excerpt(text: string, offset: number): string {
  const from = Math.max(0, offset - 40)
  const to = Math.min(text.length, offset + 40)
  const cut = text.slice(from, to).replace(/\s+/g, ' ').replaceAll('`', '’')
  return `${from > 0 ? '…' : ''}${cut}${to < text.length ? '…' : ''}`
}

/** Maximum texts not found, as each search scans the output. */
const MAX_LOST = 200

interface Search {
  output: string
  offset: number
  /** Current position in the output. */
  at: number
  lost: number
  /** Whether text of unknown length was written since the last literal. */
  gap: boolean
  /** The last action. */
  action: Span | undefined
}

/**
 * The template position that wrote an output position: literals are located in order, and the text between two was
 * written by the actions between them.
 */
function placeOf(tree: Tree, output: string, offset: number): Span | undefined {
  const search: Search = { output, offset, at: 0, lost: 0, gap: false, action: undefined }
  const found = inList(tree.root, search)
  if (typeof found === 'object') return found
  if (search.lost > MAX_LOST) return undefined
  const last = tree.root.at(-1)
  if (offset >= output.length && last) return { start: Math.max(last.start, last.end - 1), end: last.end }
  return search.action
}

/** The position, or whether the literals of this list were found. */
function inList(list: readonly Node[], search: Search): Span | boolean {
  for (const node of list) {
    if (search.lost > MAX_LOST) return false
    if (node.type === 'text') {
      const found = inText(node, search)
      if (found !== true) return found
    } else if (node.type === 'action') {
      if (node.pipe.declarations.length > 0) continue
      search.action = node
      search.gap = true
    } else if ('list' in node) {
      const before = { ...search }
      let found = inList(node.list, search)
      if (found === false) {
        // The other branch was written.
        Object.assign(search, before, { lost: search.lost })
        found = inList(node.elseList ?? [], search)
        if (found === false) Object.assign(search, before, { lost: search.lost })
      }
      if (typeof found === 'object') return found
      // It may have been written repeatedly.
      if (node.type === 'range') search.gap = true
    } else search.gap = true
  }
  return true
}

function inText(node: TextNode, search: Search): Span | boolean {
  const { output, offset, at, action } = search
  const found = search.gap ? output.indexOf(node.text, at) : output.startsWith(node.text, at) ? at : -1
  if (found < 0) {
    search.lost++
    return false
  }
  if (offset < found) return action ?? { start: node.start, end: node.start + 1 }
  search.at = found + node.text.length
  search.gap = false
  if (offset >= search.at) return true
  const start = node.start + offset - found
  return { start, end: start + 1 }
}

/**
 * Whether a failed rendering fails for every possible value, because a declared type does not fit. The type of a
 * function's result is unknown.
 */
function neverFits(error: RenderError, tree: Tree, refs: readonly Ref[], args: Args): boolean {
  if (!error.ofType) return false
  const commands = commandsAt(tree, error)
  if (!commands) return false
  const operands = commands.flatMap((command, i) => argumentsOf(command, i === commands.length - 1))
  return (
    operands.every((one) => isConstant(one) || isDeclared(one, refs, args)) &&
    operands.some((one) => !isConstant(one))
  )
}

/** Arguments of the last command; earlier commands in the pipeline must be plain values. */
function argumentsOf({ operands }: CommandNode, last: boolean): readonly Operand[] {
  return last && operands[0]?.type === 'identifier' ? operands.slice(1) : operands
}

function isConstant({ type }: Operand): boolean {
  return type === 'string' || type === 'number' || type === 'bool'
}

function isDeclared({ type, start, end }: Operand, refs: readonly Ref[], args: Args): boolean {
  if (type !== 'field' && type !== 'variable' && type !== 'dot') return false
  const here = refs.filter((ref) => ref.start === start && ref.end === end)
  return here.length > 0 && here.every(({ path }) => hasType(path, args))
}

/** A missing field of a declared scalar counts as the scalar; a free object may have any field. */
function hasType(path: readonly string[], args: Args): boolean {
  if (path[0] === 'Config' || (path[0] === 'Request' && path[1] === 'Headers')) return path.length > 1
  if (path[0] !== 'Args') return false
  let found = false
  for (let length = 2; length <= path.length; length++) {
    const schema = schemaAt(args, path.slice(0, length))
    if (!schema) break
    const below = path[length]
    if (typeof schema.type === 'string')
      found = below === undefined || (schema.type !== 'object' && below !== '*')
  }
  return found
}

/** The commands of a pipeline up to the innermost one with the error. */
function commandsAt(tree: Tree, { start, end }: RenderError): CommandNode[] | undefined {
  let found: CommandNode[] | undefined
  eachPipe(tree, (pipe, node) => {
    // A value unusable for `range` is reported at the whole action or its pipeline.
    if (node.type === 'range' && node.pipe === pipe && (node.start === start || pipe.start === start))
      found = pipe.commands
    for (const [i, command] of pipe.commands.entries())
      if (command.start <= start && end <= command.end) found = pipe.commands.slice(0, i + 1)
  })
  return found
}
