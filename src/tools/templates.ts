import type { Server } from '../config/model.ts'
import { isWithheld, withheld } from '../config/tenant-env.ts'
import type { FindingCode } from '../findings/codes.ts'
import { type Json, stringify, valueAt } from '../json/index.ts'
import {
  type Compiled,
  type CompileOptions,
  compile,
  hasDotSegment,
  hasSlash,
  type Memo,
  type Place,
  type Reference,
  RenderError,
  type Roots,
  type Secrets,
  type Template,
  type TemplateError,
} from '../template/index.ts'
import { capital, cut } from '../text/index.ts'
import { CallError } from './failure.ts'
import type { Problem } from './types.ts'

const REQUEST = { Headers: true, Query: true, Cookies: true, Path: true, Body: true } as const
/** Caller data for templates, also of MCP servers. */
export const CALLER = { subject: true, issuer: true, clientId: true, scopes: true, claims: true } as const
export const REQUEST_ROOTS: Roots = { Config: true, Args: true, Request: REQUEST, Caller: CALLER }
/** Data for `responseBody` and `errorBody`. */
export const RESPONSE_ROOTS: Roots = {
  ...REQUEST_ROOTS,
  Response: { Data: true, Body: true, Status: true, Headers: true },
}
/** Values written by the author are not escaped in URLs. */
const TRUSTED = ['Config']

export type Env = Readonly<Record<string, string | undefined>>
export type CompileTemplate = (
  source: string,
  path: Problem['path'],
  place: Place,
  roots: Roots,
  pathArgs?: CompileOptions['pathArgs'],
) => Template | undefined

/**
 * Compiles templates, and adds their faults to `problems`.
 * @param memo templates already compiled in this run, without `secrets`
 */
export function templateCompiler(
  env: Env,
  problems: Problem[],
  memo?: Memo,
  secrets?: Secrets,
): CompileTemplate {
  return (source, path, place, roots, pathArgs) => {
    const { template, errors } = compileQuietly(source, place, roots, { env, memo, secrets, pathArgs })
    for (const error of errors) problems.push(problemOf(error, path, env))
    return template
  }
}

/** Parameters of compiling a tool's template. */
interface OfTool {
  env: Env
  memo?: Memo | undefined
  secrets?: Secrets | undefined
  pathArgs?: CompileOptions['pathArgs']
}

export function compileQuietly(
  source: string,
  place: Place,
  roots: Roots,
  { env, memo, secrets, pathArgs }: OfTool,
): Compiled {
  const options = { place, env, roots, trusted: TRUSTED, ...(pathArgs && { pathArgs }) }
  return secrets ? compile(source, { ...options, secrets }) : (memo?.compile ?? compile)(source, options)
}

const CODES: Record<TemplateError['kind'], FindingCode> = {
  parse: 'template-syntax',
  context: 'template-context',
  unescaped: 'template-unescaped',
  env: 'env-unset',
}

function problemOf(error: TemplateError, path: Problem['path'], env: Env): Problem {
  const { start, end, message, hint, variable } = error
  if (variable !== undefined && isWithheld(env, variable))
    return { path, start, end, severity: 'error', ...withheld(variable) }
  const problem: Problem = { path, start, end, code: CODES[error.kind], severity: 'error', message }
  if (hint) problem.hint = hint
  return problem
}

/**
 * Renders synchronously before any call.
 * @param what name of the template in the error, as in `unrendered`
 * @throws CallError
 */
export function render(template: Template, root: object, what: string): string | undefined {
  try {
    return template.render(root)
  } catch (error) {
    throw callErrorOf(error, template, root, what)
  }
}

/** Computes something from templates before any call; undefined if they fail, which is added to `problems`. */
export function beforeCalls<T>(
  problem: Pick<Problem, 'path' | 'code'>,
  problems: Problem[],
  make: () => T,
): T | undefined {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const message = (error.detail ?? error.text).replace(/\.$/, '')
    problems.push({ ...problem, severity: 'error', message })
    return undefined
  }
}

/** `.Config`: each value rendered once, with access only to `env`. */
export function renderConfig(
  server: Server,
  path: Problem['path'],
  compile: CompileTemplate,
  problems: Problem[],
): Readonly<Record<string, string>> {
  const config: Record<string, string> = {}
  for (const [key, source] of Object.entries(server.config)) {
    const at = [...path, 'config', key]
    const template = compile(source, at, 'text', {})
    const value =
      template &&
      beforeCalls({ path: at, code: 'template-context' }, problems, () => render(template, {}, 'value'))
    Object.defineProperty(config, key, { value: value ?? '', enumerable: true })
  }
  return config
}

/**
 * Renders for a call, yielding to the event loop when slow.
 * @param what name of the template in the error, as in `unrendered`
 * @throws CallError
 */
export async function renderInTurns(
  template: Template,
  root: object,
  what: string,
): Promise<string | undefined> {
  try {
    return await template.renderInTurns(root)
  } catch (error) {
    throw callErrorOf(error, template, root, what)
  }
}

function callErrorOf(error: unknown, template: Template, root: object, what: string): unknown {
  return error instanceof RenderError ? unrendered(error, template, root, what) : error
}

/** Whether the template may read `.A.B`, directly or through a containing value. */
export function reads(template: Template | undefined, ...path: string[]): boolean {
  return (
    template?.references.some((reference) =>
      reference.path.slice(0, path.length).every((segment, i) => segment === path[i]),
    ) ?? false
  )
}

/** The paths that the template reads, without prefixes of longer ones: `.Args` of `index .Args "id"`. */
export function pathsOf({ references }: Template): Reference['path'][] {
  const isPart = ({ path, start, end }: Reference) =>
    references.some(
      (other) =>
        other.path.length > path.length &&
        other.start <= start &&
        other.end >= end &&
        path.every((segment, i) => segment === other.path[i]),
    )
  return references.filter((one) => !isPart(one)).map(({ path }) => path)
}

