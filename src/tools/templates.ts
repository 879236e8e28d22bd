import type { FindingCode } from '../findings/codes.ts'
import {
  type Compiled,
  compile,
  type Memo,
  type Place,
  RenderError,
  type Roots,
  type Template,
  type TemplateError,
} from '../template/index.ts'
import { CallError } from './failure.ts'
import type { Problem } from './types.ts'
import { unrendered } from './unrendered.ts'

const REQUEST = { Headers: true, Query: true, Cookies: true, Path: true, Body: true } as const
/** What the templates that make a request can read. */
export const REQUEST_ROOTS: Roots = { Config: true, Args: true, Request: REQUEST }
/** What `responseBody` and `errorBody` can read. */
export const RESPONSE_ROOTS: Roots = {
  ...REQUEST_ROOTS,
  Response: { Data: true, Body: true, Status: true, Headers: true },
}
/** The author wrote these values, so URLs take them as they are. */
const TRUSTED = ['Config']

export type Env = Readonly<Record<string, string | undefined>>
export interface CompileTemplate {
  (source: string, path: (string | number)[], place: Place, roots: Roots): Template | undefined
  /**
   * Lets go of what its templates were compiled to, which takes many times the room of their text, until they are
   * rendered again: most tools of many configurations are never called.
   */
  rest(): void
}

/**
 * Compiles templates and writes what is wrong with them into `problems`.
 * @param memo what the same run has compiled already
 */
export function templateCompiler(env: Env, problems: Problem[], memo?: Memo): CompileTemplate {
  const made: Resting[] = []
  const compileOne = (source: string, path: (string | number)[], place: Place, roots: Roots) => {
    const { template, errors } = compileQuietly(source, place, roots, env, memo)
    for (const error of errors) problems.push(problemOf(error, path))
    if (!template) return undefined
    const resting = restingOf(template, place, roots, env)
    made.push(resting)
    return resting.template
  }
  const rest = () => {
    for (const one of made.splice(0)) one.rest()
  }
  return Object.assign(compileOne, { rest })
}

interface Resting {
  template: Template
  rest(): void
}

function restingOf(compiled: Template, place: Place, roots: Roots, env: Env): Resting {
  const { source, references, constant } = compiled
  let awake: Template | undefined = compiled
  const wake = () => {
    awake ??= compileQuietly(source, place, roots, env).template
    if (!awake) throw new CallError('internal', 'A template of this tool cannot be used.')
    return awake
  }
  return {
    template: {
      source,
      references,
      constant,
      render: (root) => constant ?? wake().render(root),
      renderInTurns: (root) => constant ?? wake().renderInTurns(root),
    },
    rest() {
      awake = undefined
    },
  }
}

export function compileQuietly(source: string, place: Place, roots: Roots, env: Env, memo?: Memo): Compiled {
  return (memo?.compile ?? compile)(source, { place, env, roots, trusted: TRUSTED })
}

const CODES: Record<TemplateError['kind'], FindingCode> = {
  parse: 'template-syntax',
  context: 'template-context',
  env: 'env-unset',
}

function problemOf(error: TemplateError, path: (string | number)[]): Problem {
  const { start, end, message, hint } = error
  const problem: Problem = { path, start, end, code: CODES[error.kind], severity: 'error', message }
  if (hint) problem.hint = hint
  return problem
}

/**
 * Renders before any call, in one go.
 * @param what names the template in the error, as `unrendered` says
 * @throws CallError
 */
export function render(template: Template, root: object, what: string): string | undefined {
  try {
    return template.render(root)
  } catch (error) {
    throw callErrorOf(error, template, root, what)
  }
}

/**
 * Renders for a call: what takes long for the caller's values goes on in later turns.
 * @param what names the template in the error, as `unrendered` says
 * @throws CallError
 */
export function renderInTurns(
  template: Template,
  root: object,
  what: string,
): string | undefined | Promise<string | undefined> {
  const failed = (error: unknown): never => {
    throw callErrorOf(error, template, root, what)
  }
  try {
    const text = template.renderInTurns(root)
    return text instanceof Promise ? text.catch(failed) : text
  } catch (error) {
    return failed(error)
  }
}

function callErrorOf(error: unknown, template: Template, root: object, what: string): unknown {
  return error instanceof RenderError ? unrendered(error, template, root, what) : error
}

/** Whether the template may read `.A.B`: directly, or through something that holds it. */
export function reads(template: Template | undefined, ...path: string[]): boolean {
  return (
    template?.references.some((reference) =>
      reference.path.slice(0, path.length).every((segment, i) => segment === path[i]),
    ) ?? false
  )
}

/** Whether the template names the argument, or may read it as one of all of them. */
export function readsArgument({ references }: Template, name: string): boolean {
  const ofArgs = references.filter(({ path }) => path.length === 0 || path[0] === 'Args')
  return ofArgs.some((one) => {
    if (one.path.length > 1) return one.path[1] === name
    // `.Args` inside `index .Args "id"`, which is a reference of its own.
    return !ofArgs.some(({ path, start, end }) => path.length > 1 && start <= one.start && end >= one.end)
  })
}

/** Functions whose result differs from call to call. */
const VARYING = /\b(?:now|ago|uuid\w*|rand\w*|shuffle|gen\w+)\b/

/** Whether the output is the same for every call, since the template reads `Config` at most. */
export function isFixed(template: Template): boolean {
  if (template.constant !== undefined) return true
  return template.references.every(({ path }) => path[0] === 'Config') && !VARYING.test(template.source)
}
