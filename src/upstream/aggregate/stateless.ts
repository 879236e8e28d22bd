import type { Json, JsonObject } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  errorResponse,
  Fault,
  isObject,
  LIST_KINDS,
  LISTEN,
  type ListKind,
  listKinds,
  metaOf,
  missingCapability,
  type ParamHeader,
  PROTOCOL_VERSION,
  SERVER_INFO,
  STATELESS_REVISIONS,
  SUBSCRIPTION_ID,
  SUPPORTED_VERSIONS,
} from '../../mcp/index.ts'
import { within } from '../../text/index.ts'
import { declaresTasks, TASKS_EXTENSION, UNKNOWN_TASK } from '../../tools/tasks.ts'
import type { StatelessUpstream, UpstreamCall } from '../rpc/stateless-upstream.ts'
import { announce, keepSubscribed } from '../transport/lasting-stream.ts'
import { hintsOf } from '../view/kept-lists.ts'
import { ASSUMED_CAPABILITIES, HANDSHAKE_WAIT, MAX_START_WAIT } from '../waits.ts'
import {
  Aggregate,
  type AggregatedServer,
  type AskServer,
  LISTS,
  type Member,
  type MemberOptions,
  mergeCapabilities,
  mergeInstructions,
  noMethod,
  saidOf,
} from './aggregate.ts'
import { listeningTo, ownerOf, prefixed, withTaskIds } from './server-names.ts'

/** Cache hints of a server that does not answer: the combined answer must not be cached. */
const NO_HINTS: JsonObject = {}

type Sent = Promise<JsonObject | Fault | undefined>
/** The `server/discover` result of a server; undefined while it is down. */
type Found = JsonObject | undefined

/** Methods of earlier revisions removed in 2026-07-28. */
const REMOVED: ReadonlySet<string> = new Set(['logging/setLevel', 'tasks/list', 'tasks/result'])

/** Several servers behind one prefix, for the stateless requests of one caller. */
export class AggregateStateless implements StatelessUpstream {
  /** Each server, or why it is down. */
  readonly #found = new Map<Member, Promise<StatelessUpstream | Fault>>()

  /** @param params of the request for which sessions may be opened */
  constructor(
    private readonly options: MemberOptions,
    private readonly params: JsonObject,
  ) {}

