import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import {
  constants,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  gzipSync,
} from 'node:zlib'
import { answering, type Era, type Out, said } from './answering.ts'
import { CLIENTS, type Client, modernSend, open, proxied, send } from './harness.ts'

const LARGE = 'The response of the server s1 is larger than the limit of 16 KiB (maxResponseSize)'
const TIMEOUT = { timeout: 120_000 }
const FLUSHED = { flush: constants.Z_SYNC_FLUSH }

/** Encoders that send each write at once. */
const ENCODERS = {
  gzip: () => createGzip(FLUSHED),
  deflate: () => createDeflate(FLUSHED),
  'raw deflate': () => createDeflateRaw(FLUSHED),
  br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
}

function encoded(response: ServerResponse, name: keyof typeof ENCODERS, type: string): Out {
  const coding = name === 'raw deflate' ? 'deflate' : name
  response.writeHead(200, { 'content-type': type, 'content-encoding': coding })
  const encoder = ENCODERS[name]()
  encoder.pipe(response)
  response.on('close', () => encoder.destroy())
  return encoder
}

for (const era of ['session', 'modern', 'sse'] as Era[])
  for (const coding of Object.keys(ENCODERS) as (keyof typeof ENCODERS)[])
    for (const list of [false, true])
      test(`an answer in ${coding} of a ${era} server${list ? ' in a list' : ''}`, TIMEOUT, async (t) => {
        const { server, seen } = await answering(
          t,
          era,
          (response, { id, params }, request) => {
            const answer = said(id, `${request.headers.authorization}`)
            if (era === 'sse') return response.write(`data: ${answer}\n\n`)
            const isStream = params.name === 'stream'
            const type = isStream ? 'text/event-stream' : 'application/json'
            encoded(response, coding, type).end(isStream ? `data: ${answer}\n\n` : answer)
          },
          (response) => encoded(response, coding, 'text/event-stream'),
        )
        const headers = { Authorization: 'Bearer {{env "SERVER_TOKEN"}}' }
        const env = { SERVER_TOKEN: 'topsecret-123' }
        const { url } = await proxied(t, [{ ...server, headers }], { env, list })
        for (const [kind, connect] of Object.entries(CLIENTS)) {
          const client = await connect(t, url)
          for (const tool of ['json', 'stream'])
            assert.equal(await client.call(list ? `s1__${tool}` : tool), '***', `${kind}, ${tool}`)
        }
        for (const request of seen)
          assert.equal(request.headers['accept-encoding'], 'gzip, deflate, br', request.method)
      })

for (const era of ['session', 'modern'] as Era[])
  test(`an encoded event of a ${era} server passes when it comes`, TIMEOUT, async (t) => {
    let goOn: () => void = () => {}
    const { server } = await answering(t, era, (response, { id, params: { _meta } }) => {
      const out = encoded(response, 'gzip', 'text/event-stream')
      const params = { progressToken: _meta.progressToken, progress: 1 }
      const progress = { jsonrpc: '2.0', method: 'notifications/progress', params }
      out.write(`data: ${JSON.stringify(progress)}\n\n`)
      goOn = () => out.end(`data: ${said(id, 'done')}\n\n`)
    })
    for (const list of [false, true]) {
      const { url } = await proxied(t, [server], { list })
      const params = { name: list ? 's1__x' : 'x', arguments: {}, _meta: { progressToken: 'p' } }
      const message = { id: 'c', method: 'tools/call', params }
      for (const kind of ['session', 'modern']) {
        const answer =
          kind === 'session'
            ? await send(url, message, (await open(url)).headers)
            : await modernSend(url, 'tools/call', params)
        const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        while (!text.includes('notifications/progress')) text += (await reader.read()).value
        assert.doesNotMatch(text, /done/)
        goOn()
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value
        assert.match(text, /done/)
      }
    }
  })

