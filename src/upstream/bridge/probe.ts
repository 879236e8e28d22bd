import type { JsonObject } from '../../json/index.ts'
import { Cancellation, Fault, isObject } from '../../mcp/index.ts'
import { initializeParams, ownMeta } from '../../mcp/protocol.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { RecentMap } from '../../text/index.ts'
import type { Resolved } from '../definition.ts'
import { type Hello, helloForAll, helloOf, keyOfHello } from '../pool/session.ts'
import { NO_EVENTS, type RpcClient } from '../rpc/rpc-client.ts'
import type { StatelessClient } from '../rpc/stateless-client.ts'
import type { Upstream } from '../upstream.ts'

/** Whether a server speaks 2026-07-28 (`stateless`) or only session-based revisions. */
export type Protocol = 'stateless' | 'session'

/** Milliseconds after which a session-based server is probed again, as it may have been updated. */
const SESSION_TTL = 300_000
/**
 * Milliseconds after which an unanswered probe is followed by a handshake, as old servers may ignore it (2026-07-28,
 * stdio).
 */
const SILENCE = 2_000
/** Addresses may depend on caller-provided template values, so their number is limited. */
const MAX_KNOWN = 1_000
/** Error codes specific to 2026-07-28. */
const STATELESS_CODES = new Set<unknown>([-32020, -32021, -32022])

/** Detects by `server/discover` which protocol a server speaks, and caches the result. */
export class Probe {
  readonly #known = new RecentMap<string, { protocol: Protocol; at: number }>(MAX_KNOWN)
  readonly #probing = new Map<string, Promise<Protocol | Fault>>()
  /** Whether the last child ended at the handshake, too. */
  #hasFailed = false

  constructor(
    private readonly upstream: Upstream,
    private readonly stateless: StatelessClient,
  ) {}

  /**
   * @param params of the request for which a session may be opened; absent: a handshake was already tried
   */
  async of(resolved: Resolved, params?: JsonObject): Promise<Protocol | Fault> {
    const { messages } = this.upstream.definition.transport
    if (messages === 'events') return 'session'
    const key = `${resolved.origin}${resolved.path}`
    const found = this.#known.get(key)
    if (found && (found.protocol === 'stateless' || performance.now() - found.at < SESSION_TTL))
      return found.protocol
    let probing = this.#probing.get(key)
    if (!probing) {
      const probe = messages === 'lines' ? this.#probeChild(resolved, params) : this.#probeHttp(resolved)
      probing = probe
        .then((protocol) => this.#remember(key, protocol))
        .finally(() => this.#probing.delete(key))
      this.#probing.set(key, probing)
    }
    return probing
  }

  #remember(key: string, protocol: Protocol | Fault): Protocol | Fault {
    // Failures to connect are not cached.
    if (protocol instanceof Fault) return protocol
    this.#known.set(key, { protocol, at: performance.now() })
    return protocol
  }

  async #probeHttp(resolved: Resolved): Promise<Protocol | Fault> {
    const answer = await this.stateless.ask(resolved, 'server/discover')
    if (!(answer instanceof Fault)) return protocolOf(answer)
    const { kind, status = 0 } = answer
    return kind === 'status' && status >= 400 && status < 500 ? 'session' : answer
  }

  /** Probes a child, which is then used for the first session or for all calls. */
  async #probeChild(resolved: Resolved, params?: JsonObject): Promise<Protocol | Fault> {
    const { upstream, stateless } = this
    const client = upstream.connect(resolved, NO_EVENTS)
    if (client instanceof Fault) return client
    const hello = helloForAll(helloOf(params ?? {}))
    const deadline = performance.now() + upstream.definition.server.startupTimeout
    const asked = this.#hasFailed ? this.#greet(client, hello) : this.#discover(client, hello)
    const { answer, begun } = await asked
    if (answer instanceof Fault) {
      client.close()
      // A server may exit or misbehave at an unknown method, so another child gets a handshake.
      const misbehaved = answer.kind === 'lost' || answer.kind === 'invalid'
      if (misbehaved && params && !begun) {
        if (await this.#handshake(resolved, hello, deadline)) return 'session'
        this.#hasFailed = true
      }
      upstream.startFailed(resolved.key, answer)
      return answer
    }
    this.#hasFailed = false
    const protocol = protocolOf(answer)
    if (protocol === 'stateless') stateless.adopt(client, resolved)
    else {
      // The server may have been replaced by an older version.
      stateless.close()
      await this.#keep(client, resolved, hello, begun)
    }
    return protocol
  }

