import { memory } from '../access/memory.ts'
import { limitReached } from '../access/refusals.ts'
import { isObject, type Json, type JsonObject, parseVerbatim, plain, stringify } from '../json/index.ts'
import { isOfValue, type PartAsked, partOf, READ_RESULT } from '../shaping/index.ts'
import { pause } from '../text/index.ts'
import type { AnswerableCall, RequestContext, Results } from './context.ts'
import { failing } from './dispatch.ts'
import { Fault } from './fault.ts'
import { type KeptResult, type KeptResults, readInTurn } from './kept-results.ts'
import { INVALID_PARAMS, isSessionRevision, omit, type Request } from './protocol.ts'

/** URI prefix of a result as a resource, before its id. */
const URI = 'plantgw-result:///'
/** Characters of a part: default and maximum. */
const USUAL = 20_000
const MOST = 100_000
/** First revision with resource links in results (2025-06-18, Resource Links). */
const LINKS = '2025-06-18'

/** The tool as listed in `tools/list`. */
const DEFINITION = {
  name: READ_RESULT,
  title: 'Read the rest of a result',
  description:
    'Reads the rest of a result that another tool returned shortened, with an `id`. `path` selects members of JSON, such as `items[].{id, title}`; `grep` keeps only the list items, or lines of text, that contain a text (case-insensitive, not a regular expression). `offset` and `limit` then select a range of characters.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'Id of the result, as the other tool returned it' },
      path: { type: 'string', description: 'Members to keep', maxLength: 2_000 },
      grep: { type: 'string', description: 'Text to find', minLength: 1, maxLength: 1_000 },
      offset: { type: 'integer', description: 'Characters to skip', minimum: 0, default: 0 },
      limit: {
        type: 'integer',
        description: 'Characters to read',
        minimum: 1,
        maximum: MOST,
        default: USUAL,
      },
    },
    required: ['id'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
} satisfies JsonObject

type ResultsOf = Pick<RequestContext, 'caller' | 'replicas' | 'lease'>

/** @param prefix of the route */
export function resultsOf(kept: KeptResults, prefix: string, context: ResultsOf): Results {
  const owner = () => ({ prefix, caller: context.caller, quotaKey: context.lease.quotaKey })
  return {
    keeper: (call) => (text, isJson) => {
      const handle = kept.keep({ text, isJson }, owner())
      if (handle === undefined) return undefined
      const id = context.replicas?.seal(handle) ?? handle
      const how = `For the rest, call \`${READ_RESULT}\` with \`id\`: "${id}".`
      if (isSessionRevision(call.revision) && call.revision < LINKS) return { how }
      return { how, link: linkTo(id, isJson, call) }
    },
    isAsked: (request) => askedBy(request) !== undefined,
    answers(call) {
      const asked = askedBy(call.request)
      if (!asked) return false
      answer(call, asked, locate(kept, owner(), call, asked.id)).catch(failing(call))
      return true
    },
    shown(call, text) {
      if (call.request.method !== 'tools/list') return text
      const raw = parseVerbatim(text)
      const result = isObject(raw) && raw.result
      if (!isObject(raw) || !isObject(result) || !Array.isArray(result.tools)) return text
      const others = result.tools.filter((tool) => !isObject(tool) || tool.name !== READ_RESULT)
      const tools = result.nextCursor === undefined ? [...others, DEFINITION] : others
      return stringify({ ...raw, result: { ...result, tools } })
    },
  }
}

function linkTo(id: string, isJson: boolean, { request }: AnswerableCall): JsonObject {
  const { name: tool } = request.params
  const name = `The whole result of ${typeof tool === 'string' ? tool.slice(0, 200) : 'the call'}`
  return { type: 'resource_link', uri: URI + id, name, mimeType: typeOf({ isJson }) }
}

function typeOf({ isJson }: Pick<KeptResult, 'isJson'>): string {
  return isJson ? 'application/json' : 'text/plain'
}

/** A request for a kept result, by tool or as a resource. */
type Asked = { id: string } & ({ uri: string } | { args: JsonObject })

/** Undefined: another kind of request. */
function askedBy({ method, params }: Request): Asked | undefined {
  if (method === 'resources/read') {
    const { uri } = params
    return typeof uri === 'string' && uri.startsWith(URI) ? { uri, id: uri.slice(URI.length) } : undefined
  }
  if (method !== 'tools/call' || params.name !== READ_RESULT) return undefined
  const given = plain(params.arguments ?? {})
  const args = isObject(given) ? given : {}
  return { args, id: typeof args.id === 'string' ? args.id : '' }
}

/** Location of a result. */
type Place = KeptResult | { replica: string } | undefined

function locate(
  kept: KeptResults,
  owner: Parameters<KeptResults['find']>[1],
  { context: { replicas }, revision }: AnswerableCall,
  id: string,
): Place {
  if (!replicas) return kept.find(id, owner)
  const found = replicas.unseal(id)
  if (!found) return undefined
  if (replicas.isOwn(found.owner)) return kept.find(found.state, owner)
  // Sessions forward their own requests, and a forwarded request is not forwarded again.
  return isSessionRevision(revision) || replicas.mayReach(found.owner) ? { replica: found.owner } : undefined
}

