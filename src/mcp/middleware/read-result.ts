import { memory } from '../../access/memory.ts'
import { limitReached } from '../../access/refusals.ts'
import { isObject, type Json, type JsonObject, plain } from '../../json/index.ts'
import { isOfValue, type Keep, type PartAsked, partOf, READ_RESULT } from '../../json/shaping/index.ts'
import { numberText, pause } from '../../text/index.ts'
import { type Answer, errorAnswer, faultAnswer, ownResult, toolResult, withResult } from '../answer.ts'
import type { Call, Middleware } from '../call.ts'
import { Fault } from '../fault.ts'
import { has, omit, type Request, resourceNotFound } from '../protocol.ts'
import { type KeptResult, type ResultOwner, readInTurn } from './kept-results.ts'

/** URI prefix of a result as a resource, before its id. */
const URI = 'plantgw-result:///'
/** Characters of a part: default and maximum. */
const USUAL = 20_000
const MOST = 100_000

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

/** Answers the reading of kept results, and adds the tool for it to lists. */
export const keptResults: Middleware = async (call, next) => {
  const asked = askedBy(call.request)
  if (asked) return answer(call, asked, locate(call, asked.id))
  return withReadTool(call, await next())
}

/** Whether a request reads a kept result. */
export function readsResult(request: Request): boolean {
  return askedBy(request) !== undefined
}

/** A function that keeps the rest of a call's result; undefined: results are not kept. */
export function keeperOf(call: Call): Keep | undefined {
  const { results, replicas } = call.context
  return (
    results &&
    ((text, isJson) => {
      const handle = results.keep({ text, isJson }, ownerOf(call))
      if (handle === undefined) return undefined
      const id = replicas?.seal(handle) ?? handle
      const how = `For the rest, call \`${READ_RESULT}\` with \`id\`: "${id}".`
      if (!has('resourceLinks', call.revision)) return { how }
      return { how, link: linkTo(id, isJson, call) }
    })
  )
}

function ownerOf({ context, callLog }: Call): ResultOwner {
  return { prefix: callLog.prefix, caller: context.caller, quotaKey: context.lease.quotaKey }
}

function withReadTool(call: Call, answer: Answer): Answer {
  if (call.request.method !== 'tools/list') return answer
  return withResult(answer, (result) => {
    if (!Array.isArray(result.tools)) return undefined
    const others = result.tools.filter((tool) => !isObject(tool) || tool.name !== READ_RESULT)
    return { ...result, tools: result.nextCursor === undefined ? [...others, DEFINITION] : others }
  })
}

function linkTo(id: string, isJson: boolean, { request }: Call): JsonObject {
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

function locate(call: Call, id: string): Place {
  const { results, replicas } = call.context
  const owner = ownerOf(call)
  if (!replicas) return results?.find(id, owner)
  const found = replicas.unseal(id)
  if (!found) return undefined
  if (replicas.isOwn(found.owner)) return results?.find(found.state, owner)
  // Sessions forward their own requests, and a forwarded request is not forwarded again.
  const mayReach = call.sessionId !== undefined || replicas.mayReach(found.owner)
  return mayReach ? { replica: found.owner } : undefined
}

async function answer(call: Call, asked: Asked, place: Place): Promise<Answer> {
  if (!place) return unknown(call, asked)
  if ('replica' in place) {
    const result = await elsewhere(call, place.replica)
    if (result instanceof Fault) return faultAnswer(call, result)
    return result ? passOn(call, asked, result) : unknown(call, asked)
  }
  return 'uri' in asked ? readWhole(call, asked.uri, place) : read(call, asked.args, place)
}

async function readWhole(call: Call, uri: string, result: KeptResult): Promise<Answer> {
  // Each answer is written and counted before the next one.
  await pause()
  const reservation = memory.reserve(call.context.lease.quotaKey)
  const isHeld = reservation.add(result.text.length)
  const answer = isHeld
    ? contentsAnswer(call, [{ uri, mimeType: typeOf(result), text: result.text }])
    : faultAnswer(call, NO_ROOM)
  reservation.close()
  return answer
}

const NO_ROOM = new Fault('busy', limitReached('maxBuffered'))

async function elsewhere(call: Call, replica: string): Promise<JsonObject | Fault | undefined> {
  const { method, params } = call.request
  const gone = new AbortController()
  const abort = () => gone.abort()
  call.signal.addEventListener('abort', abort)
  const request = { method, params: omit(params, '_meta') }
  const result = await call.context.replicas?.ask(replica, request, gone.signal)
  call.signal.removeEventListener('abort', abort)
  return result
}

/** The result from another replica. */
function passOn(call: Call, asked: Asked, { content = [], contents = [], isError }: JsonObject): Answer {
  if ('uri' in asked) return contentsAnswer(call, contents)
  const failure = isError === true ? 'the replica that keeps the result reported an error' : undefined
  return contentAnswer(call, content as JsonObject[], failure)
}

function contentsAnswer(call: Call, contents: Json): Answer {
  const cache = has('caching', call.revision) && { ttlMs: 0, cacheScope: 'private' }
  return ownResult(call, { contents, ...cache })
}

async function read(call: Call, args: JsonObject, result: KeptResult): Promise<Answer> {
  const { text } = result
  const { quotaKey } = call.context.lease
  const asked = partAsked(args)
  const part =
    'fault' in asked
      ? asked
      : isOfValue(asked)
        ? await readInTurn(result, quotaKey, async (value) =>
            call.signal.aborted ? GONE : partOf(text, asked, value),
          )
        : await partOf(text, asked)
  if (!part) return faultAnswer(call, NO_ROOM)
  if ('fault' in part) return contentAnswer(call, [`Nothing was read: ${part.fault}.`], part.fault)
  const { from, of } = part
  if (of === 0 && args.grep !== undefined)
    return contentAnswer(call, ['Nothing in the result contains the text of `grep`.'])
  const end = from + part.text.length
  const place = `Characters ${from} to ${end} of ${of ?? 'more'}.`
  const how = of === undefined || end < of ? ` For the rest, call again with \`offset\`: ${end}.` : ''
  return contentAnswer(call, from === 0 && end === of ? [part.text] : [part.text, place + how])
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
    return { fault: `\`limit\` must be an integer from 1 to ${numberText(MOST)}` }
  return { path: path as string | undefined, grep: grep as string | undefined, offset, limit }
}

function isCount(value: Json, least: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least
}

/** One answer for unknown, expired and other callers' handles. */
function unknown(call: Call, asked: Asked): Answer {
  if ('uri' in asked) return errorAnswer(call, resourceNotFound(asked.uri, call.revision))
  const text = 'No result with this `id` exists, or it has expired. Call the tool that returned it again.'
  return contentAnswer(call, [text], 'unknown result')
}

/** @param failure error reported by the tool; absent: success */
function contentAnswer(call: Call, content: readonly (JsonObject | string)[], failure?: string): Answer {
  const outcome = failure === undefined ? 'ok' : 'tool_error'
  return toolResult(call, content, { outcome, tool: READ_RESULT, failure })
}