  /**
   * Asks a child for its protocol. If it stays silent it also gets a handshake, which an old server answers; a slow new
   * server answers the first request.
   */
  async #discover(client: RpcClient, hello: Hello): Promise<{ answer: Answer; begun?: Promise<Answer> }> {
    const { startupTimeout } = this.upstream.definition.server
    const silence = Math.min(SILENCE, startupTimeout / 2)
    const stop = new Cancellation()
    const params = { _meta: ownMeta(this.stateless.version) }
    const options = { timeout: startupTimeout, signal: stop }
    const discovered = client.request('server/discover', params, options).answer
    let timer: NodeJS.Timeout | undefined
    let begun: Promise<Answer> | undefined
    const greeted = new Promise<Answer>((resolve) => {
      timer = setTimeout(() => {
        begun = initialize(client, hello, this.stateless.version, startupTimeout - silence)
        const wait = (answer: Answer) => {
          if (isResult(answer)) timer = setTimeout(() => resolve(answer), silence)
        }
        begun.then(wait).catch(unexpected('initialize'))
      }, silence)
    })
    const answer = await Promise.race([discovered, greeted])
    clearTimeout(timer)
    stop.abort()
    return { answer, ...(begun && { begun }) }
  }

  /** One child for a server that ended at both questions: a handshake first, as every session-based server answers it. */
  async #greet(client: RpcClient, hello: Hello): Promise<{ answer: Answer; begun?: Promise<Answer> }> {
    const { startupTimeout } = this.upstream.definition.server
    const begun = initialize(client, hello, this.stateless.version, startupTimeout)
    const answer = await begun
    return answer instanceof Fault || isResult(answer) ? { answer, begun } : this.#discover(client, hello)
  }

  /** @param deadline of the whole start, by `performance.now()` */
  async #handshake(resolved: Resolved, hello: Hello, deadline: number): Promise<boolean> {
    const client = this.upstream.connect(resolved, NO_EVENTS)
    if (client instanceof Fault) return false
    const left = Math.max(1, deadline - performance.now())
    const begun = initialize(client, hello, this.stateless.version, left)
    return this.#keep(client, resolved, hello, begun)
  }

  /** Keeps a child for the first session; false: it refused the handshake. */
  async #keep(client: RpcClient, { key }: Resolved, hello: Hello, begun?: Promise<Answer>): Promise<boolean> {
    const answer = await begun
    if (answer && !isResult(answer)) {
      client.close()
      return false
    }
    if (answer) {
      client.handshake = { by: keyOfHello(hello), result: answer.result }
      this.upstream.started(key)
    }
    this.upstream.keepProbed(client, key)
    return true
  }
}

type Answer = JsonObject | Fault

/** The 2026-07-28 claim prevents a dual-protocol server from opening a session; old servers ignore it. */
function initialize(client: RpcClient, hello: Hello, version: string, timeout: number): Promise<Answer> {
  const params = { ...initializeParams(hello), _meta: ownMeta(version) }
  return client.request('initialize', params, { timeout }).answer
}

function isResult(answer: Answer): answer is JsonObject & { result: JsonObject } {
  return !(answer instanceof Fault) && isObject(answer.result)
}

function protocolOf({ result, error }: JsonObject): Protocol {
  const isStateless = isObject(result)
    ? Array.isArray(result.supportedVersions)
    : isObject(error) && STATELESS_CODES.has(error.code)
  return isStateless ? 'stateless' : 'session'
}
