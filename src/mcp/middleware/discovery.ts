import {
  CALL,
  CALL_READ,
  type Catalogue,
  createCatalogue,
  DISCOVERY_TOOLS,
  type Discovery,
  type DiscoveryAnswer,
  isReadOnly,
  readToolCall,
  SEARCH,
  signatureOf,
} from '../../discovery/index.ts'
import { isObject, type JsonObject, parseVerbatim, stringify } from '../../json/index.ts'
import { pause, shorten } from '../../text/index.ts'
import { type Answer, errorAnswer, faultAnswer, resultAnswer, toolResult } from '../answer.ts'
import type { Call, Middleware } from '../call.ts'
import { Fault } from '../fault.ts'
import type { Listing } from '../listing.ts'
import { INVALID_PARAMS } from '../protocol.ts'
import { type ListedTools, listedTool, listedTools, listSource } from './listed-tools.ts'
import { refusal } from './permissions.ts'

/**
 * Finds, describes and calls tools for clients that list only some of them. A call of `call_tool` is replaced by the
 * call of the named tool before any check, so all checks of direct calls apply.
 */

/** Answers lists and searches of clients that list only some tools, and checks what they call by `call_tool`. */
export const discovery: Middleware = async (call, next) => {
  const { listing } = call
  if (!listing || !isDiscovered(call)) return next()
  const { request } = call
  const { method, params, via } = request
  const policy = call.context.route.discovery as Discovery
  const source = listSource(call)
  const isList = method === 'tools/list'
  // A client asks for the list again after `list_changed`, so it gets a fresh one.
  const found =
    via === undefined ? await listedTools(source, isList) : await listedTool(params.name as string, source)
  // Otherwise all calls that waited for the list would be processed in one tick.
  await pause()
  if (found instanceof Fault) return faultAnswer(call, found)
  const list = 'list' in found ? found.list : found
  const catalogue = catalogueOf(list, policy)
  if (isList) return listAnswer(call, listing, list, catalogue) ?? next()
  if (via === undefined) return textAnswer(call, await toolAnswer(call, catalogue))
  const name = params.name as string
  const refused = callRefusal(call, name, via, catalogue)
  if (refused) return refused
  return withSignature(await next(), signatureOf(catalogue.get(name) as JsonObject))
}

function isDiscovered({ request: { method, params, via } }: Call): boolean {
  return (
    via !== undefined ||
    method === 'tools/list' ||
    (method === 'tools/call' && typeof params.name === 'string' && DISCOVERY_TOOLS.has(params.name))
  )
}

/** The answer to `tools/list`; undefined: the backend's own. */
function listAnswer(
  call: Call,
  listing: Listing,
  { rest }: ListedTools,
  catalogue: Catalogue,
): Answer | undefined {
  const { above } = call.context.route.discovery as Discovery
  if (listing.mode === 'auto') listing.searches ??= catalogue.tokens > above
  const whole = listing.mode === 'auto' && !listing.searches
  if (whole && !catalogue.clashes) return undefined
  if (call.request.params.cursor !== undefined)
    return errorAnswer(call, {
      code: INVALID_PARAMS,
      message: 'Invalid cursor: the list is one page, ask without a cursor',
    })
  return resultAnswer(call, stringify({ ...rest, tools: catalogue.list(whole) }))
}

/** The answer to a `call_tool` that may not go on. */
function callRefusal(call: Call, name: string, via: string, catalogue: Catalogue): Answer | undefined {
  const tool = catalogue.get(name)
  if (!tool) {
    // A token with more scopes might allow the call.
    const isLacking = call.context.permissions?.lacks('tools', name) !== undefined
    const refused = isLacking ? refusal(call) : undefined
    return refused ?? textAnswer(call, { text: catalogue.unknown(name), isError: true })
  }
  if (via !== CALL_READ || isReadOnly(tool)) return undefined
  const text = `The call was not sent: ${shorten(name, 80)} is not read-only (it has no readOnlyHint), so it may change something. Call it with ${CALL}.`
  return textAnswer(call, { text, isError: true })
}

/** The answer of a discovery tool. */
async function toolAnswer({ request: { params } }: Call, catalogue: Catalogue): Promise<DiscoveryAnswer> {
  const name = params.name as string
  if (name === CALL || name === CALL_READ) {
    const fault = readToolCall(name, params.arguments, parseVerbatim)
    return 'text' in fault ? fault : { text: `${name} could not be read`, isError: true }
  }
  const given = isObject(params.arguments) ? params.arguments : {}
  return name === SEARCH ? catalogue.search(given) : catalogue.describe(given)
}

function textAnswer(call: Call, { text, isError }: DiscoveryAnswer): Answer {
  const { request } = call
  const tool = request.via ?? String(request.params.name)
  const failed = { outcome: 'refused', failure: shorten(text, 200), tool } as const
  return toolResult(call, [text], isError ? failed : { outcome: 'ok', tool })
}

/** Adds the tool's signature to an answer that refuses arguments, as the caller may not have seen the schema. */
function withSignature(answer: Answer, signature: string): Answer {
  const { text, end } = answer
  const raw =
    end.failure === 'arguments' || end.code === INVALID_PARAMS ? parseVerbatim(text ?? 'null') : null
  if (!isObject(raw)) return answer
  const { result, error } = raw
  const said = `Signature: ${signature}`
  if (isObject(result) && Array.isArray(result.content)) {
    const content = [...result.content, { type: 'text', text: said }]
    return { ...answer, text: stringify({ ...raw, result: { ...result, content } }) }
  }
  if (!isObject(error)) return answer
  return { ...answer, text: stringify({ ...raw, error: { ...error, message: `${error.message}. ${said}` } }) }
}

/** One catalogue for each list and policy, freed with either. */
const catalogues = new WeakMap<Discovery, WeakMap<ListedTools, Catalogue>>()

function catalogueOf(list: ListedTools, policy: Discovery): Catalogue {
  const own = catalogues.get(policy) ?? new WeakMap<ListedTools, Catalogue>()
  catalogues.set(policy, own)
  const catalogue = own.get(list) ?? createCatalogue(list.tools, policy)
  own.set(list, catalogue)
  return catalogue
}
