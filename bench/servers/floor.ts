import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

/**
 * The least that a process of Node can do for a call: `node:http` and undici's `dispatch`, without a framework, promises
 * or checks. `POST /call` asks an API and answers as a tool does, `POST /mcp` passes the message on as it is.
 */
const pool = new Pool(process.env.UPSTREAM as string)

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    if (request.url === '/call') callTool(body, response)
    else passOn(request, body, response)
  })
})
server.keepAliveTimeout = 60_000

function callTool(body: Buffer, response: ServerResponse): void {
  const { id, params } = JSON.parse(body.toString())
  const { id: item, tag } = params.arguments
  const path = `/items/${encodeURIComponent(item)}?tag=${encodeURIComponent(tag)}`
  ask({ method: 'GET', path, headers: { authorization: 'Bearer x' } }, (_, answer) => {
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id,
      result: { content: [{ type: 'text', text: answer.toString() }] },
    })
    reply(response, 200, { 'content-type': 'application/json' }, text)
  })
}

const PASSED = 'accept content-type mcp-session-id mcp-protocol-version mcp-method mcp-name'.split(' ')

function passOn(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const headers: Record<string, string> = {}
  for (const name of PASSED) {
    const value = request.headers[name]
    if (typeof value === 'string') headers[name] = value
  }
  ask({ method: 'POST', path: '/mcp', headers, body }, ({ status, session }, answer) =>
    reply(
      response,
      status,
      { 'content-type': 'application/json', ...(session && { 'mcp-session-id': session }) },
      answer,
    ),
  )
}

interface Head {
  status: number
  session: string | undefined
}

function ask(
  options: Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>,
  then: (head: Head, body: Buffer) => void,
): void {
  let head: Head
  const chunks: Buffer[] = []
  pool.dispatch(options, {
    onRequestStart() {},
    onResponseStart(_controller, status, headers) {
      const session = headers['mcp-session-id']
      head = { status, session: session === undefined ? undefined : String(session) }
    },
    onResponseData: (_controller, chunk) => void chunks.push(chunk),
    onResponseEnd: () => then(head, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
    onResponseError(_controller, error) {
      throw error
    },
  })
}

function reply(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
) {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}

server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'))
