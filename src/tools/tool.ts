import { DEFAULT_LIMITS, type Limits, type Server, type Tool } from '../config/model.ts'
import { giveWay } from '../text/index.ts'
import { argsReader } from './args.ts'
import { checkSize, compileBody } from './body.ts'
import { masked, maskKeeper, secretsOf, secretsOfTool } from './credentials.ts'
import { decodeAnswer, readAnswer } from './decode.ts'
import { compileEndpoint, shownUrl } from './endpoint.ts'
import { type Answer, exchange, type UpstreamRequest } from './exchange.ts'
import { asCallError, CallError, errorResult } from './failure.ts'
import { compileHeaders } from './headers.ts'
import type { Mask } from './mask.ts'
import { isRedirect, MAX_REDIRECTS, redirected } from './redirect.ts'
import { answerTemplate } from './response.ts'
import { errorAnswer, type Sent, type Shape, successResult, unshapedText } from './result.ts'
import { type Root, rootBuilder } from './root.ts'
import { isObjectSchema, toolDefinition } from './schema.ts'
import {
  compileQuietly,
  type Env,
  REQUEST_ROOTS,
  RESPONSE_ROOTS,
  readsArgument,
  templateCompiler,
} from './templates.ts'
import type { CallContext, CompileContext, CompiledTool, Outcome, Pools, Problem } from './types.ts'
import type { CompileSchema } from './validators.ts'
import { lazy, queryPairs } from './values.ts'

/** Everything that does not change between the tools of one server. */
export interface ToolContext extends CompileContext {
  server: Server
  config: Root['Config']
  compileSchema: CompileSchema
  problems: Problem[]
}

/** Compiles one tool; what is wrong with it goes into `problems`. Undefined when it cannot be called. */
export function compileTool(
  tool: Tool,
  path: (string | number)[],
  context: ToolContext,
): CompiledTool | undefined {
  const { config, env, pools, problems, server, compileSchema } = context
  const before = problems.length
  const compile = templateCompiler(env, problems, context.memo)
  const limits = mergeLimits(context.limits, server.limits, tool.limits)
  const definition = toolDefinition(tool)

  const endpointPath = [...path, 'endpoint']
  const url = compile(tool.endpoint.trimEnd(), endpointPath, 'url', REQUEST_ROOTS)
  const target = url && compileEndpoint(url, tool.args, config)
  if (target?.fault)
    problems.push({
      path: endpointPath,
      code: 'invalid-value',
      severity: 'error',
      message: `The endpoint ${target.fault}`,
      ofTemplate: target.ofTemplate ?? false,
      hint: 'Write a URL such as https://api.example.com/users/{{.Args.id}}',
    })
  const headers = compileHeaders(tool, path, config, compile, problems)
  const body = compileBody(tool, path, headers, limits.maxRequestSize, compile, problems)
  const [responseBody, errorBody] = (['responseBody', 'errorBody'] as const).map((key) => {
    const source = tool[key]
    return source === undefined ? undefined : compile(source, [...path, key], 'auto', RESPONSE_ROOTS)
  })
  const shape: Shape = {
    responseBody: responseBody && answerTemplate(responseBody, 'responseBody'),
    errorBody: errorBody && answerTemplate(errorBody, 'errorBody'),
    output: undefined,
  }
  if (definition.outputSchema)
    shape.output = {
      validate: compileSchema(definition.outputSchema, 'output-schema'),
      wrapped: !isObjectSchema(tool.outputSchema!),
    }
  compile.rest()
  if (!target || problems.slice(before).some(({ severity }) => severity === 'error')) return undefined

  const readArgs = argsReader(
    tool,
    definition.inputSchema,
    compileSchema(definition.inputSchema, 'arguments'),
  )
  const buildRoot = lazy(() =>
    rootBuilder(config, [url, body.template, responseBody, errorBody, ...headers.templates]),
  )
  // What the endpoint names itself is not sent again.
  const query = tool.args
    .filter(({ name, position }) => position === 'query' && !readsArgument(url, name))
    .map(({ name }) => name)
  const maskedUrl = lazy(
    () => compileQuietly(tool.endpoint.trimEnd(), 'url', REQUEST_ROOTS, maskEnv(env)).template,
  )

  const configured = lazy(() => secretsOfTool(tool, server, config, env))
  const keepMask = maskKeeper()

  const plan = async (given: unknown, call: CallContext): Promise<Plan> => {
    // A batch may hold thousands of calls.
    await giveWay()
    const args = readArgs(given)
    await giveWay()
    const root = buildRoot()(args, call)
    const { origin, path } = await target.endpoint(root)
    const request: UpstreamRequest = {
      method: tool.method,
      origin,
      path: query.length > 0 ? withQuery(path, query, args) : path,
      headers: await headers.make(root, args),
    }
    await giveWay()
    const made = await body.make(root, args)
    if (made) {
      request.body = made.body
      if (made.contentType) request.headers.push('Content-Type', made.contentType)
      checkSize(made.body, limits.maxRequestSize)
    }
    await giveWay()
    const url = async () => shownUrl(origin, maskedUrl(), root)
    const mask = lazy(() => keepMask(secretsOf(request, args, configured())))
    return { request, sent: { method: tool.method, url, root }, mask }
  }

  return {
    definition,
    async call(given, call) {
      let planned: Plan | undefined
      try {
        planned = await plan(given, call)
        return await outcomeOf(await send(planned, tool, limits, pools, call), shape, planned)
      } catch (error) {
        return failedOutcome(error, planned?.mask())
      }
    },
    async request(given, call) {
      try {
        return { request: (await plan(given, call)).request }
      } catch (error) {
        const { text, detail } = asCallError(error)
        return { error: detail ?? text }
      }
    },
    async respond(given, call, answer) {
      try {
        return await outcomeOf(answer, shape, await plan(given, call))
      } catch (error) {
        return failedOutcome(error)
      }
    },
  }
}