function callOf(era: Era, url: string, name: string, { headers }: Client): Promise<Response> {
  const params = { name, arguments: {} }
  if (era === 'modern') return modernSend(url, 'tools/call', params)
  return send(url, { id: 'c', method: 'tools/call', params }, headers)
}

async function hearsOfTheEnd(response: Response, tool: string): Promise<void> {
  const text = await response.text()
  const last = /^data: (.+)$/m.exec(text)?.[1] ?? text
  assert.equal(JSON.parse(last).error.message, LARGE, tool)
}

for (const era of ['session', 'modern', 'sse'] as Era[])
  for (const list of [false, true])
    test(
      `what explodes when decoded ends at the limit: ${era}${list ? ' in a list' : ''}`,
      TIMEOUT,
      async (t) => {
        const bomb = gzipSync(said(7, 'x'.repeat(32 * 2 ** 20)))
        const bombed = (response: ServerResponse, type: string, body: Buffer) =>
          response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(body)
        const { server } = await answering(
          t,
          era,
          (response, { id, params }) => {
            if (era === 'sse') return response.write(`data: ${said(id, 'x'.repeat(32 * 2 ** 20))}\n\n`)
            if (params.name === 'json') return bombed(response, 'application/json', bomb)
            const event = gzipSync(`data: ${said(id, 'x'.repeat(32 * 2 ** 20))}\n\n`)
            return bombed(response, 'text/event-stream', event)
          },
          (response) => encoded(response, 'gzip', 'text/event-stream'),
        )
        const limits = { maxResponseSize: '16KiB' }
        const { url, logged } = await proxied(t, [{ ...server, limits }], { list })
        for (const [kind, connect] of Object.entries(CLIENTS))
          for (const tool of ['json', 'stream']) {
            const client = await connect(t, url)
            const name = list ? `s1__${tool}` : tool
            logged.length = 0
            const passes = !list && kind === era && era !== 'sse'
            if (passes) await hearsOfTheEnd(await callOf(era, url, name, client), tool)
            else assert.equal(await client.call(name), `error: ${LARGE}`, `${kind}, ${tool}`)
            const line = logged.find((each) => each.tool === name)
            assert.deepEqual([line.level, line.outcome, line.failure], ['warn', 'failed', LARGE], kind)
          }
      },
    )

test('a body that is not encoded is read, whatever its server calls that', TIMEOUT, async (t) => {
  for (const era of ['session', 'modern'] as Era[]) {
    const { server } = await answering(t, era, (response, { id, params }) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': params.name })
        .end(said(id, 'hello')),
    )
    const { url } = await proxied(t, [server])
    for (const connect of Object.values(CLIENTS)) {
      const client = await connect(t, url)
      for (const name of ['none', 'UTF-8', 'identity', 'utf8, identity'])
        assert.equal(await client.call(name), 'hello', name)
    }
  }
})

test(
  'damaged and unknown encodings are errors of the call, and the own header counts',
  TIMEOUT,
  async (t) => {
    for (const era of ['session', 'modern'] as Era[])
      for (const list of [false, true]) {
        const { server, seen } = await answering(t, era, (response, { params }) => {
          const headers = { 'content-type': 'application/json', 'content-encoding': params.name }
          response.writeHead(200, headers).end('{"jsonrpc":"2.0"}')
        })
        const headers = { 'Accept-Encoding': 'gzip' }
        const { url } = await proxied(t, [{ ...server, headers }], { list })
        for (const connect of Object.values(CLIENTS)) {
          const client = await connect(t, url)
          const call = (tool: string) => client.call(list ? `s1__${tool}` : tool)
          assert.match(await call('zstd'), /^error: .* sent an unsupported content encoding: zstd$/)
          assert.match(
            await call('gzip'),
            /^error: The server s1(?: ended the call without an answer|: The response of \S+ is not valid gzip data)$/,
          )
        }
        for (const request of seen) assert.equal(request.headers['accept-encoding'], 'gzip')
      }
  },
)
