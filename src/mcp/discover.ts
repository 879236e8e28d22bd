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
} from '../discovery/index.ts'
import { isObject, parseVerbatim, stringify } from '../json/index.ts'
import { pause, shorten } from '../text/index.ts'
import type { Call } from './call.ts'
import type { RequestContext } from './context.ts'
import { Fault } from './fault.ts'
import { type ListedTools, type ListSource, listedTool, listedTools } from './listed-tools.ts'
import { refuses } from './permit.ts'
import { INVALID_PARAMS, isSessionRevision, type Message } from './protocol.ts'

/**
 * Finds, describes and calls tools for clients that list only some of them. A call of `call_tool` is replaced by the
 * call of the named tool before any check, so all checks of direct calls apply.
 */

/** How a client lists tools, if not completely. */
export interface Listing {
  readonly mode: 'search' | 'auto'
  /** Decision of `auto`; undefined: not made yet. */
  searches?: boolean
}

/** The listing mode of a request; undefined: all tools are listed. */
export function listingOf({ discovery, listing }: RequestContext): Listing | undefined {
  const mode = discovery && (listing ?? discovery.mode)
  return mode === undefined || mode === 'list' ? undefined : { mode }
}

/** Replaces a `call_tool` message by the call that it contains; an unreadable one is returned unchanged. */
export function unwrapped(message: Message): Message {
  if (!isIndirect(message)) return message
  const { params } = message
  const called = readToolCall(String(params.name), params.arguments, parseVerbatim)
  if ('text' in called) return message
  const direct = { ...params, ...called }
  return { ...message, params: direct, raw: { ...message.raw, params: direct }, via: String(params.name) }
}

/** Whether a message calls a tool through `call_tool` or `call_read_tool`. */
export function isIndirect(message: Message): message is Extract<Message, { kind: 'request' }> {
  if (message.kind !== 'request' || message.method !== 'tools/call') return false
  const { name } = message.params
  return name === CALL || name === CALL_READ
}

/** Whether `discover` handles a request of a client with this listing. */
export function isDiscovered({ context, request }: Call, listing: Listing | undefined): boolean {
  if (!listing || !context.discovery) return false
  const { method, params, via } = request
  return (
    via !== undefined ||
    method === 'tools/list' ||
    (method === 'tools/call' && typeof params.name === 'string' && DISCOVERY_TOOLS.has(params.name))
  )
}

/** Answers a request about discovery; true: the backend must answer instead. */
export async function discover(call: Call, listing: Listing, source: ListSource): Promise<boolean> {
  const { request, context } = call
  const { method, params, via } = request
  const policy = context.discovery as Discovery
  const isList = method === 'tools/list'
  // A client asks for the list again after `list_changed`, so it gets a fresh one.
  const found =
    via === undefined ? await listedTools(source, isList) : await listedTool(params.name as string, source)
  // Otherwise all calls that waited for the list would be processed in one tick.
  await pause()
  if (call.over) return false
  if (found instanceof Fault) {
    call.fail(found)
    return false
  }
  const list = 'list' in found ? found.list : found
  const catalogue = catalogueOf(list, policy)
  if (isList) return answerList(call, listing, list, catalogue)
  if (via !== undefined) return mayCall(call, via, catalogue)
  const answer = await answerOf(call, catalogue)
  answerText(call, answer)
  return false
}

/** Answers `tools/list`; true: the backend must answer instead. */
function answerList(call: Call, listing: Listing, { rest }: ListedTools, catalogue: Catalogue): boolean {
  const { discovery, list } = { discovery: call.context.discovery as Discovery, list: catalogue.list }
  if (listing.mode === 'auto') listing.searches ??= catalogue.tokens > discovery.above
  const whole = listing.mode === 'auto' && !listing.searches
  if (whole && !catalogue.clashes) return true
  if (call.request.params.cursor !== undefined)
    call.error({
      code: INVALID_PARAMS,
      message: 'Invalid cursor: the list is one page, ask without a cursor',
    })
  else {
    call.isPermitted = true
    call.result(stringify({ ...rest, tools: list(whole) }))
  }
  return false
}

/** Whether the call is allowed; if not, answers it. */
function mayCall(call: Call, via: string, catalogue: Catalogue): boolean {
  const name = call.request.params.name as string
  const tool = catalogue.get(name)
  if (!tool) {
    // A token with more scopes might allow the call.
    const isLacking = call.context.permissions?.lacks('tools', name) !== undefined
    if (!(isLacking && refuses(call))) answerText(call, { text: catalogue.unknown(name), isError: true })
    return false
  }
  if (via === CALL_READ && !isReadOnly(tool)) {
    const text = `The call was not sent: ${shorten(name, 80)} is not read-only (it has no readOnlyHint), so it may change something. Call it with ${CALL}.`
    answerText(call, { text, isError: true })
    return false
  }
  call.signature = signatureOf(tool)
  return true
}

/** The answer of a discovery tool. */
function answerOf(
  { request: { params } }: Call,
  catalogue: Catalogue,
): DiscoveryAnswer | Promise<DiscoveryAnswer> {
  const name = params.name as string
  if (name === CALL || name === CALL_READ) {
    const fault = readToolCall(name, params.arguments, parseVerbatim)
    return 'text' in fault ? fault : { text: `${name} could not be read`, isError: true }
  }
  const given = isObject(params.arguments) ? params.arguments : {}
  return name === SEARCH ? catalogue.search(given) : catalogue.describe(given)
}

function answerText(call: Call, { text, isError }: DiscoveryAnswer): void {
  const result = { content: [{ type: 'text', text }], ...(isError && { isError }) }
  const { request, revision } = call
  const tool = request.via ?? String(request.params.name)
  call.result(
    stringify(isSessionRevision(revision) ? result : { resultType: 'complete', ...result }),
    isError ? { outcome: 'refused', failure: shorten(text, 200), tool } : { outcome: 'ok', tool },
  )
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