/** A call that is ready to be sent. */
interface Plan {
  request: UpstreamRequest
  sent: Sent
  /** Of what the answer must not repeat; made when there is one. */
  mask: () => Mask | undefined
}

/** What an answer of the upstream comes to. */
async function outcomeOf(answer: Answer, shape: Shape, { sent, mask }: Plan): Promise<Outcome> {
  const { status: upstreamStatus } = answer
  await giveWay()
  const read = masked(readAnswer(answer), mask())
  try {
    if (upstreamStatus < 300) return { result: await successResult(read, shape, sent), upstreamStatus }
    const failure = upstreamStatus < 400 ? 'redirect' : 'status'
    const { result, failed } = await errorAnswer(read, shape, sent)
    const detail = failed?.detail
    return { result, upstreamStatus, failure, ...(detail !== undefined && { detail }) }
  } catch (error) {
    const failed = asCallError(error)
    const result = errorResult(await unshapedText(read, sent, failed))
    return { result, upstreamStatus, ...failureOf(failed) }
  }
}

/** @param mask of what a redirect or a broken answer may have brought into the error */
function failedOutcome(error: unknown, mask?: Mask): Outcome {
  const failed = asCallError(error)
  return { result: errorResult(mask?.(failed.text) ?? failed.text), ...failureOf(failed) }
}

function failureOf({ failure, detail }: CallError): Pick<Outcome, 'failure' | 'detail'> {
  return detail === undefined ? { failure } : { failure, detail }
}

/** Sends, follows redirects where the tool says so, and undoes encodings; all within one time-out. */
async function send(
  { request: first, mask }: Plan,
  tool: Tool,
  limits: Limits,
  pools: Pools,
  { signal, hold }: Pick<CallContext, 'signal' | 'hold'>,
): Promise<Answer> {
  const { timeout, connectTimeout, maxResponseSize } = limits
  const begin = performance.now()
  let request = first
  for (let hops = 0; ; hops++) {
    const dispatcher = pools.get(request.origin, connectTimeout, tool.proxy)
    const remaining = hops === 0 ? timeout : timeout - (performance.now() - begin)
    const answer = await exchange(request, {
      dispatcher,
      remaining,
      timeout,
      maxResponseSize,
      signal,
      ...(hold && { hold }),
      proxied: tool.proxy !== undefined,
    })
    if (!tool.followRedirects || !isRedirect(answer))
      return answer.headers['content-encoding'] === undefined
        ? answer
        : decodeAnswer(answer, maxResponseSize, request.origin, hold)
    if (hops === MAX_REDIRECTS)
      throw new CallError(
        'redirect',
        `${first.origin} redirects more than ${MAX_REDIRECTS} times; the call was given up.`,
      )
    request = redirected(request, answer, { sendsBody: tool.redirectBody === true, mask })
  }
}

function withQuery(path: string, names: string[], args: { [name: string]: unknown }): string {
  const pairs: string[] = []
  for (const name of names)
    if (Object.hasOwn(args, name)) for (const pair of queryPairs(name, args[name] as never)) pairs.push(pair)
  if (pairs.length === 0) return path
  const separator = !path.includes('?') ? '?' : /[?&]$/.test(path) ? '' : '&'
  return path + separator + pairs.join('&')
}

function mergeLimits(...limits: (Partial<Limits> | undefined)[]): Limits {
  return Object.assign({ ...DEFAULT_LIMITS }, ...limits)
}

/** Every variable as its name in braces, unless it is an address. */
function maskEnv(env: Env): Env {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      value && /^https?:\/\/[^@?]*$/i.test(value) ? value : `{${name}}`,
    ]),
  )
}
