import { memory } from '../../access/memory.ts'
import type { JsonObject } from '../../json/index.ts'
import type { Request } from '../rpc/link.ts'

/** A request that is sent again to a server that was started anew. */
export interface Restored {
  method: string
  params: JsonObject
}

/** What a client's requests have set in its session, and a server that lost the session is told again. */
export interface Lasting {
  remember(request: Pick<Request, 'method' | 'params'>): void
  restore(): Restored[]
  /** Frees what is remembered, and remembers nothing from now on. */
  forget(): void
}

/** Requests whose effect lasts as long as the session. */
export function setsState({ method }: Pick<Request, 'method'>): boolean {
  return /^(?:logging\/setLevel|resources\/(?:un)?subscribe)$/.test(method)
}

/** Whether a request of a session that was lost may be sent a second time, whatever became of the first one. */
export function isRepeatable(method: string): boolean {
  return REPEATABLE.test(method)
}

const REPEATABLE =
  /^(?:ping|server\/discover|logging\/setLevel|completion\/complete|[a-z/]+\/(?:list|read|get|subscribe|unsubscribe))$/

/** Resources that one session is subscribed to, and characters of each URI, at the most. */
export const MAX_SUBSCRIPTIONS = 1024
const MAX_URI = 8192

/** Whether a session that has so many subscriptions may have one more, to this URI. */
export function maySubscribe(count: number, uri: string): boolean {
  return count < MAX_SUBSCRIPTIONS && uri.length <= MAX_URI
}

/** The level of a `logging/setLevel`; undefined for what is not one, which is not kept. */
export function levelOf({ level }: JsonObject): string | undefined {
  return typeof level === 'string' && level.length <= MAX_LEVEL ? level : undefined
}

/** Characters of a log level: the longest is `emergency`. */
const MAX_LEVEL = 32

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

/** Whether a log message of a level is wanted by who asked for another one; nobody is sent any who asked for none. */
export function isWanted(level: unknown, asked: unknown): boolean {
  if (asked === undefined) return false
  const found = LEVELS.indexOf(String(level))
  // Of a level that is not known neither can be said.
  return found < 0 || found >= LEVELS.indexOf(String(asked))
}

export function createLasting(): Lasting {
  let level: string | undefined
  const subscribed = new Set<string>()
  /** Of the URIs, which others choose. */
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
