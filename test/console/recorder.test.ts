import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoggedRequest } from '../../src/mcp/index.ts'
import { expanded } from '../../src/server/console/items.ts'
import { boundedStream } from '../../src/server/console/request.ts'
import { Recorder } from '../../src/server/recorder.ts'

const LINK = 'https://gw.example/_login/Abcdefghijklmnopqrstuvwxyz'

/** What is recorded of a call with this answer. */
async function recorded(answer: object): Promise<string> {
  const recorder = new Recorder(true)
  const request = { method: 'tools/call', params: { name: 'a', arguments: {} } }
  const call = { context: {}, request, callLog: { tenant: '', prefix: '/a' }, revision: '2026-07-28' }
  recorder.begin(call as unknown as LoggedRequest)({
    text: JSON.stringify(answer),
    end: { outcome: 'ok' },
  } as never)
  return (await recorder.recordedCall('1'))!.contents!.answer!
}

test('links and codes of logins are not recorded, and everything else is', async () => {
  const params = { mode: 'url', elicitationId: '1', url: LINK, message: 'It asks for the code ABCD-EFGH' }
  const asked = await recorded({ result: { inputRequests: { login: { params } }, n: 1 } })
  assert.doesNotMatch(asked, /_login|ABCD/)
  assert.match(asked, /"mode":"url".*"n":1/)
  const advice = `Ask the user to open ${LINK} and enter the code ABCD-EFGH there`
  assert.doesNotMatch(
    await recorded({ result: { content: [{ type: 'text', text: advice }] } }),
    /_login|ABCD/,
  )
  const error = { code: -32042, message: `Open ${LINK}`, data: { elicitations: [params] } }
  assert.doesNotMatch(await recorded({ error }), /_login|ABCD/)
  assert.match(await recorded({ result: { content: [{ type: 'text', text: 'ABCD' }] } }), /ABCD/)
})

test('a slow browser holds at most 1 MiB, and gets what must arrive', async () => {
  const text = 'x'.repeat(10_000)
  const stream = boundedStream(async (send) => {
    for (let i = 0; i < 1_000; i++) send(text)
    send('the last', true)
  }, new AbortController().signal)
  const got = await new Response(stream).text()
  assert.ok(got.length <= 1024 * 1024, String(got.length))
  assert.ok(got.endsWith('the last'))
})

test('templates of resources are filled (RFC 6570)', () => {
  const values = { a: 'x y', b: '/p', empty: '' }
  assert.equal(expanded('f:///{a}{/b}{?a,b,none}', values), 'f:///x%20y/%2Fp?a=x%20y&b=%2Fp')
  assert.equal(expanded('{+b}{#a}{;empty}', values), '/p#x%20y;empty=')
})
