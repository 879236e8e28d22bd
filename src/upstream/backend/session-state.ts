import { memory } from '../../access/memory.ts'
import type { JsonObject } from '../../json/index.ts'
import type { Request } from '../../mcp/index.ts'

/** A request repeated at a restarted server. */
export interface Restored {
  method: string
  params: JsonObject
}

/** Session state set by client requests, restored if a server loses the session. */
export interface Lasting {
  remember(request: Pick<Request, 'method' | 'params'>): void
  restore(): Restored[]
  /** Releases the state, and keeps none from now on. */
  forget(): void
}

/** Whether a request changes the state of the session. */
export function setsState({ method }: Pick<Request, 'method'>): boolean {
  return /^(?:logging\/setLevel|resources\/(?:un)?subscribe)$/.test(method)
}

/** Whether a request of a lost session may be repeated, even if the first one succeeded. */
export function isRepeatable(method: string): boolean {
  return REPEATABLE.test(method)
}

const REPEATABLE =
  /^(?:ping|server\/discover|logging\/setLevel|completion\/complete|[a-z/]+\/(?:list|read|get|subscribe|unsubscribe))$/

/** Maximum resource subscriptions of one session, and characters of each URI. */
export const MAX_SUBSCRIPTIONS = 1024
const MAX_URI = 8192

/** Whether a session with `count` subscriptions may add this one. */
export function maySubscribe(count: number, uri: string): boolean {
  return count < MAX_SUBSCRIPTIONS && uri.length <= MAX_URI
}

/** The level of a `logging/setLevel`; undefined if invalid. */
export function levelOf({ level }: JsonObject): string | undefined {
  return typeof level === 'string' && level.length <= MAX_LEVEL ? level : undefined
}

/** Maximum characters of a log level; the longest, `emergency`, is shorter. */
const MAX_LEVEL = 32

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

/** Whether a log message of a level should be sent to a client that requested `asked`; undefined means none. */
export function isWanted(level: unknown, asked: unknown): boolean {
  if (asked === undefined) return false
  const found = LEVELS.indexOf(String(level))
  // Unknown levels are always sent.
  return found < 0 || found >= LEVELS.indexOf(String(asked))
}

export function createLasting(): Lasting {
  let level: string | undefined
  const subscribed = new Set<string>()
  /** Memory for the URIs, which clients choose. */
  const held = memory.queue()
  return {
    remember({ method, params }) {
      if (method === 'logging/setLevel') level = levelOf(params)
      const uri = String(params.uri)
      if (method === 'resources/subscribe' && !subscribed.has(uri)) {
        if (maySubscribe(subscribed.size, uri) && held.add(uri.length)) subscribed.add(uri)
      } else if (method === 'resources/unsubscribe' && subscribed.delete(uri)) held.free(uri.length)
    },
    restore: () => [
      ...(level === undefined ? [] : [{ method: 'logging/setLevel', params: { level } }]),
      ...[...subscribed].map((uri) => ({ method: 'resources/subscribe', params: { uri } })),
    ],
    forget() {
      subscribed.clear()
      held.close()
    },
  }
}
