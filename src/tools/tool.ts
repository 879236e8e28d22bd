import {
  type Arg,
  DEFAULT_LIMITS,
  headerOf,
  type Limits,
  type Redact,
  type Server,
  type Tool,
} from '../config/model.ts'
import { wholeEndpoint } from '../config/short-form.ts'
import type { Credential, Credentials } from '../credentials/credential.ts'
import type { JsonObject } from '../json/index.ts'
import type { Shaping } from '../json/shaping/index.ts'
import { askedPauseOf, type Connection, type HttpAnswer } from '../net/index.ts'
import type { Template } from '../template/index.ts'
import { lazy, PIECE, pathOf, pause, pauseFor, quote } from '../text/index.ts'
import { type ReadAnswer, readAnswer } from './answer.ts'
import { argsReader, type ReadArgs } from './args.ts'
import { checkSize, querySeparator } from './argument-text.ts'
import type { Body, MadeBody } from './body.ts'
import { type Endpoint, namesOnly, pathTemplate, shownUrl } from './endpoint.ts'
import { asCallError, CallError, obtained } from './failure.ts'
import type { Headers } from './headers.ts'
import { type Mask, maskKnown, maskKnownInPieces, maskOf, SHOWN } from './mask.ts'
import { type Async, isPassing } from './operation.ts'
import { POSITIONS, type Position, RequestDraft } from './positions.ts'
import { type PagesRead, readPages } from './read-pages.ts'
import { answerOutcome, failedOperation, failedOutcome, type Sent, type Shape } from './result.ts'
import { type Root, rootBuilder } from './root.ts'
import { FIELDS } from './schema.ts'
import { callMasks, masked, secretsOfTool, textsToMask } from './secrets.ts'
import { type Answered, ledTo, type SendOptions, send } from './send.ts'
import { compileQuietly, REQUEST_ROOTS, readsArgument } from './templates.ts'
import type {
  CallContext,
  CallOutcome,
  CompileContext,
  CompiledTool,
  Operation,
  Operations,
  Polled,
  Problem,
  RequestPlan,
  ToolDefinition,
  UpstreamRequest,
} from './types.ts'
import type { CompileSchema } from './validators.ts'

/** Data common to the tools of one server. */
export interface ToolContext extends CompileContext {
  server: Server
  serverPath: Problem['path']
  config: Root['Config']
  /** Its `baseUrl`. */
  base: string | undefined
  credentials: Credentials | undefined
  compileSchema: CompileSchema
  problems: Problem[]
}

/** Compiled templates of a tool. */
export interface Parts {
  url: Template
  endpoint: Endpoint
  /** Origins named by the author; others are chosen by arguments. */
  authored: ReadonlySet<string> | undefined
  headers: Headers
  body: Body
  shape: Shape
  /** Templates of `responseBody` and `errorBody`. */
  answers: (Template | undefined)[]
  /** Absent: responses are results. */
  slow: Async | undefined
}

export function limitsOf(tool: Tool, { limits, server }: Pick<ToolContext, 'limits' | 'server'>): Limits {
  return Object.assign({ ...DEFAULT_LIMITS }, limits, server.limits, tool.limits)
}

/** A call ready to be sent. */
interface Plan {
  request: UpstreamRequest
  sent: Sent
  /** Parsed arguments, including `fields`. */
  args: JsonObject
  /** Shaping for this call. */
  shape: Shape
  /** Masks secrets in the answer; computed on demand. */
  mask: () => Mask | undefined
}

/** Never send credentials to a host chosen by an argument. */
const DECIDED =
  'The server has credentials, which are not sent to a host that an argument decides: the endpoint of the tool must name it.'

/** Name and value; a token is unknown before it is fetched. */
function shownCredentials({ credentials }: Server, hidden: boolean): string[] {
  if (!credentials) return []
  const { type, header, value = '' } = credentials
  return type === 'static' ? [header, hidden ? SHOWN : value] : ['Authorization', 'Bearer <token>']
}

/** A tool that is called by HTTP requests. */
export class HttpTool implements CompiledTool {
  readonly operations: Operations | undefined
  private readonly limits: Limits
  private readonly redact: Redact
  private readonly connection: Connection
  private readonly attempts: number
  private readonly readArgs: ReadArgs
  private readonly buildRoot
  /** Arguments that are sent, each with its position. */
  private readonly placed: (Position & { arg: Arg })[]
  /** Names of arguments with a `const`. */
  private readonly constants: ReadonlySet<string>
  private readonly maskedUrl
  private readonly shownPath
  private readonly configured
  private readonly masks
  /** The `credentials` header for requests that are only shown. */
  private readonly shownHeader: string[]

