// A client that shows what is on the wire: the SDKs' clients hide what a broken upstream does to it.

interface Message {
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: { content?: { text?: string }[] }
  error?: { code: number; message: string }
}

export interface Answer {
  status: number
  /** What came before the answer. */
  events: Message[]
  /** Of the first content. */
  text?: string
  error?: { code: number; message: string }
}

/** How a caller goes before its answer has come. */
export interface Leaving {
  signal: AbortSignal
  /** Called once the answer has begun. */
  begun(): void
}

export interface Caller {
  call(tool: string, args?: Record<string, unknown>, leaving?: Leaving): Promise<Answer>
  /** Ends the session, where there is one. */
  close(): Promise<void>
}

const TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { roots: {} },
}
/** Against a test that hangs: an answer that takes as long is taken for none. */
const PATIENCE = 60_000

/** Opens a session of 2025-11-25, or asks in 2026-07-28. Rejects when the session is refused. */
export async function openCaller(url: string, modern = false): Promise<Caller> {
  let last = 0
  let headers: Record<string, string> = modern ? { 'mcp-protocol-version': '2026-07-28' } : {}

  async function post(method: string, params: object, more: Record<string, string> = {}, leaving?: Leaving) {
    const id = ++last
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...TYPES, ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      signal: leaving?.signal ?? AbortSignal.timeout(PATIENCE),
    })
    leaving?.begun()
    const messages = read(await response.text(), response.headers.get('content-type') ?? '')
    const answer = messages.find((message) => message.id === id && !message.method)
    return { response, answer, events: messages.filter((message) => message !== answer) }
  }

  if (!modern) {
    const clientInfo = { name: 'caller', version: '1.0.0' }
    const params = { protocolVersion: '2025-11-25', capabilities: { roots: {} }, clientInfo }
    const { response, answer } = await post('initialize', params)
    const session = response.headers.get('mcp-session-id')
    if (!answer?.result || !session) throw new Error(answer?.error?.message ?? `status ${response.status}`)
    headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await fetch(url, { method: 'POST', headers: { ...TYPES, ...headers }, body })
  }

  return {
    async call(tool, args = {}, leaving) {
      const _meta = { progressToken: `token-${last}`, ...(modern && META) }
      const routing: Record<string, string> = modern ? { 'mcp-method': 'tools/call', 'mcp-name': tool } : {}
      const params = { name: tool, arguments: args, _meta }
      const { response, answer, events } = await post('tools/call', params, routing, leaving)
      const text = answer?.result?.content?.[0]?.text
      return {
        status: response.status,
        events,
        ...(text !== undefined && { text }),
        ...(answer?.error && { error: answer.error }),
      }
    },
    async close() {
      if (!modern) await fetch(url, { method: 'DELETE', headers })
    },
  }
}

function read(body: string, type: string): Message[] {
  if (!type.startsWith('text/event-stream')) return body ? [JSON.parse(body) as Message] : []
  return body
    .split('\n')
    .filter((line) => line.startsWith('data:') && line.length > 6)
    .map((line) => JSON.parse(line.slice(5)) as Message)
}