/** Whether the template names the argument, or may read all arguments. */
export function readsArgument(template: Template, name: string): boolean {
  return pathsOf(template).some(
    ([root, own]) => root === undefined || (root === 'Args' && (own === undefined || own === name)),
  )
}

/** Functions whose result differs between calls. */
const VARYING = /\b(?:now|ago|uuid\w*|rand\w*|shuffle|gen\w+)\b/

/** Whether the output is constant, because the template reads at most `Config`. */
export function isFixed(template: Template): boolean {
  if (template.constant !== undefined) return true
  return template.references.every(({ path }) => path[0] === 'Config') && !VARYING.test(template.source)
}

/**
 * The failure of a template in a call. Its text is for the caller, who can only change arguments; `detail`, with the
 * position and the fix, is for the author.
 * @param what name of the template, such as `endpoint` or `header X-Id`; `text` for a prompt
 */
function unrendered(error: RenderError, template: Template, root: object, what: string): CallError {
  const { message, hint, line, column, start, end } = error
  const whole = `the ${what} of this ${what === 'text' ? 'prompt' : 'tool'} could not be rendered`
  const expression = cut(template.source.slice(start, end), 80)
  const at = expression === '' ? '' : `, at \`${expression}\`, line ${line}, column ${column}`
  // The message of the engine ends with the expression too.
  const [said] = message.split(`, at ${template.source.slice(start, Math.min(end, start + 20))}`)
  const detail = capital(`${whole}: ${said}${hint ? ` (${hint})` : ''}${at}.`)
  const before = what === 'text' || Object.hasOwn(root, 'Response') ? '' : 'No request was sent: '
  const reason = reasonOf(error, template, root, what) ?? `${whole}${ofArgs(error, template)}`
  const place = { what, start, end }
  return new CallError('template', `${capital(before + reason)}.`, detail, undefined, place)
}

/** The failure in terms of the caller's arguments; undefined if they are not the cause. */
function reasonOf(
  { kind, start, end }: RenderError,
  template: Template,
  root: object,
  what: string,
): string | undefined {
  if (kind !== 'missing' && kind !== 'unsafe') return undefined
  const inside = template.references.filter((one) => start <= one.start && one.end <= end)
  // An invalid header value is detected only after rendering.
  const paths = (what.startsWith('header') || inside.length === 0 ? template.references : inside).map(
    ({ path }) => path,
  )
  const find = (test: (value: unknown) => boolean) => paths.find((path) => test(valueAt(root, path)))
  if (kind === 'missing') {
    const missing = find((value) => value === undefined || value === null)
    if (missing) return missingText(missing)
    const empty = find((value) => value === '')
    return empty && `${nameOf(empty)} must not be empty`
  }
  if (what.startsWith('header')) {
    const odd = find((value) => typeof value === 'string' && /[\x00-\x08\x0a-\x1f\x7f]/.test(value))
    return (
      odd && `${nameOf(odd)} contains a line break or another character that is not allowed in the ${what}`
    )
  }
  if (what === 'requestBody') {
    const odd = paths.filter(([field]) => field !== 'Config').map(nameOf)
    return odd.length > 0 ? `${odd.join(', ')} contains a character that XML does not have` : undefined
  }
  const dots = find((value) => value === '.' || value === '..')
  if (dots) return `${nameOf(dots)} must not be \`${valueAt(root, dots)}\`: it must be a name`
  const given = paths.filter(([field]) => field !== 'Config')
  const holding = given.filter((path) => hasDotSegment(textOf(valueAt(root, path))))
  const slashed = given.filter((path) => path.length > 1 && hasSlash(textOf(valueAt(root, path))))
  if (holding.length === 0 && slashed.length > 0)
    return `${slashed.map(nameOf).join(', ')} must not contain \`/\` or \`\\\`, encoded or not: it is one part of the URL's path`
  const names = [...new Set((holding.length > 0 ? holding : given).map(nameOf))].join(', ')
  return names && `${names} must not put \`.\` or \`..\` between slashes of the URL's path, encoded or not`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : stringify(value as Json)
}

function missingText(path: readonly string[]): string {
  const cure = {
    Args: 'provide a value',
    Config: 'only the operator of this gateway can fix that',
    Request: 'it is part of the request to this gateway, not of the arguments',
    Caller: 'it comes from the credentials of the caller, not from the arguments',
  }[path[0] ?? '']
  return `${nameOf(path)} is missing${cure ? `; ${cure}` : ''}`
}

function nameOf([root = '', ...path]: readonly string[]): string {
  const [field, ...names] = path
  if (root === 'Args') return path.length > 0 ? `\`${cut(path.join('.'), 120)}\`` : 'the arguments'
  if (root === 'Request' && field === 'Headers' && names.length > 0)
    return `the header \`${names.join('.')}\``
  return `\`.${[root, ...path].join('.')}\``
}

/** The failure and the arguments involved, without the expression at the end of the message. */
function ofArgs({ message, start, end }: RenderError, { source, references }: Template): string {
  const expression = source.slice(start, end).replace(/\s+/g, ' ')
  const at = message.lastIndexOf(', at ')
  const bare = at >= 0 && expression.startsWith(message.slice(at + 5)) ? message.slice(0, at) : message
  const inside = references.filter((one) => one.path[0] === 'Args' && start <= one.start && one.end <= end)
  const names = [...new Set(inside.map(({ path }) => nameOf(path)))]
  return `${names.length > 0 ? ` with ${names.join(', ')}` : ''}: ${bare}`
}