  constructor(
    private readonly tool: Tool,
    readonly definition: ToolDefinition,
    private readonly parts: Parts,
    private readonly context: Omit<ToolContext, 'problems'>,
  ) {
    const { config, env, server, compileSchema } = context
    const { url, headers, body, answers, slow } = parts
    this.limits = limitsOf(tool, context)
    this.operations = slow && this.operationsOf(slow)
    this.redact = server.redact ?? 'own'
    const { proxy = context.connection?.proxy } = tool
    this.connection = { ...context.connection, proxy }
    this.attempts = (tool.retry ?? server.retry)?.attempts ?? 1
    this.shownHeader = shownCredentials(server, context.secrets !== undefined)
    const validate = compileSchema(definition.inputSchema, 'arguments')
    this.readArgs = argsReader(tool, definition.inputSchema, validate, context.log)
    this.buildRoot = lazy(() =>
      rootBuilder(config, [url, body.template, ...answers, ...headers.templates, ...(slow?.templates ?? [])]),
    )
    this.placed = tool.args
      .map((arg) => ({ arg, ...POSITIONS[arg.position] }))
      .filter(({ arg, inUrl }) => !inUrl || !readsArgument(url, arg.name))
    this.constants = new Set(
      tool.args.flatMap(({ name, const: fixed }) => (fixed === undefined ? [] : [name])),
    )
    this.maskedUrl = lazy(() => {
      const shown = wholeEndpoint(tool, server).trimEnd()
      return compileQuietly(shown, 'url', REQUEST_ROOTS, { env: namesOnly(env) }).template
    })
    this.shownPath = lazy(() => maskOf(this.configured())(pathTemplate(wholeEndpoint(tool, server))))
    this.configured = lazy(() =>
      textsToMask(secretsOfTool(tool, server, config, env, context.variables?.()).map(({ value }) => value)),
    )
    this.masks = callMasks(this.configured)
  }

  async call(given: unknown, call: CallContext): Promise<CallOutcome> {
    let plan: Plan | undefined
    try {
      const credential = obtained(this.context.credentials?.of(call))
      plan = await this.plan(given, call, credential)
      const { limits } = this
      const { mask } = plan
      const path = this.shownPath()
      const options = this.sending(call, mask, path, credential)
      const first = await send(plan.request, this.tool, options)
      const { slow } = this.parts
      if (slow && first.answer.status === slow.accepted) return await this.begun(slow, first, plan)
      const { pages } = plan.shape.shaping
      if (!pages || this.tool.method !== 'GET' || first.answer.status >= 300)
        return await this.outcomeOf(first.answer, plan)
      const read = await readPages(plan.request, first, {
        pages,
        limits,
        args: this.tool.args,
        progress: call.progress,
        send: (request, maxResponseSize) =>
          send(request, this.tool, { ...options, limits: { ...limits, maxResponseSize } }),
      })
      return this.withPages(await this.outcomeOf(read.answer, plan), read, mask())
    } catch (error) {
      return this.failed(error, plan?.mask())
    }
  }

  /** Options for the requests of a call that starts now. @param path of the first request, without values */
  private sending(
    { signal, reservation, span, onExchange }: CallContext,
    mask: Plan['mask'],
    path?: string,
    credential?: Credential,
  ): SendOptions {
    const { http, guards, resilience } = this.context
    const { limits, connection, attempts } = this
    const spans = span && { span, ...(path !== undefined && { path }) }
    const { authored } = this.parts
    return {
      http,
      limits,
      guards,
      connection,
      authored,
      resilience,
      attempts,
      mask,
      signal,
      reservation,
      spans,
      credential,
      begin: performance.now(),
      onExchange,
    }
  }

  /** @throws CallError */
  private async begun(slow: Async, answered: Answered, { request, sent, args }: Plan): Promise<CallOutcome> {
    const { status } = answered.answer
    const operation = await slow.begin(answered, request.origin, readAnswer(answered.answer), sent.root, args)
    const text = `${operation.origin} accepted the operation (${status}).`
    const after = pauseOf(answered.answer)
    return { result: { content: [{ type: 'text', text }] }, upstreamStatus: status, operation, after }
  }

  private operationsOf(slow: Async): Operations {
    const { interval, ttl, cancelMethod } = slow
    return {
      interval,
      ttl,
      timeout: this.limits.timeout,
      poll: (operation, call) => this.poll(slow, operation, call),
      ...(cancelMethod !== undefined && {
        cancel: (operation: Operation, call: CallContext) => this.cancel(slow, cancelMethod, operation, call),
      }),
    }
  }

