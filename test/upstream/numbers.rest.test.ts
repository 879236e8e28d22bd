import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { startPrinting } from '../fixtures/everything/start.ts'
import { program } from '../fixtures/program.ts'
import { modernHeaders } from '../support/served.ts'
import { ACCEPT } from '../support/wire.ts'
import { proxied } from './harness.ts'

const SERVER = fileURLToPath(new URL('../fixtures/numbers/server.ts', import.meta.url))
const TYPE = 'application/json'
const HELLO = `"clientInfo":{"name":"t","version":"1"},"capabilities":{"elicitation":{"form":{}}}`
const META = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}`

/** One way of a value through a tool: what the server saw, and every text in which the client got it. */
interface Trip {
  seen: string
  got: string
}

interface NumbersClient {
  /** Calls a tool with this text as its arguments; `answer` is the text of the content that answers a question. */
  call(tool: string, value: string, answer?: string): Promise<Trip>
  /** The text of the answer to `tools/list`. */
  list(): Promise<string>
}

/** The numbers of a JSON text, as they are written. */
function numbersIn(text: string): string[] {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? []
}

const post = (url: string, body: string, headers: Record<string, string>) =>
  fetch(url, { method: 'POST', headers: { 'content-type': TYPE, accept: ACCEPT, ...headers }, body })

/** The messages of an answer, as their texts. */
async function* texts(response: Response): AsyncGenerator<string> {
  if (response.headers.get('content-type') === TYPE) {
    yield await response.text()
    return
  }
  let rest = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() as string
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6)
  }
}

function tripOf(all: readonly string[]): Trip {
  const { result, error } = JSON.parse(all.at(-1) as string)
  assert.equal(error, undefined, error?.message)
  return { seen: result.content[0].text, got: all.join() }
}

let ids = 0

/** @param ask sends a message and gives the messages that come until its answer */
function inSession(
  ask: (text: string) => AsyncGenerator<string>,
  say: (text: string) => Promise<unknown>,
): NumbersClient {
  async function request(method: string, params: string, answer = '{}'): Promise<string[]> {
    const id = `r${++ids}`
    const all: string[] = []
    for await (const text of ask(`{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":${params}}`)) {
      const message = JSON.parse(text)
      all.push(text)
      if (message.id === id) return all
      if (message.method && message.id !== undefined) {
        const given = `{"action":"accept","content":${answer}}`
        await say(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${given}}`)
      }
    }
    throw new Error(`no answer among ${all}`)
  }
  return {
    async call(name, value, answer) {
      const params = `{"name":"${name}","arguments":${value},"_meta":{"progressToken":"t","sent":${value}}}`
      return tripOf(await request('tools/call', params, answer))
    },
    list: async () => (await request('tools/list', '{}')).at(-1) as string,
  }
}

const CLIENTS: Record<string, (url: string) => Promise<NumbersClient>> = {
  async '2025-11-25'(url) {
    const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",${HELLO}}}`
    const opened = await post(url, hello, {})
    await opened.text()
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string }
    const say = async (text: string) => (await post(url, text, headers)).text()
    await say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return inSession(async function* (text) {
      yield* texts(await post(url, text, headers))
    }, say)
  },
  async SSE(url) {
    const abort = new AbortController()
    const stream = await fetch(url.replace(/mcp$/, 'sse'), { signal: abort.signal })
    const messages = texts(stream)
    const next = async () => (await messages.next()).value as string
    const address = new URL(await next(), url).href
    const say = async (text: string) => (await post(address, text, {})).text()
    const client = inSession(async function* (text) {
      await say(text)
      for (;;) yield await next()
    }, say)
    await say(
      `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05",${HELLO}}}`,
    )
    await next()
    await say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return client
  },
  async '2026-07-28'(url) {
    async function request(method: string, params: string, headers = {}): Promise<string[]> {
      const text = `{"jsonrpc":"2.0","id":${++ids},"method":"${method}","params":${params}}`
      const own = { ...modernHeaders(method), ...headers }
      const all: string[] = []
      for await (const each of texts(await post(url, text, own))) all.push(each)
      return all
    }
    return {
      async call(name, value, answer = '{}') {
        const params = `"name":"${name}","arguments":${value},"_meta":{"progressToken":"t","sent":${value},${META}}`
        const all = await request('tools/call', `{${params}}`, { 'mcp-name': name })
        const { result } = JSON.parse(all.at(-1) as string)
        if (result?.resultType !== 'input_required') return tripOf(all)
        const [key] = Object.keys(result.inputRequests)
        const given = `"requestState":"${result.requestState}","inputResponses":{"${key}":{"action":"accept","content":${answer}}}`
        return tripOf([
          ...all,
          ...(await request('tools/call', `{${params},${given}}`, { 'mcp-name': name })),
        ])
      },
      list: async () => (await request('tools/list', `{"_meta":{${META}}}`)).at(-1) as string,
    }
  },
}