  /** @param again whether to retry a server that was down */
  #find(member: Member, again = false): Promise<StatelessUpstream | Fault> {
    const known = this.#found.get(member)
    if (known && !again) return known
    const found = member.server.stateless(member.resolved, this.params).then((server) => {
      if (!known && server instanceof Fault) this.options.onDown(member.name, server.message)
      return server
    })
    this.#found.set(member, found)
    return found
  }

  async paramHeaders(tool: string, call: UpstreamCall): Promise<readonly ParamHeader[]> {
    const { servers } = await this.#servers(call)
    const asked = { method: 'tools/call', params: { ...call.message.params, name: tool } }
    const aggregate = new Aggregate(servers, this.options)
    const outcome = await aggregate.decide(asked, this.#asking(call, aggregate))
    if (!('to' in outcome)) return []
    const to = this.options.members[outcome.to] as Member
    const server = await this.#find(to)
    if (server instanceof Fault) return []
    return server.paramHeaders(String(outcome.params.name), { ...call, resolved: to.resolved })
  }

  async request(call: UpstreamCall): Sent {
    const { id, method, params } = call.message
    if (method === LISTEN) return this.#listen(call)
    if (REMOVED.has(method)) return errorResponse(id, noMethod(method))
    const { servers, found } = await this.#servers(call)
    const meta = { [SERVER_INFO]: { ...this.options.info } }
    if (method === 'server/discover') {
      const result = { ...this.#discovered(servers, found), _meta: meta }
      return { jsonrpc: '2.0', id, result }
    }
    const aggregate = new Aggregate(servers, this.options)
    const asking = this.#asking(call, aggregate)
    const isList = Object.hasOwn(LISTS, method) && method !== 'tasks/list'
    const parts = found.map((each) => (each ? undefined : NO_HINTS))
    const ask: AskServer = async (i, asked, own) => {
      const raw = await asking(i, asked, own)
      if (isList && asked === method)
        parts[i] = raw && !(raw instanceof Fault) && isObject(raw.result) ? raw.result : NO_HINTS
      return raw
    }
    const outcome = await aggregate.decide({ method, params }, ask)
    if ('error' in outcome && outcome.error === UNKNOWN_TASK && !declaresTasks(params))
      return errorResponse(id, missingCapability(TASKS_EXTENSION))
    if ('to' in outcome) {
      const shaping = aggregate.shaping(outcome.to, method, outcome.params)
      if (shaping) call.onShaping?.(shaping)
      return this.#asked(call, aggregate, outcome.to, method, outcome.params)
    }
    if ('error' in outcome) return errorResponse(id, outcome.error)
    const { result } = outcome
    return {
      jsonrpc: '2.0',
      id,
      result: {
        resultType: 'complete',
        ...result,
        ...(isList && this.#hints(method, parts)),
        _meta: { ...metaOf(result), ...meta },
      },
    }
  }

  /** Cache hints of the combined answer. @param parts the servers' results, where present */
  #hints(method: string, parts: readonly (JsonObject | undefined)[]): JsonObject {
    const local = this.options.local()?.hints(method)
    return hintsOf([...parts, local].filter((part) => part !== undefined))
  }

  #asking(call: UpstreamCall, aggregate: Aggregate): AskServer {
    return (i, method, params) => {
      const { answerTimeout } = this.options.members[i]!.server
      return answerTimeout.limit(this.#asked(call, aggregate, i, method, params))
    }
  }

  async #asked(
    call: UpstreamCall,
    aggregate: Aggregate,
    i: number,
    method: string,
    params: JsonObject,
  ): Sent {
    const raw = await this.#send(call, this.options.members[i] as Member, method, params)
    return !raw || raw instanceof Fault ? raw : aggregate.shown(i, method, raw)
  }

  async #send(
    call: UpstreamCall,
    member: Member,
    method: string,
    params: JsonObject,
    onMessage = call.onMessage,
  ): Sent {
    const { resolved, name } = member
    const server = await this.#find(member)
    if (server instanceof Fault) return server
    const { message } = call
    const raw = { ...message.raw, method, params }
    const hear = (heard: JsonObject) => onMessage(withTaskIds(heard, name))
    return server.request({
      ...call,
      resolved,
      onMessage: hear,
      message: { ...message, method, params, raw },
    })
  }

  /** The servers with their capabilities; these are not fetched if the name in the call identifies the server. */
  async #servers(call: UpstreamCall): Promise<{ servers: AggregatedServer[]; found: Found[] }> {
    const named = /^(?:tools\/call|prompts\/get)$/.test(call.message.method)
    const found = named ? [] : await this.#discover(call)
    const servers = this.options.members.map(({ name, filter, view }, i) => {
      const said = found[i]
      return { name, filter, view, capabilities: said && saidOf(said) }
    })
    return { servers, found }
  }

  async #discover(call: UpstreamCall): Promise<Found[]> {
    const meta = metaOf(call.message.params)
    const kept = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES]
    const own = kept.flatMap((key) => (meta[key] === undefined ? [] : [[key, meta[key]]]))
    const params = { _meta: Object.fromEntries(own) }
    const isFirst = call.message.method === 'server/discover'
    const answers = await Promise.all(
      this.options.members.map((member) => {
        const sent = this.#send(call, member, 'server/discover', params, () => {})
        const answer = member.server.answerTimeout.limit(sent)
        return within(isFirst ? HANDSHAKE_WAIT : MAX_START_WAIT, answer)
      }),
    )
    return answers.map((raw, i) => {
      // Starting servers are missing from lists, like servers that are down.
      if (!raw && isFirst) return { capabilities: ASSUMED_CAPABILITIES }
      if (!raw || raw instanceof Fault) return undefined
      const { result } = this.options.members[i]!.view.shown('server/discover', raw)
      return isObject(result) ? result : undefined
    })
  }

  #discovered(servers: readonly AggregatedServer[], found: readonly Found[]): JsonObject {
    const local = this.options.local()
    const [revision] = STATELESS_REVISIONS
    const instructions = mergeInstructions(
      found.map((each, i) => ({ name: servers[i]!.name, text: each?.instructions })),
      local?.instructions,
    )
    return {
      resultType: 'complete',
      ...SUPPORTED_VERSIONS,
      capabilities: mergeCapabilities([
        ...servers,
        ...(local ? [{ capabilities: local.capabilitiesFor(revision) }] : []),
      ]),
      ...this.#hints(
        'server/discover',
        found.map((each) => each ?? NO_HINTS),
      ),
      ...(instructions !== undefined && { instructions }),
    }
  }

  /** Subscribes at every server, later also at servers that are down; acknowledged once each was tried. */
  async #listen(call: UpstreamCall): Sent {
    const { id } = call.message
    const granted: JsonObject = {}
    const early: JsonObject[] = []
    let acknowledged = false
    const onMessage = (raw: JsonObject) => {
      if (acknowledged) call.onMessage(raw)
      else early.push(raw)
    }
    const onGranted = (notifications: JsonObject) => {
      for (const [key, value] of Object.entries(notifications)) {
        const before = granted[key]
        const isBoth = Array.isArray(value) && Array.isArray(before)
        granted[key] = isBoth ? [...new Set([...before, ...value])] : value
      }
    }
    const tag = { [SUBSCRIPTION_ID]: id }
    const onFound = () => {
      const hear = ({ raw }: { raw: JsonObject }) => onMessage({ ...raw, params: { _meta: tag } })
      if (acknowledged) announce(listKinds(granted), hear)
    }
    const opening = this.options.members.map((member) =>
      this.#listenAt(call, member, onMessage, onGranted, onFound),
    )
    const local = this.options.local()?.granted(call.message.params.notifications)
    const isLate = !(await within(HANDSHAKE_WAIT, Promise.all(opening.map(({ open }) => open))))
    if (local) onGranted(local)
    // A starting server announces its lists when it is up.
    if (isLate) onGranted(listsOf(call.message.params.notifications))
    const params = { _meta: tag, notifications: granted }
    call.onMessage({ jsonrpc: '2.0', method: ACKNOWLEDGED, params })
    acknowledged = true
    for (const raw of early) call.onMessage(raw)
    await Promise.all(opening.map(({ ended }) => ended))
    // Changes of HTTP tools are announced through the registry.
    if (local && Object.keys(local).length && !call.signal.aborted)
      await new Promise<void>((resolve) => call.signal.addEventListener('abort', resolve))
    if (call.signal.aborted) return undefined
    return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: tag } }
  }

  /** @returns `open`: the subscription at one server is open or has failed; `ended`: it has ended */
  #listenAt(
    call: UpstreamCall,
    member: Member,
    onMessage: (raw: JsonObject) => void,
    onGranted: (notifications: JsonObject) => void,
    onFound: () => void,
  ): { open: Promise<void>; ended: Promise<void> } {
    const { name, resolved, server } = member
    const { members } = this.options
    const message = listeningTo(call.message, (taskId) => {
      const owner = ownerOf(members, taskId)
      return owner && members[owner.to] === member ? [owner.own] : []
    })
    let lists: ReadonlySet<ListKind> = new Set()
    const announceAll = () => {
      const _meta = { [SUBSCRIPTION_ID]: call.message.id }
      announce(lists, ({ raw }) => onMessage({ ...raw, params: { _meta } }))
    }
    let ended = Promise.resolve()
    const open = new Promise<void>((resolve) => {
      const subscribe = async (take: (raw: JsonObject) => void) => {
        const at = await this.#find(member, true)
        if (at instanceof Fault) {
          resolve()
          return at
        }
        onFound()
        return at.request({ ...call, message, resolved, onMessage: take }).finally(resolve)
      }
      const onOpen = (kinds: ReadonlySet<ListKind>, again: boolean, granted: JsonObject) => {
        onGranted(shownTasks(granted, name))
        resolve()
        lists = kinds
        if (again) announceAll()
      }
      // Items of a lost server are missing from lists until it is back.
      const hear = (raw: JsonObject) => onMessage(withTaskIds(raw, name))
      const events = { onMessage: hear, onOpen, onLost: announceAll }
      ended = keepSubscribed(subscribe, events, server.upstream.streams, call.signal)
    })
    return { open: server.answerTimeout.limit(Promise.race([open, ended])).then(() => {}), ended }
  }
}

/** The list changes among a client's requested notifications. */
function listsOf(wanted: Json | undefined): JsonObject {
  const asked = isObject(wanted) ? wanted : {}
  return Object.fromEntries(
    Object.keys(LIST_KINDS).flatMap((key) => (asked[key] === true ? [[key, true]] : [])),
  )
}

/** A server's granted subscription, with task ids as clients see them. */
function shownTasks(granted: JsonObject, name: string): JsonObject {
  const { taskIds } = granted
  return Array.isArray(taskIds)
    ? { ...granted, taskIds: taskIds.map((id) => prefixed(name, String(id))) }
    : granted
}
