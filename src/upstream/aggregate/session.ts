import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { Fault, INTERNAL_ERROR, isObject, type RequestId, readMessage } from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import {
  INITIALIZED,
  type Link,
  type LinkEvents,
  noted,
  pass,
  type Request,
  type Response,
} from '../rpc/link.ts'
import type { ToolFilter } from '../tools.ts'
import { FAILED } from '../transport/channel.ts'
import { createSeveral, mergeCapabilities, mergeInstructions, type Outcome, type Party } from './several.ts'

/** One of the servers: its name, its filter, and what opens its session. */
export interface Branch {
  name: string
  filter: ToolFilter | undefined
  open(events: LinkEvents): Link
}

export interface SeveralLinkOptions {
  branches: readonly Branch[]
  /** `serverInfo` of all together. */
  info: { name: string; version: string }
  onClash(uri: string, server: string): void
  onDown(server: string, reason: string): void
}

/** A client's session with several servers behind one prefix, as one. */
export function createSeveralLink(
  { branches, info, onClash, onDown }: SeveralLinkOptions,
  events: LinkEvents,
): Link {
  const parties: Party[] = branches.map(({ name, filter }) => ({ name, filter, capabilities: undefined }))
  const several = createSeveral(parties, onClash)
  const own = `plantgw-${randomUUID()}`
  let count = 0
  /** Requests of this file's own, by id. */
  const asking = new Map<string, { i: number; settle: (raw: JsonObject | Fault) => void }>()
  /** Requests of the client that one server has, by id. */
  const routed = new Map<RequestId, { i: number; method: string }>()
  /** Requests of servers to the client, under ids that differ among servers. */
  const asked = new Map<string, { i: number; id: RequestId }>()
  const links = branches.map(({ open }, i) => open(eventsOf(i)))
  /** How the client began, for servers that come up later. */
  let begun: { request: Request; text: string; revision: string } | undefined
  /** Handshakes with servers that were down: what is for one of them waits. */
  const reviving = new Map<number, Promise<void>>()
  let closed = false

  function emit(raw: JsonObject): void {
    events.message(readMessage(raw), stringify(raw))
  }

  function eventsOf(i: number): LinkEvents {
    return {
      message(message, text) {
        if (message.kind === 'response') {
          const mine = asking.get(String(message.id))
          if (mine) return mine.settle(message.raw)
          const call = message.id === null ? undefined : routed.get(message.id)
          if (!call || message.id === null) return
          routed.delete(message.id)
          emit(several.shown(i, call.method, message.raw))
        } else if (message.kind === 'request') {
          const id = `${own}-${++count}`
          asked.set(id, { i, id: message.id })
          emit({ ...message.raw, id })
        } else events.message(message, text)
      },
      lost(fault) {
        for (const [id, ask] of [...asking]) if (ask.i === i && asking.delete(id)) ask.settle(fault)
        const ids = [...routed].filter(([, call]) => call.i === i).map(([id]) => id)
        for (const id of ids) routed.delete(id)
        events.lost(fault, ids)
      },
      rejected(id, fault) {
        // Without an id it may be the answer to any request of this server.
        const asks = id === undefined ? [...asking.values()] : [asking.get(String(id))]
        for (const ask of asks) if (ask?.i === i) ask.settle(fault)
        const calls = id === undefined ? [...routed.keys()] : [id]
        for (const call of calls)
          if (routed.get(call)?.i === i && routed.delete(call)) events.rejected(call, fault)
      },
    }
  }

  function ask(i: number, method: string, params: JsonObject): Promise<JsonObject | Fault> {
    const id = `${own}-${++count}`
    return new Promise((resolve) => {
      const settle = (raw: JsonObject | Fault) => {
        asking.delete(id)
        resolve(raw instanceof Fault ? raw : several.shown(i, method, raw))
      }
      asking.set(id, { i, settle })
      const raw: JsonObject = { jsonrpc: '2.0', id, method, params }
      const message: Request = { kind: 'request', id, method, params, raw }
      deliver(i, message, stringify(raw))
        .then((fault) => fault && settle(fault))
        .catch(unexpected(method, () => settle(new Fault('internal', FAILED))))
    })
  }

  async function deliver(i: number, message: Request, text: string): Promise<Fault | undefined> {
    if (reviving.has(i)) await reviving.get(i)
    return links[i]!.send(message, text)
  }

  async function take(request: Request): Promise<void> {
    const { id, method, raw } = request
    if (method === 'ping') return emit({ jsonrpc: '2.0', id: id as Json, result: {} })
    if (method.endsWith('/list')) revive()
    const outcome: Outcome = await several.decide(request, ask)
    if (!('to' in outcome)) return emit({ jsonrpc: '2.0', id: id as Json, ...outcome } as JsonObject)
    const { to, params } = outcome
    routed.set(id, { i: to, method })
    const sent = { ...raw, params }
    const fault = await deliver(to, { ...request, params, raw: sent }, stringify(sent))
    if (fault && routed.delete(id))
      emit({ jsonrpc: '2.0', id: id as Json, error: { code: INTERNAL_ERROR, message: fault.message } })
  }

  /** Answers a request that came to nothing by a fault of the gateway's own. */
  function lose(id: RequestId): void {
    routed.delete(id)
    emit({ jsonrpc: '2.0', id: id as Json, error: { code: INTERNAL_ERROR, message: FAILED } })
  }

  /** Tries servers that were down once more, as their back-off allows; the client hears of those that are up. */
  function revive(): void {
    for (const [i, { name, capabilities }] of parties.entries()) {
      if (capabilities || reviving.has(i) || !begun) continue
      const revival = reopen(i, begun)
        .then((reason) => {
          if (reason !== undefined) onDown(name, reason)
        })
        .catch(unexpected('initialize'))
        .finally(() => reviving.delete(i))
      reviving.set(i, revival)
    }
  }

  async function reopen(i: number, { request, text, revision }: NonNullable<typeof begun>) {
    links[i]!.close()
    const link = branches[i]!.open(eventsOf(i))
    links[i] = link
    const answer = await link.start(request, text)
    if (answer instanceof Fault) return answer.message
    const { result } = answer.response.raw
    // What the client was told of the protocol holds for the whole session.
    if (!isObject(result) || String(result.protocolVersion) < revision) return 'it refused the handshake'
    if (closed) return undefined
    const capabilities = isObject(result.capabilities) ? result.capabilities : {}
    parties[i]!.capabilities = capabilities
    await link.send(noted('notifications/initialized'), INITIALIZED)
    for (const kind of ['tools', 'prompts', 'resources'])
      if (capabilities[kind]) emit({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` })
    return undefined
  }

  async function start(
    request: Request,
    text: string,
  ): Promise<{ response: Response; text: string } | Fault> {
    const answers = await Promise.all(links.map((link) => link.start(request, text)))
    const results = answers.map((answer, i) => {
      const result = answer instanceof Fault ? undefined : answer.response.raw.result
      if (isObject(result)) {
        parties[i]!.capabilities = isObject(result.capabilities) ? result.capabilities : {}
        return result
      }
      onDown(parties[i]!.name, answer instanceof Fault ? answer.message : 'it refused the handshake')
      return undefined
    })
    const up = results.filter((result) => result !== undefined)
    if (!up.length)
      return (
        answers.find((answer) => answer instanceof Fault) ??
        new Fault('unreachable', 'No server took the handshake')
      )
    const instructions = mergeInstructions(
      results.map((result, i) => ({ name: parties[i]!.name, text: result?.instructions })),
    )
    // The oldest that they speak is understood by all.
    const revision = up.map((each) => String(each.protocolVersion)).sort()[0] as string
    begun = { request, text, revision }
    const result = {
      protocolVersion: revision,
      capabilities: mergeCapabilities(parties.map(({ capabilities }) => capabilities)),
      serverInfo: { ...info },
      ...(instructions !== undefined && { instructions }),
    }
    const raw: JsonObject = { jsonrpc: '2.0', id: request.id as Json, result }
    return { response: readMessage(raw) as Response, text: stringify(raw) }
  }

  return {
    start,
    send(message, text) {
      if (message.kind === 'request') take(message).catch(unexpected(message.method, () => lose(message.id)))
      else if (message.kind === 'response') {
        const to = asked.get(String(message.id))
        asked.delete(String(message.id))
        if (!to) return undefined
        const raw = { ...message.raw, id: to.id as Json }
        pass(links[to.i], { ...message, id: to.id, raw }, stringify(raw))
      } else if (message.kind === 'notification') {
        const call =
          message.method === 'notifications/cancelled' && routed.get(message.params.requestId as RequestId)
        for (const [i, link] of links.entries())
          if (parties[i]?.capabilities && (!call || call.i === i)) pass(link, message, text)
      }
      return undefined
    },
    close() {
      closed = true
      for (const link of links) link.close()
      for (const { settle } of [...asking.values()]) settle(new Fault('lost', 'The session has ended'))
    },
  }
}