const KINDS: Record<string, (t: TestContext) => Promise<object>> = Object.fromEntries(
  [
    ['stdio', 'stdio', 'session'],
    ['stdio', 'stdio', 'modern'],
    ['sse', 'sse', 'session'],
    ['streamable-http', 'http', 'session'],
    ['streamable-http', 'http', 'modern'],
  ].map(([type, transport, era]) => [
    `${type} (${era})`,
    async (t: TestContext) => {
      const command = program(SERVER, ['--transport', transport as string, '--era', era as string])
      if (transport === 'stdio') return { type, ...command }
      const { url } = await startPrinting(t, command)
      return { type, url }
    },
  ]),
)

const SEEN = [
  '1.10',
  '1e2',
  '1.0',
  '-0',
  '-0.0',
  '12345678901234567890',
  '1E400',
  '0.0000001',
  '1e21',
  '7',
  '0.5',
]
const number = fc.oneof(
  fc.constantFrom(...SEEN),
  fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/),
)
/** Objects as JSON texts with numbers in all places. */
const { value } = fc.letrec<{ value: string; any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    number,
    fc.array(tie('any'), { maxLength: 3 }).map((all) => `[${all}]`),
    tie('value'),
  ),
  value: fc
    .dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('any'), { minKeys: 1 })
    .map((members) => `{${Object.entries(members).map(([key, member]) => `"${key}":${member}`)}}`),
}))

for (const several of [false, true])
  for (const [kind, start] of Object.entries(KINDS))
    for (const [revision, open] of Object.entries(CLIENTS))
      test(`numbers keep their text: ${revision} in front of ${several ? 'several servers, one of them ' : ''}${kind}`, {
        timeout: 60_000,
      }, async (t) => {
        const server = await start(t)
        const { url } = await proxied(t, several ? [server, server] : [server], { list: several })
        const client = await open(url)
        const prefix = several ? 's2__' : ''
        assert.deepEqual(numbersIn(/"v":(\[.*?\])/.exec(await client.list())?.[1] ?? ''), [
          '1.10',
          '1e2',
          '-0',
        ])
        await fc.assert(
          fc.asyncProperty(value, value, async (given, answer) => {
            const numbers = numbersIn(given)
            const echoed = await client.call(`${prefix}echo`, given)
            assert.deepEqual(numbersIn(echoed.seen), numbers)
            const all = (key: string, { got }: Trip) => numbersIn(got.slice(got.indexOf(`"${key}":`)))
            for (const key of ['progressed', 'structuredContent', 'noted'])
              assert.deepEqual(all(key, echoed).slice(0, numbers.length), numbers, `${key}: ${echoed.got}`)
            const asked = await client.call(`${prefix}ask`, given, answer)
            assert.deepEqual(numbersIn(asked.seen), numbersIn(answer))
            // What a session-based server sends while its client is asked waits for the retry.
            for (const key of kind.endsWith('(session)') ? ['asked', 'progressed'] : ['asked'])
              assert.deepEqual(all(key, asked).slice(0, numbers.length), numbers, `${key}: ${asked.got}`)
          }),
          { numRuns: 8, includeErrorInReport: true },
        )
      })

test('1.0 names the same request, token and argument as 1', { timeout: 60_000 }, async (t) => {
  const { url } = await proxied(t, [{ type: 'stdio', ...program(SERVER) }])
  const call = (id: string, more: string) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":2.0${more}}}}`
  const headers = modernHeaders('tools/call', 'echo')
  const all = async (response: Response) => {
    const read: string[] = []
    for await (const text of texts(response)) read.push(text)
    return read
  }
  const [progress, answer] = await all(await post(url, call('1.0', `,${META}`), headers))
  assert.match(progress as string, /"progressToken":2.0,/)
  assert.equal(JSON.parse(answer as string).id, 1)
  const opened = await post(
    url,
    `{"jsonrpc":"2.0","id":1e0,"method":"initialize","params":{"protocolVersion":"2025-11-25",${HELLO}}}`,
    {},
  )
  await opened.text()
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string }
  // The server's progress names the token as 2, or as 2.0.
  const [noted, answered] = await all(await post(url, call('1.0', ''), session))
  assert.equal(JSON.parse(noted as string).params.progressToken, 2)
  assert.equal(JSON.parse(answered as string).id, 1)
})
