import { type Json, type JsonObject, parse, stringify } from '../../json/index.ts'
import { Fault, isObject, type Message } from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import type { ToolFilter } from '../tools.ts'
import { discard, type Http, type HttpAnswer } from '../transport/http.ts'
import { readMessages } from './forward.ts'
import { createLasting, type Lasting } from './session-state.ts'

/** What the gateway knows of a session with a streamable HTTP server, and says in it by itself. */
export interface ServerSession extends Lasting {
  /** The server's own id, when it gives one. */
  id: string | undefined
  revision: string
  /** The client's `initialize`; empty where another replica has it. */
  initialize: string
  /** Opens the session anew, once for all who ask at the same time; whether the server took it. */
  reopen(): Promise<boolean>
  /** Whether a message may be sent a second time. */
  repeatable(message: Message): Promise<boolean>
  /** Tells the server that the session has ended. */
  leave(): void
}

export interface ServerSessionOptions {
  resolved: Resolved
  http: Http
  filter: ToolFilter | undefined
  maxMessage: number
  /** Of the server. */
  name: string
}

export const ACCEPT = 'application/json, text/event-stream'
const FIRST = { accept: ACCEPT, 'content-type': 'application/json' }
const SAFE =
  /^(?:ping|logging\/setLevel|completion\/complete|[a-z/]+\/(?:list|read|get|subscribe|unsubscribe))$/

export function createServerSession(options: ServerSessionOptions): ServerSession {
  const { resolved, http, filter, maxMessage, name } = options
  let reopening: Promise<boolean> | undefined

  function headers(): Record<string, string> {
    const { id, revision } = session
    return {
      ...FIRST,
      'mcp-protocol-version': revision,
      ...(id !== undefined && { 'mcp-session-id': id }),
    }
  }

  /** A request of the gateway's own in the server's session; the result, or undefined. */
  async function ask(method: string, params?: Json): Promise<Json | undefined> {
    const own = { jsonrpc: '2.0', id: 'plantgw-own', method, ...(params !== undefined && { params }) }
    const request = { method: 'POST', headers: headers(), body: stringify(own) } as const
    const answer = await http.send(resolved, request)
    if (answer instanceof Fault) return undefined
    const read = await readMessages(answer, maxMessage, name)
    if (read instanceof Fault) return undefined
    const found = read.texts.map(parsed).find((message) => isObject(message) && 'result' in message)
    return isObject(found) ? found.result : undefined
  }

  async function handshake(): Promise<boolean> {
    const request = { method: 'POST', headers: FIRST, body: session.initialize } as const
    const answer = await http.send(resolved, request)
    if (answer instanceof Fault) return false
    const read = await readMessages(answer, maxMessage, name)
    if (read instanceof Fault || answer.statusCode !== 200) return false
    const message = read.texts.map(parsed).find((each) => isObject(each) && isObject(each.result))
    const { protocolVersion } = ((message as JsonObject | undefined)?.result ?? {}) as JsonObject
    // The client has been told a revision already.
    if (!message || protocolVersion !== session.revision) return false
    session.id = idOf(answer)
    const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    const noted = await http.send(resolved, { method: 'POST', headers: headers(), body })
    if (noted instanceof Fault) return false
    discard(noted)
    for (const { method, params } of session.restore()) await ask(method, params)
    return true
  }

  const session: ServerSession = {
    id: undefined,
    revision: '',
    initialize: '',
    ...createLasting(),
    reopen() {
      reopening ??= handshake().finally(() => {
        reopening = undefined
      })
      return reopening
    },
    async repeatable(message) {
      if (message.kind !== 'request' || SAFE.test(message.method)) return true
      if (message.method !== 'tools/call') return false
      const listed = await ask('tools/list')
      const tools = isObject(listed) && Array.isArray(listed.tools) ? listed.tools : []
      const own = filter ? filter.ownName(String(message.params.name)) : message.params.name
      const tool = tools.find((each) => isObject(each) && each.name === own)
      const hints = isObject(tool) && isObject(tool.annotations) ? tool.annotations : {}
      return hints.idempotentHint === true || hints.readOnlyHint === true
    },
    leave() {
      const { id, revision } = session
      if (id === undefined) return
      session.id = undefined
      const headers = { 'mcp-session-id': id, ...(revision && { 'mcp-protocol-version': revision }) }
      http
        .send(resolved, { method: 'DELETE', headers })
        .then((answer) => {
          if (!(answer instanceof Fault)) discard(answer)
        })
        .catch(unexpected('the end of a session'))
    },
  }
  return session
}

export function idOf({ headers }: HttpAnswer): string | undefined {
  const id = headers['mcp-session-id']
  return id === undefined ? undefined : String(id)
}

export function parsed(text: string): Json | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