  private async poll(slow: Async, operation: Operation, call: CallContext): Promise<Polled> {
    let mask: Plan['mask'] | undefined
    try {
      const { answer, plan } = await this.follow(slow, operation.poll, operation, call)
      mask = plan.mask
      const state = await slow.stateOf(readAnswer(answer), plan.sent.root)
      if (state === 'running') return { running: true, after: pauseOf(answer) }
      if (state === 'done') return await this.outcomeOf(answer, plan)
      const read = masked(readAnswer(answer), this.redacting(plan.mask()))
      return await failedOperation(read, plan.shape, plan.sent, this.limits)
    } catch (error) {
      const failed = asCallError(error, this.limits)
      return isPassing(failed) ? { running: true } : this.failed(pollFailed(failed, operation), mask?.())
    }
  }

  private async cancel(
    slow: Async,
    method: string,
    operation: Operation,
    call: CallContext,
  ): Promise<CallOutcome> {
    try {
      const target = operation.cancel ?? operation.poll
      const { answer, plan } = await this.follow(slow, target, operation, call, method)
      const { status } = answer
      return status < 300
        ? { result: { content: [] }, upstreamStatus: status }
        : await this.outcomeOf(answer, plan)
    } catch (error) {
      return this.failed(error)
    }
  }

  /**
   * Sends a request about an operation. Headers of the tool are sent only to the call's origin, as after a redirect.
   * @throws CallError without secrets
   */
  private async follow(
    slow: Async,
    target: string,
    operation: Operation,
    call: CallContext,
    method = 'GET',
  ): Promise<{ answer: HttpAnswer; plan: Plan }> {
    const credential = obtained(this.context.credentials?.of(call))
    const { args, shaping } = this.split(operation.args)
    const root = this.buildRoot()(args, call)
    const draft = new RequestDraft(this.limits.maxRequestSize)
    await this.parts.headers.write(draft, root)
    for (const { arg, write } of this.placed)
      if (headerOf(arg) && Object.hasOwn(args, arg.name)) write(draft, arg, args[arg.name]!)
    const from = { method: 'POST', origin: operation.origin, path: '/', headers: draft.headers }
    const mask = this.maskOf(from, args, credential)
    const refusal = (why: string) =>
      new CallError('redirect', `${from.origin} accepted the operation with a ${why}`)
    const { authored: named } = this.parts
    const ask = async () => {
      const request = { ...ledTo(from, target, { toGet: true, mask, refusal, what: 'link' }), method }
      const isOwn = request.origin === from.origin && named?.has(from.origin) === true
      const { answer } = await send(request, this.tool, {
        ...this.sending(call, mask),
        authored: new Set([...(named ?? []), ...slow.authored]),
        ...(isOwn
          ? { credential }
          : { connection: { ...this.connection, tls: this.connection.tls?.elsewhere } }),
      })
      return { request, answer }
    }
    const { request, answer } = await ask().catch((error) => {
      throw this.shown(error, mask())
    })
    // The query may contain secrets.
    const url = async () => request.origin + pathOf(mask()?.(request.path) ?? request.path)
    const keep = shaping.keepsRest ? call.keep : undefined
    const sent = { method, url, root, keep }
    return { answer, plan: { request, sent, args, mask, shape: this.shapedBy(shaping) } }
  }

  async request(given: unknown, call: CallContext): Promise<RequestPlan> {
    try {
      const { request, mask } = await this.plan(given, call)
      request.headers.push(...this.shownHeader)
      return { request, mask: mask() ?? ((text) => text) }
    } catch (error) {
      const { text, detail, failure, place } = asCallError(error, this.limits)
      return { error: detail ?? text, ofArguments: failure === 'arguments', place }
    }
  }

  async respond(given: unknown, call: CallContext, answer: HttpAnswer): Promise<CallOutcome> {
    try {
      return await this.outcomeOf(answer, await this.plan(given, call))
    } catch (error) {
      return this.failed(error)
    }
  }

  private async plan(given: unknown, call: CallContext, credential?: Credential): Promise<Plan> {
    const read = this.readArgs(given)
    const { args, shaping } = this.split(read)
    await pauseFor(args)
    const root = this.buildRoot()(args, call)
    const { origin, path } = await this.parts.endpoint(root)
    const isKnown = credential !== undefined || this.connection.tls?.isIdentity
    if (isKnown && !this.parts.authored?.has(origin)) throw new CallError('credentials', DECIDED)
    const draft = new RequestDraft(this.limits.maxRequestSize)
    await this.parts.headers.write(draft, root)
    await pauseFor(args)
    for (const { arg, write } of this.placed)
      if (Object.hasOwn(args, arg.name)) write(draft, arg, args[arg.name]!)
    const request: UpstreamRequest = {
      method: this.tool.method,
      origin,
      path: draft.query.length > 0 ? path + querySeparator(path) + draft.query.join('&') : path,
      headers: draft.headers,
    }
    this.addBody(request, await this.parts.body.make(root, draft))
    await pauseFor(args)
    const url = async () => shownUrl(origin, this.maskedUrl(), root)
    const keep = shaping.keepsRest ? call.keep : undefined
    const sent = { method: request.method, url, root, keep }
    const mask = this.maskOf(request, args, credential)
    return { request, sent, args: read, mask, shape: this.shapedBy(shaping) }
  }

