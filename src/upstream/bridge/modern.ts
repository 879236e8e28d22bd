import type { Json, JsonObject } from '../../json/index.ts'
import { Cancellation, Fault, HEADER_MISMATCH, isObject, STATELESS_REVISIONS } from '../../mcp/index.ts'
import { LOG_LEVEL, metaOf, ownMeta } from '../../mcp/meta.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import type { Resolved } from '../definition.ts'
import { NOBODY, type RpcClient, timedOut } from '../rpc/client.ts'
import type { Request } from '../rpc/link.ts'
import type { Upstream } from '../upstream.ts'
import { requestHttp } from './modern-http.ts'
import { SharedChild } from './modern-stdio.ts'
import { createParamHeaders, withoutFaulty } from './param-headers.ts'

type Sent = Promise<JsonObject | Fault | undefined>

/** Tools that are named in the log, each once. */
const MAX_LOGGED = 1000

/** A server that speaks 2026-07-28 itself, over stdio or streamable HTTP. */
export class Modern implements Stateless {
  readonly #stdio: boolean
  readonly #headers = createParamHeaders()
  readonly #children = new Set<SharedChild>()
  /** Tools that were left out of a list and logged. */
  readonly #excluded = new Set<string>()

  constructor(
    private readonly upstream: Upstream,
    readonly version: string,
    private readonly log: Logger,
  ) {
    this.#stdio = upstream.definition.server.type === 'stdio'
  }

  async request(call: StatelessCall): Sent {
    const answer = await this.#send(call)
    if (call.signal.aborted || (answer instanceof Fault && answer.kind === 'cancelled')) return undefined
    if (call.message.method !== 'tools/list' || answer instanceof Fault || !('result' in answer))
      return answer
    const result = answer.result as Json
    this.#headers.learn(result)
    return this.#stdio ? answer : { ...answer, result: withoutFaulty(result, this.#exclude) }
  }

  /** Sends a request of the gateway's own. */
  async ask(resolved: Resolved, method: string, own: JsonObject = {}): Promise<JsonObject | Fault> {
    const timeout = this.upstream.definition.server.startupTimeout
    const params = { ...own, _meta: ownMeta(this.version) }
    const raw = { jsonrpc: '2.0', id: 'plantgw', method, params }
    const message: Request = { kind: 'request', id: 'plantgw', method, params, raw }
    const abort = new Cancellation()
    const timer = setTimeout(abort.abort, timeout)
    const answer = await this.#send({ message, resolved, headers: {}, signal: abort, onMessage: () => {} })
    clearTimeout(timer)
    return abort.aborted ? timedOut(this.upstream.name, timeout) : answer
  }

  async versions(resolved: Resolved): Promise<string[]> {
    const answer = await this.ask(resolved, 'server/discover')
    const result = 'result' in answer && isObject(answer.result) ? answer.result : {}
    return Array.isArray(result.supportedVersions)
      ? result.supportedVersions.map(String)
      : [...STATELESS_REVISIONS]
  }

  paramHeaders(tool: string, { resolved }: StatelessCall) {
    return this.#headers.of(tool, this.#lists(resolved))
  }

  /** Takes the child that was probed, for the callers with the same values. */
  adopt(client: RpcClient, { key }: Resolved): SharedChild {
    const { name, backoff } = this.upstream
    const child: SharedChild = new SharedChild(client, key, name, {
      listChanged: this.#headers.forget,
      closed: ({ message }) => {
        this.#children.delete(child)
        if (!child.proven) backoff.failed(key, message)
      },
    })
    this.#children.add(child)
    return child
  }

  /** Ends children that nobody has used for so many milliseconds. */
  sweep(idle: number): void {
    for (const child of [...this.#children])
      if (child.used <= Date.now() - idle && !child.size()) {
        this.#children.delete(child)
        child.close()
      }
  }

  close(): void {
    for (const child of [...this.#children]) child.close()
    this.#children.clear()
  }

  #send(call: Omit<StatelessCall, 'caller'>): Promise<JsonObject | Fault> {
    return this.#stdio ? this.#sendStdio(call) : this.#sendHttp(call)
  }

  async #sendStdio(call: Omit<StatelessCall, 'caller'>): Promise<JsonObject | Fault> {
    const { message, resolved } = call
    const child = this.#childFor(resolved, LOG_LEVEL in metaOf(message.params))
    if (child instanceof Fault) return child
    const answer = await child.request(call)
    if (!(answer instanceof Fault)) this.upstream.backoff.worked(resolved.key)
    return answer
  }

  /** A child for these values; log messages name no request, so that only one request at a time may want them. */
  #childFor(resolved: Resolved, logs: boolean): SharedChild | Fault {
    for (const child of this.#children)
      if (child.key === resolved.key && !(logs && child.logging())) {
        child.used = Date.now()
        return child
      }
    const client = this.upstream.connect(resolved, NOBODY, undefined)
    return client instanceof Fault ? client : this.adopt(client, resolved)
  }

  async #sendHttp(call: Omit<StatelessCall, 'caller'>): Promise<JsonObject | Fault> {
    const { message, resolved } = call
    const { params, method } = message
    const tool = method === 'tools/call' && typeof params.name === 'string' ? params.name : undefined
    const declared = async () =>
      tool === undefined ? [] : await this.#headers.of(tool, this.#lists(resolved))
    const answer = await requestHttp(this.upstream, resolved, call, await declared())
    if (tool === undefined || answer instanceof Fault || !isMismatch(answer)) return answer
    // The server's schemas have changed (2026-07-28, Client Behavior).
    this.#headers.forget()
    return requestHttp(this.upstream, resolved, call, await declared())
  }

  /** Fetches a page of the server's tools. */
  #lists(resolved: Resolved): (cursor: string | undefined) => Promise<Json | undefined> {
    return async (cursor) => {
      const answer = await this.ask(resolved, 'tools/list', cursor === undefined ? {} : { cursor })
      return 'result' in answer ? (answer.result as Json) : undefined
    }
  }

  readonly #exclude = (tool: string, reason: string): void => {
    if (this.#excluded.has(tool) || this.#excluded.size >= MAX_LOGGED) return
    this.#excluded.add(tool)
    this.log.warn(
      { server: this.upstream.name, tool, fault: reason },
      'tool left out: its x-mcp-header is not valid',
    )
  }
}

function isMismatch({ error }: JsonObject): boolean {
  return isObject(error) && error.code === HEADER_MISMATCH
}
