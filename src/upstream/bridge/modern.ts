import type { Json, JsonObject } from '../../json/index.ts'
import { Cancellation, Fault, HEADER_MISMATCH, isObject, STATELESS_REVISIONS } from '../../mcp/index.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import type { Resolved } from '../definition.ts'
import type { Request } from '../rpc/link.ts'
import type { Upstream } from '../upstream.ts'
import { LOG_LEVEL, metaOf, ownMeta } from './meta.ts'
import { requestHttp } from './modern-http.ts'
import { openSharedChild, type SharedChild } from './modern-stdio.ts'
import { createParamHeaders, withoutFaulty } from './param-headers.ts'

/** A server that speaks 2026-07-28 itself, over stdio or streamable HTTP. */
export interface Modern extends Stateless {
  /** Asks with a request of the gateway's own. */
  ask(resolved: Resolved, method: string, params?: JsonObject, timeout?: number): Promise<JsonObject | Fault>
  /** Ends children that nobody has used for so many milliseconds. */
  sweep(idle: number): void
  close(): void
}

interface Entry {
  child: SharedChild
  key: string
  used: number
}

/** Tools that are named in the log, each once. */
const MAX_LOGGED = 1000

export function createModern(upstream: Upstream, version: string, log: Logger): Modern {
  const stdio = upstream.definition.server.type === 'stdio'
  const headers = createParamHeaders()
  const children = new Set<Entry>()
  /** Tools that were left out of a list and logged. */
  const excluded = new Set<string>()

  /** A child for these values; log messages name no request, so one that asks for them gets no company of its kind. */
  function childFor(resolved: Resolved, logs: boolean): Entry | Fault {
    const { key } = resolved
    for (const entry of children)
      if (entry.key === key && !(logs && entry.child.logging())) {
        entry.used = Date.now()
        return entry
      }
    const refusal = upstream.backoff.refusal(key)
    if (refusal) return new Fault('unreachable', refusal)
    const child = openSharedChild(upstream, resolved, {
      listChanged: headers.forget,
      closed(proven, fault) {
        children.delete(entry)
        if (!proven) upstream.backoff.failed(key, fault.message)
      },
    })
    if (child instanceof Fault) return child
    const entry: Entry = { child, key, used: Date.now() }
    children.add(entry)
    return entry
  }

  type Sent = Promise<JsonObject | Fault | undefined>

  async function sendHttp(call: Omit<StatelessCall, 'caller'>): Sent {
    const { message, resolved } = call
    const { params, method } = message
    const named = method === 'tools/call' && typeof params.name === 'string'
    const declared = named ? await headers.of(params.name as string, list(resolved)) : []
    const answer = await requestHttp(upstream, resolved, call, declared)
    if (!named || !answer || answer instanceof Fault || !isMismatch(answer)) return answer
    // The server's schemas have changed (2026-07-28, Client Behavior).
    headers.forget()
    const fresh = await headers.of(params.name as string, list(resolved))
    return requestHttp(upstream, resolved, call, fresh)
  }

  async function sendStdio(call: Omit<StatelessCall, 'caller'>): Sent {
    const { message, resolved } = call
    const entry = childFor(resolved, LOG_LEVEL in metaOf(message.params))
    if (entry instanceof Fault) return entry
    const answer = await entry.child.request(call)
    entry.used = Date.now()
    if (answer && !(answer instanceof Fault)) upstream.backoff.worked(resolved.key)
    return answer
  }

  const send = stdio ? sendStdio : sendHttp

  const list = (resolved: Resolved) => async (cursor: string | undefined) => {
    const answer = await ask(resolved, 'tools/list', cursor === undefined ? {} : { cursor })
    return 'result' in answer ? (answer.result as Json) : undefined
  }

  async function ask(
    resolved: Resolved,
    method: string,
    own: JsonObject = {},
    timeout = upstream.definition.server.startupTimeout,
  ): Promise<JsonObject | Fault> {
    const params = { ...own, _meta: ownMeta(version) }
    const raw = { jsonrpc: '2.0', id: 'plantgw', method, params }
    const message: Request = { kind: 'request', id: 'plantgw', method, params, raw }
    const abort = new Cancellation()
    const timer = setTimeout(() => abort.abort(), timeout)
    const answer = await send({ message, resolved, headers: {}, signal: abort, onMessage: () => {} })
    clearTimeout(timer)
    return (
      answer ??
      new Fault('timeout', `The server ${upstream.name} did not answer ${method} within ${timeout} ms`)
    )
  }

  async function listTools(call: StatelessCall): Sent {
    const answer = await send(call)
    if (!answer || !('result' in answer)) return answer
    const result = answer.result as Json
    headers.learn(result)
    return stdio ? answer : { ...answer, result: withoutFaulty(result, exclude) }
  }

  function exclude(tool: string, fault: string): void {
    if (excluded.has(tool) || excluded.size >= MAX_LOGGED) return
    excluded.add(tool)
    log.warn({ server: upstream.name, tool, fault }, 'a tool is left out: its x-mcp-header is not valid')
  }

  return {
    ask,
    request: (call) => (call.message.method === 'tools/list' ? listTools(call) : send(call)),
    async versions(resolved) {
      const answer = await ask(resolved, 'server/discover')
      const result = 'result' in answer && isObject(answer.result) ? answer.result : {}
      return Array.isArray(result.supportedVersions)
        ? result.supportedVersions.map(String)
        : [...STATELESS_REVISIONS]
    },
    // Over HTTP the server checks its headers itself, when they are passed on.
    paramHeaders: (tool, { resolved }) => headers.of(tool, list(resolved)),
    sweep(idle) {
      for (const entry of [...children])
        if (entry.used <= Date.now() - idle && !entry.child.size()) {
          children.delete(entry)
          entry.child.close()
        }
    },
    close() {
      for (const entry of [...children]) entry.child.close()
      children.clear()
    },
  }
}

function isMismatch({ error }: JsonObject): boolean {
  return isObject(error) && error.code === HEADER_MISMATCH
}