  private maskOf(request: UpstreamRequest, args: JsonObject, credential?: Credential): Plan['mask'] {
    // Values of the client are no secrets, but constants may be.
    const given = Object.entries(args).filter(([name]) => !this.constants.has(name))
    // Tokens may be renewed during the call.
    return () => this.masks(request, Object.fromEntries(given), credential?.sent())
  }

  /** `fields` is not sent to the upstream. */
  private split(args: JsonObject): { args: JsonObject; shaping: Shaping } {
    const { shaping } = this.parts.shape
    if (!shaping.hasFields) return { args, shaping }
    const { [FIELDS]: fields, ...own } = args
    if (typeof fields !== 'string') return { args: own, shaping }
    const narrowed = shaping.narrowed(fields)
    if (!('fault' in narrowed)) return { args: own, shaping: narrowed }
    const { fault, start, end } = narrowed
    const at = start < end ? ` at ${quote(fields.slice(start, end))}` : ''
    const text = `The argument \`${FIELDS}\` ${fault}${at}. No request was sent; write paths such as \`items[].{id, user.login}\`.`
    throw new CallError('arguments', text)
  }

  private shapedBy(shaping: Shaping): Shape {
    const { shape } = this.parts
    return shaping === shape.shaping ? shape : { ...shape, shaping }
  }

  private addBody(request: UpstreamRequest, made: MadeBody | undefined): void {
    if (!made) return
    const { body, contentType } = made
    checkSize(typeof body === 'string' ? Buffer.byteLength(body) : body.length, this.limits.maxRequestSize)
    request.body = body
    if (contentType) request.headers.push('Content-Type', contentType)
  }

  private async outcomeOf(answer: HttpAnswer, plan: Plan): Promise<CallOutcome> {
    const read = readAnswer(answer)
    const own = plan.mask()
    const shown = answer.body.length > PIECE ? await this.maskedText(read, own) : undefined
    return answerOutcome(masked(read, this.redacting(own), shown), plan.shape, plan.sent, this.limits)
  }

  /** The text of a large answer, masked piece by piece; undefined: masked when it is read. */
  private async maskedText({ kind, text }: ReadAnswer, own: Mask | undefined): Promise<string | undefined> {
    await pause()
    if (this.redact !== 'patterns' || kind === 'binary') return undefined
    const { onRedacted } = this.context
    const shown = own?.(text(), kind === 'json', onRedacted) ?? text()
    return maskKnownInPieces(shown, onRedacted)
  }

  /** Adds the notice about pages to a result. */
  private withPages(outcome: CallOutcome, { count, notice, detail }: PagesRead, mask?: Mask): CallOutcome {
    const { result } = outcome
    const text = notice && (this.redacting(mask)?.(notice) ?? notice)
    if (text && !result.isError) result.content.push({ type: 'text', text })
    return { ...outcome, ...(count > 1 && { pages: count }), ...(detail !== undefined && { detail }) }
  }

  /** @param mask for secrets that a redirect or broken answer may have put into the error */
  private failed(error: unknown, mask?: Mask): CallOutcome {
    const failed = this.shown(error, mask)
    return failedOutcome(failed, failed.text)
  }

  private shown(error: unknown, mask: Mask | undefined): CallError {
    const { failure, text, detail, upstreamStatus, place, login } = asCallError(error, this.limits)
    const shown = this.redacting(mask)?.(text) ?? text
    return new CallError(failure, shown, detail, upstreamStatus, place, login)
  }

  /** The mask for answers, by the server's setting. @param own masks the call's own secrets */
  private redacting(own: Mask | undefined): Mask | undefined {
    const { redact } = this
    const { onRedacted } = this.context
    if (redact === 'off' || (redact === 'own' && !own)) return undefined
    return (text, json) => {
      const shown = own?.(text, json, onRedacted) ?? text
      return redact === 'own' ? shown : maskKnown(shown, json, onRedacted)
    }
  }
}

/** The pause requested by a response; 0 if unreadable. */
function pauseOf({ headers }: HttpAnswer): number {
  const asked = askedPauseOf(headers)
  return Number.isFinite(asked) ? Math.min(asked, 300_000) : 0
}

/** The failure of a poll, after which the operation may still be running. */
function pollFailed(failed: CallError, { origin }: Operation): CallError {
  // Redirect failures already name the target.
  if (failed.failure === 'redirect') return failed
  const text = `${origin} accepted the operation, but its state cannot be read: ${failed.text}`
  return new CallError(failed.failure, text, failed.detail, failed.upstreamStatus)
}