async function answer(call: AnswerableCall, asked: Asked, place: Place): Promise<void> {
  if (place && 'replica' in place) {
    const result = await elsewhere(call, place.replica)
    if (result instanceof Fault) call.fail(result)
    else if (result) passOn(call, asked, result)
    else unknown(call, asked)
  } else if (!place) unknown(call, asked)
  else if ('uri' in asked) await readWhole(call, asked.uri, place)
  else await read(call, asked.args, place)
}

async function readWhole(call: AnswerableCall, uri: string, result: KeptResult): Promise<void> {
  // Each answer is written and counted before the next one.
  await pause()
  const reservation = memory.reserve(call.context.lease.quotaKey)
  if (reservation.add(result.text.length))
    contentsAnswered(call, [{ uri, mimeType: typeOf(result), text: result.text }])
  else call.fail(NO_ROOM)
  reservation.close()
}

const NO_ROOM = new Fault('busy', limitReached('maxBuffered'))

async function elsewhere(call: AnswerableCall, replica: string): Promise<JsonObject | Fault | undefined> {
  const { method, params } = call.request
  const gone = new AbortController()
  const abort = () => gone.abort()
  call.addEventListener('abort', abort)
  const request = { method, params: omit(params, '_meta') }
  const result = await call.context.replicas?.ask(replica, request, gone.signal)
  call.removeEventListener('abort', abort)
  return result
}

/** Answers with the result from another replica. */
function passOn(
  call: AnswerableCall,
  asked: Asked,
  { content = [], contents = [], isError }: JsonObject,
): void {
  if ('uri' in asked) contentsAnswered(call, contents)
  else
    contentAnswered(
      call,
      content,
      isError === true ? 'the replica that keeps the result reported an error' : undefined,
    )
}

function contentsAnswered(call: AnswerableCall, contents: Json): void {
  const cache = isSessionRevision(call.revision) ? {} : { ttlMs: 0, cacheScope: 'private' }
  call.result(resultText(call, { contents, ...cache }))
}

async function read(call: AnswerableCall, args: JsonObject, result: KeptResult): Promise<void> {
  const { text } = result
  const { quotaKey } = call.context.lease
  const asked = partAsked(args)
  const part =
    'fault' in asked
      ? asked
      : isOfValue(asked)
        ? await readInTurn(result, quotaKey, async (value) => (call.over ? GONE : partOf(text, asked, value)))
        : await partOf(text, asked)
  if (!part) {
    call.fail(NO_ROOM)
    return
  }
  if ('fault' in part) {
    answerText(call, [`Nothing was read: ${part.fault}.`], part.fault)
    return
  }
  const { from, of } = part
  if (of === 0 && args.grep !== undefined) {
    answerText(call, ['Nothing in the result contains the text of `grep`.'])
    return
  }
  const end = from + part.text.length
  const place = `Characters ${from} to ${end} of ${of ?? 'more'}.`
  const how = of === undefined || end < of ? ` For the rest, call again with \`offset\`: ${end}.` : ''
  answerText(call, from === 0 && end === of ? [part.text] : [part.text, place + how])
}

const GONE = { fault: 'the call is over' }

function partAsked({
  id: _,
  path,
  grep,
  offset,
  limit = USUAL,
  ...others
}: JsonObject): PartAsked | { fault: string } {
  const [other] = Object.keys(others)
  if (other !== undefined) return { fault: `\`${other.slice(0, 80)}\` is not an argument of ${READ_RESULT}` }
  const isText = (value: Json | undefined, most: number) =>
    value === undefined || (typeof value === 'string' && value !== '' && value.length <= most)
  const { path: forPath, grep: forGrep } = DEFINITION.inputSchema.properties
  if (!isText(path, forPath.maxLength)) return { fault: '`path` must be a string of 1 to 2,000 characters' }
  if (!isText(grep, forGrep.maxLength)) return { fault: '`grep` must be a string of 1 to 1,000 characters' }
  if (offset !== undefined && !isCount(offset, 0))
    return { fault: '`offset` must be an integer of at least 0' }
  if (!isCount(limit, 1) || limit > MOST)
    return { fault: `\`limit\` must be an integer from 1 to ${MOST.toLocaleString('en')}` }
  return { path: path as string | undefined, grep: grep as string | undefined, offset, limit }
}

function isCount(value: Json, least: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least
}

/** One answer for unknown, expired and other callers' handles. */
function unknown(call: AnswerableCall, asked: Asked): void {
  if ('uri' in asked) {
    const code = isSessionRevision(call.revision) ? -32002 : INVALID_PARAMS
    call.error({ code, message: 'Resource not found', data: { uri: asked.uri } })
  } else {
    const text = 'No result with this `id` exists, or it has expired. Call the tool that returned it again.'
    answerText(call, [text], 'unknown result')
  }
}

/** @param failure error reported by the tool; absent: success */
function answerText(call: AnswerableCall, texts: readonly string[], failure?: string): void {
  contentAnswered(
    call,
    texts.map((text) => ({ type: 'text', text })),
    failure,
  )
}

function contentAnswered(call: AnswerableCall, content: Json, failure: string | undefined): void {
  const isError = failure === undefined ? {} : { isError: true }
  const outcome = failure === undefined ? 'ok' : 'tool_error'
  const end = { outcome, tool: READ_RESULT, ...(failure !== undefined && { failure }) } as const
  call.result(resultText(call, { content, ...isError }), end)
}

function resultText({ revision }: AnswerableCall, result: JsonObject): string {
  return stringify(isSessionRevision(revision) ? result : { resultType: 'complete', ...result })
}
