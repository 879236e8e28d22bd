import { positionsOf } from '../text/index.ts'
import { compileTree } from './compile.ts'
import { type ErrorSink, errorSink, Fault, type Locate, renderError } from './errors.ts'
import { isHeader, type Run, State } from './exec.ts'
import { UNMARKED } from './flow.ts'
import { unquote } from './fmt/strconv.ts'
import type { Environment } from './funcs/gateway.ts'
import { functionGroups, functionTable } from './funcs/index.ts'
import { lex, type Token } from './lex.ts'
import type { Tree } from './node.ts'
import { parseTree } from './parse.ts'
import { isJsonFrame } from './places/auto.ts'
import { jsonRules } from './places/json.ts'
import {
  cookieRules,
  formRules,
  goRules,
  headerRules,
  textRules,
  trimEnds,
  verbatimRules,
} from './places/plain.ts'
import type { PlaceRules } from './places/rules.ts'
import { urlRules } from './places/url.ts'
import { xmlRules } from './places/xml.ts'
import {
  type Compiled,
  type CompileOptions,
  DEFAULT_TEMPLATE_LIMITS,
  type Limits,
  type Place,
  type Reference,
  type RenderError,
  type Template,
  type TemplateError,
} from './types.ts'
import type { Compilation } from './unit.ts'
import { type Plain, Struct } from './values.ts'

export const functionNames: readonly string[] = functionGroups.flatMap(({ functions }) =>
  functions.map(({ name }) => name),
)

export interface Parsed {
  tree: Tree
  errors: TemplateError[]
}

const NO_ENV: Environment = Object.freeze({})

/** Parses a template into nodes with positions, and its syntax errors. Never throws. */
export function parse(source: string): Parsed {
  const sink = errorSink(positionsOf(source))
  const options = { functions: functionTable(NO_ENV, true), depth: DEFAULT_TEMPLATE_LIMITS.depth, name: '' }
  return { tree: parseTree(source, options, sink), errors: sink.errors }
}

/**
 * Compiles a template for the place of its output. Never throws: `errors` has all errors that can be found at once.
 * @param parsed result of `parse`, for any place except `go`
 */
export function compile(source: string, options: CompileOptions, parsed?: () => Parsed): Compiled {
  const locate = positionsOf(source)
  const sink = errorSink(locate)
  try {
    return compileWith(source, options, locate, sink, parsed)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    sink.add('parse', { start: 0, end: 0 }, 'the template is nested too deeply')
    return { template: undefined, errors: sink.errors }
  }
}

function compileWith(
  source: string,
  options: CompileOptions,
  locate: Locate,
  sink: ErrorSink,
  parsed?: () => Parsed,
): Compiled {
  const limits: Limits = options.limits
    ? { ...DEFAULT_TEMPLATE_LIMITS, ...options.limits }
    : DEFAULT_TEMPLATE_LIMITS
  const go = options.place === 'go'
  const functions = functionTable(options.env ?? NO_ENV, options.sprig ?? !go)
  const known = parsed?.()
  if (known && known.errors.length > 0) return { template: undefined, errors: known.errors }
  const parseOptions = { functions, depth: limits.depth, name: options.name ?? '' }
  const tree = known ? { ...known.tree } : parseTree(source, parseOptions, sink)
  if (sink.errors.length > 0) return { template: undefined, errors: sink.errors }

  const place = placeOf(options.place, tree)
  if (place === 'url' || isHeader(place)) tree.root = trimEnds(tree.root)
  const references = new Map<string, Reference>()
  const rules = rulesOf(place, tree, source, sink, { pathArgs: options.pathArgs, references })
  const compilation: Compilation = {
    go,
    functions,
    env: options.env ?? {},
    roots: options.roots,
    trusted: options.trusted ?? [],
    secrets: options.secrets,
    sink,
    references,
    changes: { ...UNMARKED },
    dynamic: false,
  }
  const run = compileTree(tree, compilation, rules)
  if (sink.errors.length > 0) return { template: undefined, errors: sink.errors }

  const renderings = renderingsOf(source, { run, rules, place, limits, roots: options.roots, locate })
  const constant = compilation.dynamic ? undefined : withoutData(renderings.render)
  return { template: { source, references: [...references.values()], constant, ...renderings }, errors: [] }
}

/** The results of the compilation that a rendering needs. */
interface Executable {
  run: Run
  rules: PlaceRules
  place: Place
  limits: Limits
  roots: CompileOptions['roots']
  locate: Locate
}

