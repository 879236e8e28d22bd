import { memory } from '../../../src/access/memory.ts'
import { type Message, type RequestContext, textOf } from '../../../src/mcp/index.ts'
import { receive } from '../../../src/mcp/transport/receive.ts'
import { readTexts } from '../../../src/upstream/transport/channel.ts'
import { depthOf, isAmbiguous, readWritten, type Written } from '../../support/json-reader.ts'
import { holds, type Target } from '../target.ts'

const MAX_DEPTH = 128
const MAX_ID = 256

export const rpc: Target = {
  name: 'rpc',
  about: 'JSON-RPC of a client (one POST) and of an upstream server (one text)',
  tokens: [
    ...['"jsonrpc":"2.0"', '"id":1', '"id":"x"', '"id":null', '"id":1.5', '"id":9007199254740993', '"id":{}'],
    ...'"method":"tools/call" "method":"ping" "params":{} "params":[] "result":{} "error":{}'.split(' '),
    ...'"name":"x" "arguments":{} "uri":"a:b" "_meta":{} "progressToken":1 , [ ] { }'.split(' '),
    ...[
      '"io.modelcontextprotocol/protocolVersion":"2026-07-28"',
      '"Method":"x"',
      '"name\\u0000":"x"',
      '"Name":1',
    ],
    ...[
      'notifications/cancelled',
      'notifications/',
      '"__proto__":{}',
      '12345678901234567890',
      '"\\u006eame":"y"',
    ],
  ],
  ciRuns: 20_000,
  async start() {
    return { run }
  },
}

async function run(input: string): Promise<void> {
  ofUpstream(input)
  await ofClient(input)
}

function ofUpstream(input: string): void {
  for (const taken of readTexts(input)) {
    if ('fault' in taken) {
      holds(taken.fault.message.length < 1000, 'the reason of a rejection is long')
      continue
    }
    holds(typeof taken.kind === 'string', 'a message of a server has no kind')
    if (taken.kind !== 'invalid') holds(isJson(textOf(taken)), 'the text of a server’s message is no JSON')
  }
}

async function ofClient(input: string): Promise<void> {
  const received = await receive(exchangeOf(input), () => true)
  const written = attempt(input)
  if ('refused' in received) {
    const { status } = received.refused
    holds(status === 400 || status === 413, 'a refusal has a status that is not 400 or 413')
    const answer = JSON.parse(await received.refused.text())
    holds(answer.jsonrpc === '2.0' && Number.isInteger(answer.error?.code), 'a refusal is no JSON-RPC error')
    if (!written) holds(answer.error.code === -32700 || answer.error.code === -32600, 'the code of a refusal')
    return
  }
  holds(written, 'what is no JSON was taken')
  holds(depthOf(written) <= MAX_DEPTH, 'a message nested deeper than 128 was taken')
  const all = written.kind === 'array' ? written.items : [written]
  holds(received.messages.length === all.length, 'the batch has another number of messages')
  for (const [i, message] of received.messages.entries()) judge(message, all[i]!)
}

function judge(message: Message, written: Written): void {
  if (message.kind === 'invalid' || message.kind === 'refused') return
  holds(!isAmbiguous(written), 'a message was taken that another reader may read otherwise')
  const { id } = message.raw
  if (typeof id === 'string') holds(id.length <= MAX_ID, 'an id longer than 256 characters was taken')
  else if (id !== undefined && id !== null)
    holds(Number.isSafeInteger(id), 'a number that is not safe was taken as an id')
  if (message.kind === 'response') return
  holds(typeof message.method === 'string', 'a method is no string')
}

function exchangeOf(text: string): RequestContext {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    query: () => ({}),
    replyHeaders: {},
    requestId: 'r',
    route: { maxRequestSize: 4 * 1024 * 1024 },
    signal: () => new AbortController().signal,
    onGone: () => () => {},
    lease: { begin: () => undefined, reservation: memory.reserve() },
    body: async () => ({ text: Buffer.from(text).toString() }),
  } as unknown as RequestContext
}

/** The message that the client wrote, as UTF-8 holds it. */
function attempt(input: string): Written | undefined {
  try {
    return readWritten(Buffer.from(input).toString())
  } catch {
    return undefined
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
