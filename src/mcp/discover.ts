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
import { nextTurn, shorten } from '../text/index.ts'
import type { Call } from './call.ts'
import { Fault } from './fault.ts'
import type { Exchange } from './http.ts'
import { type ListedTools, type ListSource, listedTool, listedTools } from './listed-tools.ts'
import { refuses } from './permit.ts'
import { INVALID_PARAMS, isSessionRevision, type Message } from './protocol.ts'

/**
 * Finds, describes and calls tools for clients that list only some of them. A call of `call_tool` becomes the call of the tool
 * that it names before anything judges it, so that all that holds for a direct call holds for it.
 */

/** How a client lists tools, where not simply all of them. */
export interface Listing {
  readonly mode: 'search' | 'auto'
  /** What `auto` came to; undefined: it was not decided yet. */
  searches?: boolean
}

/** How a request has tools listed; undefined: all of them. */
export function listingOf({ discovery, listing }: Exchange): Listing | undefined {
  const mode = discovery && (listing ?? discovery.mode)
  return mode === undefined || mode === 'list' ? undefined : { mode }
}

/** The same message, or the call of a tool that it has another tool make; one that cannot be read stays as it is. */
export function unwrapped(message: Message): Message {
  if (!isIndirect(message)) return message
  const { params } = message
  const called = readToolCall(String(params.name), params.arguments, parseVerbatim)
  if ('text' in called) return message
  const direct = { ...params, ...called }
  return { ...message, params: direct, raw: { ...message.raw, params: direct }, via: String(params.name) }
}

/** Whether a message has another tool called. */
export function isIndirect(message: Message): message is Extract<Message, { kind: 'request' }> {
  if (message.kind !== 'request' || message.method !== 'tools/call') return false
  const { name } = message.params
  return name === CALL || name === CALL_READ
}

/** Whether `discover` is to look at a request of a client that has tools listed so. */
export function isDiscovered({ exchange, request }: Call, listing: Listing | undefined): boolean {
  if (!listing || !exchange.discovery) return false
  const { method, params, via } = request
  return (
    via !== undefined ||
    method === 'tools/list' ||
    (method === 'tools/call' && typeof params.name === 'string' && DISCOVERY_TOOLS.has(params.name))
  )
}

/** Answers a request that discovery concerns; whether it goes on to what serves it. */
export async function discover(call: Call, listing: Listing, source: ListSource): Promise<boolean> {
  const { request, exchange } = call
  const { method, params, via } = request
  const policy = exchange.discovery as Discovery
  const isList = method === 'tools/list'
  // The list of a client is what it was told to ask for again.
  const found =
    via === undefined ? await listedTools(source, isList) : await listedTool(params.name as string, source)
  // All who have waited for the list would work in one turn.
  await nextTurn()
  if (call.over) return false
  if (found instanceof Fault) {
    call.fail(found)
    return false
  }
  const list = 'list' in found ? found.list : found
  const catalogue = catalogueOf(list, policy)
  if (isList) return goesOn(call, listing, list, catalogue)
  if (via !== undefined) return mayCall(call, via, catalogue)
  const answer = await answerOf(call, catalogue)
  answerText(call, answer)
  return false
}

/** Answers `tools/list`; whether what serves it answers instead. */
function goesOn(call: Call, listing: Listing, { rest }: ListedTools, catalogue: Catalogue): boolean {
  const { discovery, list } = { discovery: call.exchange.discovery as Discovery, list: catalogue.list }
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

/** Answers the call of a tool that the caller cannot make in this way; whether it goes on. */
function mayCall(call: Call, via: string, catalogue: Catalogue): boolean {
  const name = call.request.params.name as string
  const tool = catalogue.get(name)
  if (!tool) {
    // A token with more scopes could make the call.
    const isLacking = call.exchange.permissions?.lacks('tools', name) !== undefined
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

/** What a discovery tool answers. */
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

/** Made once for a list and a generation of a route; what shows neither any more takes it with it. */
const catalogues = new WeakMap<Discovery, WeakMap<ListedTools, Catalogue>>()

function catalogueOf(list: ListedTools, policy: Discovery): Catalogue {
  const own = catalogues.get(policy) ?? new WeakMap<ListedTools, Catalogue>()
  catalogues.set(policy, own)
  const catalogue = own.get(list) ?? createCatalogue(list.tools, policy)
  own.set(list, catalogue)
  return catalogue
}
