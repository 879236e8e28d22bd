import type { TestContext } from 'node:test'
import { modernHeaders } from './served.ts'
import { ACCEPT, type Loose, META } from './wire.ts'

let ids = 0

/** POSTs a message; the response is not read. */
export function send(
  url: string,
  message: object,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: ACCEPT, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    ...(signal && { signal }),
  })
}

/** All messages of an answer, whether it is JSON or a stream. */
export async function messages(response: Response): Promise<Loose[]> {
  const text = await response.text()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return text ? [JSON.parse(text)] : []
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data as string))
}

export interface Client {
  headers: Record<string, string>
  /** Sends a request and gives all messages of its answer. */
  all(method: string, params?: object): Promise<Loose[]>
  /** Sends a request and gives its answer. */
  request(method: string, params?: object): Promise<Loose>
  /** Calls a tool: its text, or the message of the error. */
  call(name: string, args?: object): Promise<string>
}

function client(all: Client['all'], headers: Record<string, string>): Client {
  const request: Client['request'] = async (method, params) => (await all(method, params)).at(-1)
  return {
    headers,
    all,
    request,
    async call(name, args = {}) {
      const { result, error } = await request('tools/call', { name, arguments: args })
      return error ? `error: ${error.message}` : result.content.map((each: Loose) => each.text).join()
    },
  }
}

/** Opens a session, of 2025-11-25 unless said otherwise. */
export async function open(
  url: string,
  given: Record<string, string> = {},
  capabilities: object = {},
  protocolVersion = '2025-11-25',
): Promise<Client & { initialized: Loose; status: number }> {
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion, capabilities, clientInfo }
  const response = await send(url, { id: ++ids, method: 'initialize', params }, given)
  const session = response.headers.get('mcp-session-id')
  const headers = {
    ...given,
    ...(session && { 'mcp-session-id': session }),
    'mcp-protocol-version': protocolVersion,
  }
  const initialized = (await messages(response)).at(-1)
  if (session) await (await send(url, { method: 'notifications/initialized' }, headers)).text()
  return { ...inSession(url, headers), initialized, status: response.status }
}

/** A client that has a session already. @param headers of its requests, with the id of the session */
export function inSession(url: string, headers: Record<string, string>): Client {
  return client(
    async (method, params = {}) => messages(await send(url, { id: ++ids, method, params }, headers)),
    headers,
  )
}

/** Opens a session over SSE, the transport of 2024-11-05. @param url of `{prefix}/mcp` */
export async function openSse(
  t: TestContext,
  url: string,
): Promise<Client & { close: () => Promise<unknown> }> {
  const response = await fetch(url.replace(/mcp(?=\?|$)/, 'sse'))
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => reader.cancel().catch(() => {}))
  let text = ''
  async function next(): Promise<string> {
    for (let end = text.indexOf('\n\n'); end < 0; end = text.indexOf('\n\n')) {
      const piece = await reader.read()
      if (piece.done) throw new Error('the stream has ended')
      text += piece.value
    }
    const [event, ...rest] = text.split('\n\n')
    text = rest.join('\n\n')
    return /^data: (.*)$/m.exec(event!)?.[1] ?? next()
  }
  const address = new URL(await next(), url).href
  const all: Client['all'] = async (method, params = {}) => {
    const id = ++ids
    await (await send(address, { id, method, params })).text()
    const heard: Loose[] = []
    while (heard.at(-1)?.id !== id) heard.push(JSON.parse(await next()))
    return heard
  }
  const clientInfo = { name: 'test', version: '1' }
  await all('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo })
  await (await send(address, { method: 'notifications/initialized' })).text()
  return { ...client(all, {}), close: () => reader.cancel() }
}

/** Clients of each kind. */
export const CLIENTS: Record<string, (t: TestContext, url: string) => Promise<Client>> = {
  session: (_, url) => open(url),
  modern: async (_, url) => modern(url),
  sse: openSse,
}

/** POSTs a request of 2026-07-28. */
export function modernSend(
  url: string,
  method: string,
  params: Loose = {},
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) {
  const name = params.name ?? params.uri ?? params.taskId
  const own = modernHeaders(method, name)
  const message = { id: ++ids, method, params: { ...params, _meta: { ...META, ...params._meta } } }
  return send(url, message, { ...own, ...headers }, signal)
}

/** A client of 2026-07-28. */
export function modern(url: string, headers: Record<string, string> = {}): Client {
  return client(async (method, params) => messages(await modernSend(url, method, params, headers)), headers)
}
