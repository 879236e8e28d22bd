import { headerOf, pathArgsOf, type Tool } from '../config/model.ts'
import { isBelowBase } from '../config/short-form.ts'
import type { JsonObject } from '../json/index.ts'
import type { Template } from '../template/index.ts'
import type { ReadAnswer } from './answer.ts'
import { authoredOrigins, below } from './endpoint.ts'
import { CallError, type Failure } from './failure.ts'
import { type AnswerTemplate, answerTemplate } from './result.ts'
import type { Root } from './root.ts'
import type { Answered } from './send.ts'
import { type CompileTemplate, pathsOf, RESPONSE_ROOTS } from './templates.ts'
import type { Operation, Problem } from './types.ts'

/** Operations that continue after the API's response: `async` of a tool. */

/** `async` of a tool, compiled. */
export interface Async {
  /** Status of a response that begins an operation. */
  accepted: number
  /** Milliseconds between two polls. */
  interval: number
  /** Milliseconds. */
  ttl: number
  /** Absent: it cannot be cancelled. */
  cancelMethod: string | undefined
  templates: readonly Template[]
  /** Origins named by the author in addition to the endpoint's. */
  authored: ReadonlySet<string>
  /** @param origin of the call, before redirects @throws CallError */
  begin(
    answered: Answered,
    origin: string,
    read: ReadAnswer,
    root: Root,
    args: JsonObject,
  ): Promise<Operation>
  /** State according to a poll response. @throws CallError */
  stateOf(read: ReadAnswer, root: Root): Promise<'running' | 'done' | 'failed'>
}

/** Statuses that reveal nothing about the operation, so polling continues. */
const TRANSIENT = new Set([429, 502, 503, 504])
/** Failures of polls after which polling continues. */
const PASSING: ReadonlySet<Failure> = new Set(['timeout', 'connect', 'network', 'breaker', 'no-room'])

/** Whether a failed poll reveals nothing about the operation. */
export function isPassing({ failure }: CallError): boolean {
  return PASSING.has(failure)
}

/** @param others further templates rendered when the operation is done */
export function compileAsync(
  tool: Tool,
  path: Problem['path'],
  compile: CompileTemplate,
  { config, base }: { config: Root['Config']; base: string | undefined },
  others: readonly (Template | undefined)[],
): Async | undefined {
  const given = tool.async
  if (!given) return undefined
  const templateOf = (source: string | undefined, at: string[], place: 'url' | 'text') => {
    if (source === undefined) return undefined
    const key = [...path, 'async', ...at]
    const template = compile(source.trim(), key, place, RESPONSE_ROOTS, pathArgsOf(tool.args))
    const isBelow = place === 'url' && base !== undefined && isBelowBase(source)
    return template && isBelow ? below(base, template) : template
  }
  const poll = templateOf(given.poll, ['poll'], 'url')
  const cancel = templateOf(given.cancel?.endpoint, ['cancel', 'endpoint'], 'url')
  const [done, failed] = (['done', 'failed'] as const).map((key) => templateOf(given[key], [key], 'text'))
  const readOf = (template: Template | undefined, what: string) => template && answerTemplate(template, what)
  const pollUrl = readOf(poll, 'async.poll')
  const cancelUrl = readOf(cancel, 'async.cancel.endpoint')
  const isDone = readOf(done, 'async.done')
  const isFailed = readOf(failed, 'async.failed')
  const isPresent = (template: Template | undefined): template is Template => template !== undefined
  const templates = [poll, cancel, done, failed].filter(isPresent)
  const keep = keeperOf(tool, [done, failed, ...others].filter(isPresent))
  const { accepted, interval, ttl } = given
  return {
    accepted,
    interval,
    ttl,
    cancelMethod: given.cancel?.method.toUpperCase(),
    templates,
    authored: new Set(
      [poll, cancel].flatMap((one) => (one ? [...authoredOrigins(one, tool.args, config)] : [])),
    ),
    async begin({ answer, request }, origin, read, root, args) {
      const { location } = answer.headers
      const target = pollUrl ? await pollUrl.render(root, read) : location
      if (typeof target !== 'string' || target === '')
        throw new CallError('status', unpollable(answer.status, 'without a Location header', request.origin))
      const base = request.origin + request.path
      const absolute = (text: string) => {
        if (URL.canParse(text, base)) return new URL(text, base).href
        throw new CallError(
          'status',
          unpollable(answer.status, 'with an address that is not a URL', request.origin),
        )
      }
      const stop = cancelUrl && absolute(await cancelUrl.render(root, read))
      return { origin, poll: absolute(target), cancel: stop ?? null, args: keep(args) }
    },
    async stateOf(read, root) {
      const { status } = read.answer
      if (TRANSIENT.has(status)) return 'running'
      if (status >= 300) return 'done'
      if (await holds(isFailed, root, read)) return 'failed'
      const isOver = isDone ? await holds(isDone, root, read) : status !== accepted
      return isOver ? 'done' : 'running'
    },
  }
}

function unpollable(status: number, why: string, origin: string): string {
  return `${origin} accepted the request (${status}), but ${why}, so its result cannot be retrieved. The operation may still be carried out.`
}

/** A condition is a template that renders `true`. */
async function holds(condition: AnswerTemplate | undefined, root: Root, read: ReadAnswer): Promise<boolean> {
  return condition !== undefined && (await condition.render(root, read)).trim() === 'true'
}

/** Reduces the arguments of a call to those needed later: by headers of polls, and by these templates. */
function keeperOf(tool: Tool, templates: readonly Template[]): (args: JsonObject) => JsonObject {
  const paths = templates.flatMap(pathsOf).filter(([root]) => root === undefined || root === 'Args')
  if (paths.some((path) => path.length < 2)) return (args) => args
  const inHeaders = tool.args.filter(headerOf).map(({ name }) => name)
  const names = new Set([
    ...inHeaders,
    ...paths.map((path) => path[1]),
    ...(tool.response?.fields ? ['fields'] : []),
  ])
  return (args) => Object.fromEntries(Object.entries(args).filter(([name]) => names.has(name)))
}
