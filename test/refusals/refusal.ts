import { META } from '../support/wire.ts'

export { META }

/** The gateways that `world.ts` serves. */
export type GatewayName = 'main' | 'small' | 'open' | 'tls'

export interface Sent {
  /** Default: POST. */
  method?: string
  path: string
  /** Besides those that every request has; null takes one away, a list sends one several times. */
  headers?: Readonly<Record<string, string | null | readonly string[]>>
  /** Text is sent as it is, everything else as JSON. */
  body?: unknown
}

export interface Answer {
  status: number
  /** Of the JSON-RPC error; `page`: the body is `{"error": <status>, "message": …}`; `tool`: a result with `isError`. */
  error?: number | 'page' | 'tool' | 'none'
  /** `WWW-Authenticate` without `error_description`; absent: there is none. */
  challenge?: string
  /** Null: it is not there. `Retry-After` is a number of seconds. */
  headers?: Readonly<Record<string, string | null>>
}

/** One request that is refused. `<…>` stands for what only a running gateway has: tokens and ids of sessions. */
export interface Refusal {
  /** What is wrong with the request. */
  when: string
  /** Default: main. */
  gateway?: GatewayName
  send: Sent
  /** Requests before it, whose answers do not matter. */
  before?: readonly Sent[]
  answer: Answer
  /** The request did go on, and its answer is what is refused. Default: nothing went on. */
  passes?: boolean
  /** Why it is refused, or what to do. */
  why: string
}

export interface Chapter {
  title: string
  about: string
  rows: readonly Refusal[]
}

const MIRRORED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

type Headers = NonNullable<Sent['headers']>

/** A request of a 2026-07-28 client. */
export function alone(path: string, method: string, params: object = {}, headers: Headers = {}): Sent {
  const name = (params as Record<string, unknown>)[MIRRORED[method] ?? '']
  return {
    path: `${path}/mcp`,
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
  }
}

/** A request in a session of 2025-11-25. */
export function within(
  session: string,
  path: string,
  method: string,
  params: object = {},
  headers: Headers = {},
): Sent {
  return {
    path: `${path}/mcp`,
    headers: { 'mcp-session-id': `<session ${session}>`, 'mcp-protocol-version': '2025-11-25', ...headers },
    body: { jsonrpc: '2.0', id: 1, method, params },
  }
}

export const bearer = (token: string): Headers => ({ authorization: `Bearer <token ${token}>` })
export const PUBLIC = 'https://tools.example.com'
export const APP = 'https://app.example.com'

export const challengeAt = (endpoint: string, scopes: string, error?: string) =>
  `Bearer resource_metadata="${PUBLIC}/.well-known/oauth-protected-resource${endpoint}", scope="${scopes}"${error ? `, error="${error}"` : ''}`
