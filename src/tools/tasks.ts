import type { Seal } from '../cluster/seal.ts'
import { RESULT_TOOL_NAME } from '../config/model.ts'
import { type Json, type JsonObject, parse, plain, stringify } from '../json/index.ts'
import {
  type Call,
  type CallEnd,
  Cancellation,
  CLIENT_CAPABILITIES,
  declares,
  has,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  metaOf,
  missingCapability,
  type RpcError,
} from '../mcp/index.ts'
import { waitFor } from '../net/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { metricOutcome } from './failure.ts'
import type {
  CallContext,
  CallOutcome,
  Method,
  MethodAnswer,
  Operation,
  Operations,
  ToolDefinition,
  ToolResult,
  Tools,
} from './types.ts'

/** Tasks of 2025-11-25 and of the extension `io.modelcontextprotocol/tasks`, backed by operations. */

export const TASKS_EXTENSION = ['extensions', 'io.modelcontextprotocol/tasks'] as const
/** `tasks` of 2025-11-25, without `tasks/list`, which would require stored tasks. */
export const TASKS_CAPABILITY: JsonObject = { cancel: {}, requests: { tools: { call: {} } } }
const RELATED = 'io.modelcontextprotocol/related-task'

/** The tool with which clients without tasks support get results of operations. */
export const RESULT_TOOL: ToolDefinition = {
  name: RESULT_TOOL_NAME,
  title: 'Get the result of an operation',
  description:
    'Waits for an operation that another tool has started, and returns its result. If the operation is still running after some time, call this tool again with the same id.',
  inputSchema: {
    type: 'object',
    properties: { id: { type: 'string', description: 'The id that the other tool returned' } },
    required: ['id'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
}

/** Maximum characters of an id for a header (2026-07-28: `Mcp-Name`), or for a model to repeat. */
const MAX_SHORT_ID = 6_000
/** Maximum bytes of a result or operation sealed in a task id. */
const MAX_SEALED = 256 * 1024

/** Content of a task id, readable only by this gateway. */
interface Known {
  tool: string
  /** Milliseconds since the epoch. */
  createdAt: number
  /** Milliseconds after `createdAt`. */
  ttl: number
  /** Absent: the API answered at once. */
  operation?: Operation
  result?: ToolResult
}

/** A task that the client may use. */
type Found = Known & { of: Operations }

type Status = 'working' | 'completed' | 'failed' | 'cancelled'

interface TaskParts {
  tools: Tools
  seal: Seal
  /** Identifies the server, as several may be behind one prefix. */
  owner: string
  /** The parts of a call that templates and requests read. */
  contextOf: (call: Call) => CallContext
  /** Milliseconds since the epoch. Default: the clock. */
  now?: () => number
}

/** The end of a call with this outcome. @param tool for the metrics of tools */
function endOf(
  { failure, detail, upstreamStatus, pages, savedChars, login }: CallOutcome,
  tool?: string,
): CallEnd {
  const outcome = metricOutcome(failure, upstreamStatus)
  return { outcome, failure, detail, upstreamStatus, tool, pages, savedChars, login }
}

/** The answer for this outcome. @param tool for the metrics of tools */
export function answerOf(outcome: CallOutcome, tool?: string): MethodAnswer {
  const end = endOf(outcome, tool)
  if (!outcome.result._meta) return { result: stringify(outcome.result), end }
  const { _meta: meta, ...result } = outcome.result
  return { result: stringify(result), meta, end }
}

/** Whether a call requests a task (2025-11-25). */
export function asksTask({ revision, request: { params } }: Call): boolean {
  return has('tasks', revision) && isObject(params.task)
}

/** Whether the client supports the extension. */
export function declaresTasks(params: JsonObject): boolean {
  const capabilities = metaOf(params)[CLIENT_CAPABILITIES]
  return isObject(capabilities) && declares(capabilities, TASKS_EXTENSION)
}

/**
 * Answers tools with `async`. Tasks are not stored: the id contains all that any replica needs, sealed for the caller
 * and prefix. Expired, altered and other callers' ids get the same answer.
 */
export class Tasks {
  readonly methods: ReadonlyMap<string, Method>
  private readonly now: () => number

  constructor(private readonly parts: TaskParts) {
    this.now = parts.now ?? Date.now
    this.methods = new Map([
      ['tasks/get', this.method('both', (...given) => this.get(...given))],
      ['tasks/cancel', this.method('both', (...given) => this.cancel(...given))],
      ['tasks/result', this.method('tasks', (...given) => this.payload(...given))],
      // Operations never request input.
      ['tasks/update', this.method('extension', async () => ({ result: '{}' }))],
    ])
  }

  /** The answer to `tools/call` after the API's response. @param begin start of the call, by `performance.now()` */
  async answerAfter(
    tool: string,
    of: Operations,
    outcome: CallOutcome,
    call: Call,
    begin: number,
  ): Promise<MethodAnswer> {
    const { operation } = outcome
    const known: Known = { tool, createdAt: this.now(), ttl: of.ttl, ...(operation && { operation }) }
    if (asksTask(call)) return this.created(known, of, outcome, call, begin)
    if (!operation) return answerOf(outcome, tool)
    const { revision, request } = call
    if (has('taskExtension', revision) && declaresTasks(request.params)) {
      const id = this.idOf(known, call)
      if (id.length <= MAX_SHORT_ID) {
        const result = stringify(this.shown(id, known, of, 'working', call, outcome.after))
        return { result, resultType: 'task', end: endOf(outcome, tool) }
      }
    }
    const polled = await this.wait(operation, of, call, begin + of.timeout, outcome.after ?? 0)
    const hasSchema = this.parts.tools.get(tool)?.definition.outputSchema !== undefined
    return answerOf(polled ?? this.handleOf(known, call, hasSchema), tool)
  }

  /** Answers a call of `get_operation_result`. */
  async result(params: JsonObject, call: Call): Promise<MethodAnswer> {
    const { id } = isObject(params.arguments) ? params.arguments : {}
    const known = this.open(id, call)
    const tool = RESULT_TOOL.name
    if (!known?.operation) {
      const text =
        'No operation with this id exists, or it has expired. If its result is needed, call the tool that started it again.'
      const content = [{ type: 'text' as const, text }]
      return answerOf({ result: { content, isError: true }, failure: 'arguments' }, tool)
    }
    const polled = await this.wait(known.operation, known.of, call, performance.now() + known.of.timeout)
    return answerOf(polled ?? this.handleOf(known, call, false), tool)
  }

  /** Creates a 2025-11-25 task, whatever the API responded. */
  private async created(
    known: Known,
    of: Operations,
    outcome: CallOutcome,
    call: Call,
    begin: number,
  ): Promise<MethodAnswer> {
    const { ttl } = plain(call.request.params.task!) as JsonObject
    if (typeof ttl === 'number' && ttl > 0) known.ttl = Math.min(ttl, of.ttl)
    const { operation } = known
    if (operation && Buffer.byteLength(stringify(operation)) > MAX_SEALED) {
      const polled = await this.wait(operation, of, call, begin + of.timeout, outcome.after ?? 0)
      delete known.operation
      known.result = sealable((polled ?? LOST).result)
    } else if (!operation) known.result = sealable(outcome.result)
    const task = this.shown(this.idOf(known, call), known, of, 'working', call, outcome.after)
    return { result: stringify({ task }), end: endOf(outcome, known.tool) }
  }

  private boundOf({ callLog, context }: Call): string {
    return JSON.stringify([this.parts.owner, callLog.prefix, context.caller ?? null])
  }

  private idOf({ tool, createdAt, ttl, operation, result }: Known, call: Call): string {
    const all = [tool, createdAt, ttl, operation ?? null, result ?? null]
    return this.parts.seal.close(stringify(all), this.boundOf(call))
  }

  private open(id: Json | undefined, call: Call): Found | undefined {
    const { seal, tools } = this.parts
    const text = typeof id === 'string' ? seal.open(id, this.boundOf(call)) : undefined
    if (text === undefined) return undefined
    const [tool, createdAt, ttl, operation, result] = parse(text) as [string, number, number, Json, Json]
    const of = tools.get(tool)?.operations
    if (!of || this.now() > createdAt + ttl) return undefined
    return {
      tool,
      createdAt,
      ttl,
      of,
      ...(operation !== null && { operation: operation as Operation }),
      ...(result !== null && { result: result as unknown as ToolResult }),
    }
  }

  /** A task in the form of the client's revision. */
  private shown(
    id: string,
    { createdAt, ttl }: Known,
    of: Operations,
    status: Status,
    { revision }: Call,
    after = 0,
  ): JsonObject {
    const [life, poll] = has('taskExtension', revision)
      ? ['ttlMs', 'pollIntervalMs']
      : ['ttl', 'pollInterval']
    return {
      taskId: id,
      status,
      createdAt: new Date(createdAt).toISOString(),
      lastUpdatedAt: new Date(this.now()).toISOString(),
      [life]: ttl,
      [poll]: Math.max(of.interval, after),
    }
  }

  /**
   * Polls an operation; undefined: it is still running at the deadline.
   * @param deadline by `performance.now()`
   * @param before milliseconds that the API asked to wait after accepting the call; absent: poll at once
   */
  private async wait(
    operation: Operation,
    of: Operations,
    call: Call,
    deadline: number,
    before?: number,
  ): Promise<CallOutcome | undefined> {
    const context = this.parts.contextOf(call)
    const begins = before !== undefined
    let after = before
    for (let polls = begins ? 1 : 0; ; polls++) {
      if (after !== undefined) {
        const interval = Math.max(of.interval, after)
        if (performance.now() + interval >= deadline) return undefined
        await waitFor(interval, call.signal)
      }
      const polled = call.signal.aborted ? CANCELLED : await of.poll(operation, context)
      if (call.signal.aborted && begins) {
        // The client cancelled the call, and no other client can continue it.
        const late = { ...context, signal: new Cancellation() }
        of.cancel?.(operation, late).catch(unexpected('the cancellation of an operation'))
      }
      if (!('running' in polled)) return polled
      if (call.signal.aborted) return CANCELLED
      after = polled.after ?? 0
      context.progress?.(polls + 1, 'The operation is still running')
    }
  }

  /** A result that lets a client without tasks continue. */
  private handleOf(known: Known, call: Call, hasSchema: boolean): CallOutcome {
    const id = this.idOf(known, call)
    const how =
      id.length > MAX_SHORT_ID
        ? LATER
        : `Do not repeat the call: it would begin another operation. To get the result, call the tool \`${RESULT_TOOL.name}\` with ${JSON.stringify({ id })}.`
    const content = [{ type: 'text' as const, text: `${GOING}${how}` }]
    // Clients validate successful results against the tool's schema.
    return { result: { content, ...(hasSchema && { isError: true }) } }
  }

  /** Wraps a handler of a known task. */
  private method(
    of: 'tasks' | 'extension' | 'both',
    act: (found: Found, id: string, call: Call) => Promise<MethodAnswer>,
  ): Method {
    return async (params, call) => {
      const isExtension = has('taskExtension', call.revision)
      if (of !== 'both' && (of === 'extension') !== isExtension)
        return { error: { code: METHOD_NOT_FOUND, message: `Method not found: ${call.request.method}` } }
      if (isExtension && !declaresTasks(params)) return { error: missingCapability(TASKS_EXTENSION) }
      const found = this.open(params.taskId, call)
      return found ? act(found, params.taskId as string, call) : { error: UNKNOWN_TASK }
    }
  }

  private async get(found: Found, id: string, call: Call): Promise<MethodAnswer> {
    const { of, operation, result } = found
    const polled = operation
      ? await of.poll(operation, this.parts.contextOf(call))
      : ({ result } as CallOutcome)
    if ('running' in polled)
      return { result: stringify(this.shown(id, found, of, 'working', call, polled.after)) }
    const isExtension = has('taskExtension', call.revision)
    // An error result fails a 2025-11-25 task (Tasks, Task Execution Errors), and completes others.
    const status = !isExtension && polled.result.isError ? 'failed' : 'completed'
    const task = this.shown(id, found, of, status, call)
    const whole = isExtension ? { ...task, result: { resultType: 'complete', ...polled.result } } : task
    return { result: stringify(whole), end: endOf(polled) }
  }

  /** Waits for the end of a task, while the client waits and the task has not expired. */
  private async payload(found: Found, id: string, call: Call): Promise<MethodAnswer> {
    const { of, operation, result, createdAt, ttl } = found
    const polled = operation
      ? await this.wait(operation, of, call, performance.now() + createdAt + ttl - this.now())
      : ({ result } as CallOutcome)
    if (!polled) return { error: UNKNOWN_TASK }
    const _meta = { ...polled.result._meta, [RELATED]: { taskId: id } }
    return answerOf({ ...polled, result: { ...polled.result, _meta } })
  }

  private async cancel(found: Found, id: string, call: Call): Promise<MethodAnswer> {
    const { of, operation } = found
    const outcome = operation && (await of.cancel?.(operation, this.parts.contextOf(call)))
    // The acknowledgement is unconditional.
    if (has('taskExtension', call.revision)) return { result: '{}', end: outcome && endOf(outcome) }
    if (!outcome) return { error: { code: INVALID_PARAMS, message: 'The task cannot be cancelled' } }
    if (outcome.result.isError)
      return { error: { code: INTERNAL_ERROR, message: 'The API did not cancel the operation' } }
    return { result: stringify(this.shown(id, found, of, 'cancelled', call)), end: endOf(outcome) }
  }
}

/** The error for expired, unknown and other callers' tasks. */
export const UNKNOWN_TASK: RpcError = {
  code: INVALID_PARAMS,
  message: 'There is no such task, or it has expired',
}
const GOING = 'The operation was accepted and is still running. '
const LATER =
  'Its result cannot be retrieved later because the arguments of the call are too long. Do not repeat the call: it would begin another operation.'
/** The outcome of an operation that outlasts the call, and does not fit into an id. */
const LOST: CallOutcome = { result: { content: [{ type: 'text', text: GOING + LATER }], isError: true } }
const CANCELLED: CallOutcome = {
  result: { content: [{ type: 'text', text: 'The call was cancelled.' }], isError: true },
  failure: 'cancelled',
}

/** A result small enough for an id. */
function sealable(result: ToolResult): ToolResult {
  if (Buffer.byteLength(stringify(result)) <= MAX_SEALED) return result
  const text = 'The API responded, but the response is too long for a task. Call the tool without a task.'
  return { content: [{ type: 'text', text }], isError: true }
}