function renderingsOf(
  source: string,
  { run, rules, place, limits, roots, locate }: Executable,
): Pick<Template, 'render' | 'renderInTurns'> {
  const begin = (data: unknown, inTurns: boolean) => {
    const root = roots ? new Struct(roots, (data ?? {}) as Plain, '*main.Context') : data
    return new State(root ?? undefined, place, limits, inTurns)
  }
  const finished = (state: State) => {
    state.checkSize()
    return rules.output(state)
  }
  return {
    render(data) {
      const state = begin(data, false)
      try {
        if (typeof run(state, state.root) !== 'number') throw new Error('A rendering at once has paused')
        return finished(state)
      } catch (error) {
        throw asRenderError(error, state, source, locate)
      }
    },
    async renderInTurns(data) {
      const state = begin(data, true)
      try {
        await run(state, state.root)
        return finished(state)
      } catch (error) {
        throw asRenderError(error, state, source, locate)
      }
    },
  }
}

/** Undefined if even that fails. */
function withoutData(render: Template['render']): string | undefined {
  try {
    return render({})
  } catch {
    return undefined
  }
}

/** The actual place, if it depends on the literal text. */
export function placeOf(place: Place, tree: Tree): Place {
  if (place === 'auto') return isJsonFrame(tree) ? 'json' : 'text'
  if (place === 'auto-body') return isJsonFrame(tree, true) ? 'json-lines' : 'verbatim'
  return place
}

function rulesOf(
  place: Place,
  tree: Tree,
  source: string,
  sink: ErrorSink,
  { pathArgs, references }: Pick<CompileOptions, 'pathArgs'> & Pick<Compilation, 'references'>,
): PlaceRules {
  switch (place) {
    case 'go':
      return goRules
    case 'json':
      return jsonRules(source, sink)
    case 'json-lines':
      return jsonRules(source, sink, true)
    case 'xml':
      return xmlRules(sink)
    case 'verbatim':
      return verbatimRules(sink)
    case 'url':
      return urlRules(sink, pathArgs, references)
    case 'form':
      return formRules
    case 'header':
      return headerRules(tree)
    case 'cookie':
      return cookieRules(tree)
    default:
      return textRules
  }
}

/** A stack overflow counts as a limit; any other error except Fault is a bug. */
function asRenderError(error: unknown, state: State, source: string, locate: Locate): unknown {
  if (error instanceof RangeError)
    return renderError(new Fault('limit', 'nested too deeply, or too long', state.at), source, locate)
  if (!(error instanceof Fault)) return error
  const fault = error.span ? error : new Fault(error.kind, error.message, state.at, error.hint, error.ofType)
  return renderError(fault, source, locate) satisfies RenderError
}

/** A template that renders exactly this text, even with braces in it, at its end, or separated by hidden characters. */
export function literal(text: string): string {
  return text.replace(/\{(?=\{|[^\t\n\r\x20-\x7e]|$)/g, '{{"{"}}')
}

export interface ReadVariable {
  name: string
  /** Its default; undefined: none. */
  preset: string | undefined
}

/** The variables that a template's actions read by `env` with a literal name; literal text is ignored. */
export function variablesRead(source: string): ReadVariable[] {
  const found: ReadVariable[] = []
  for (const piece of lex(source)) {
    if (piece.type !== 'action') continue
    const tokens = piece.tokens.filter(({ type }) => type !== 'space')
    for (const [i, { type, text }] of tokens.entries()) {
      const name = type === 'identifier' && text === 'env' ? textOf(tokens[i + 1]) : undefined
      if (name !== undefined) found.push({ name, preset: textOf(tokens[i + 2]) })
    }
  }
  return found
}

function textOf(token: Token | undefined): string | undefined {
  return token && (token.type === 'string' || token.type === 'rawString') ? unquote(token.text) : undefined
}

type Options = Pick<CompileOptions, 'place' | 'env' | 'roots' | 'trusted' | 'pathArgs'>

/** Templates of one run, parsed and compiled once: several stages examine them, which saves 40 % of a start. */
export interface Memo {
  parse(source: string): Parsed
  compile(source: string, options: Options): Compiled
  /** Drops everything. */
  clear(): void
}

/** Limits, as compiled templates are much larger than their text. */
const MAX_ENTRIES = 500

/** @param env of the templates; those compiled with another one are not remembered */
export function templateMemo(env: CompileOptions['env']): Memo {
  const known = new Map<string, unknown>()
  const remembered = <T>(key: string, make: () => T): T => {
    const found = known.get(key)
    if (found !== undefined) return found as T
    const made = make()
    if (known.size >= MAX_ENTRIES) known.clear()
    if (key.length <= 10_000) known.set(key, made)
    return made
  }
  const parsed = (source: string) => remembered(`parse ${source}`, () => parse(source))
  return {
    parse: parsed,
    compile(source, options) {
      const { place, roots, trusted, pathArgs } = options
      if (options.env !== env || place === 'go') return compile(source, options)
      const key = JSON.stringify([place, roots, trusted, pathArgs, source])
      return remembered(key, () => compile(source, options, () => parsed(source)))
    },
    clear: () => known.clear(),
  }
}
