import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arg, callable, text, upstream } from './harness.ts'

/** Repeats the body that the test gives it. */
let answer: { body: string | Buffer; type?: string; status?: number; headers?: object } = { body: '' }
const target = await upstream((response) => {
  const { body, type = 'application/json', status = 200, headers } = answer
  response.writeHead(status, { 'content-type': type, ...headers }).end(body)
})

const env = {
  UPSTREAM_TOKEN: 'env-token-77',
  OTHER_TOKEN: 'not-of-this-tool',
  MODE: 'production',
  A_SESSION: 'tokyo',
}
const call = callable(
  {
    endpoint: `${target.origin}/x?sig=signed-88`,
    method: 'POST',
    headers: {
      Authorization: 'Basic dXNlcjpwYXNzLTk5OQ==',
      Cookie: 'sid=cookie-66; theme=darkmode',
      'X-Token': '{{env "UPSTREAM_TOKEN"}}',
      'Idempotency-Key': 'idem-1234',
    },
    requestBody: '{"key": "{{.Config.apiKey}}", "p": "{{env "HELD_SECRET"}}"}',
    args: [arg('q', 'query')],
  },
  {
    server: { config: { apiKey: 'a/b+c="d"&é', token: 'abc', region: 'eu-central', sort_key: 'created_at' } },
    env: { ...env, HELD_SECRET: 'held-secret-55' },
  },
)
const secrets = [
  'a/b+c="d"&é',
  'env-token-77',
  'signed-88',
  'pass-999',
  'dXNlcjpwYXNzLTk5OQ==',
  'cookie-66',
  'held-secret-55',
]

test('a known secret that the upstream repeats is masked at every status', async () => {
  for (const status of [200, 201, 302, 401, 404, 500])
    for (const secret of secrets) {
      answer = { status, body: JSON.stringify({ said: `<${secret}>`, [secret]: [secret] }) }
      const outcome = await call()
      const all = JSON.stringify(outcome)
      assert.ok(!all.includes(JSON.stringify(secret).slice(1, -1)), `${status} ${secret}: ${all}`)
      if (status < 300) assert.equal(text(outcome), '{"said":"<***>","***":["***"]}')
      answer = {
        status,
        body: `said: ${secret}`,
        type: 'text/plain',
        headers: { 'x-request-id': 'id env-token-77' },
      }
      const plain = JSON.stringify(await call())
      assert.ok(
        !plain.includes(JSON.stringify(secret).slice(1, -1)) && !plain.includes('env-token-77'),
        plain,
      )
    }
})

test('a secret is masked in the forms that JSON, URLs and base64 give it', async () => {
  const key = 'a/b+c="d"&é'
  const forms = [
    encodeURIComponent(key),
    encodeURIComponent(key).toLowerCase(),
    String.raw`a\/b+c=\"d\"&é`,
    String.raw`a/b+c\u003d\"d\"\u0026é`,
    Buffer.from(key).toString('base64'),
    Buffer.from(`x${key}`).toString('base64'),
    Buffer.from(`xy${key}yz`).toString('base64url'),
  ]
  for (const form of forms) {
    answer = { body: `{"said": "${form}"}` }
    assert.match(text(await call()), /^\{"said": "[^"]{0,6}\*\*\*[^"]{0,6}"\}$/, form)
  }
})

test('structured content, responseBody, errorBody, the status line and binary answers repeat none', async () => {
  const setup = { server: { config: { apiKey: 'topsecret123' } } }
  const parts = { endpoint: `${target.origin}/x`, headers: { 'X-Api-Key': '{{.Config.apiKey}}' } }
  answer = { body: '{"a": {"b": "topsecret123"}}', headers: { 'X-Echo': 'topsecret123' } }
  const structured = await callable({ ...parts, outputSchema: { type: 'object' } }, setup)()
  assert.deepEqual(structured.result.structuredContent, { a: { b: '***' } })
  const responseBody = '{{.Response.Data.a.b}} {{.Response.Body}} {{index .Response.Headers "X-Echo"}}'
  assert.equal(text(await callable({ ...parts, responseBody }, setup)()), '*** {"a": {"b": "***"}} ***')
  answer = { ...answer, status: 418 }
  const errorBody = '{{.Response.Data.a.b}} {{.Response.Body}}'
  assert.equal(text(await callable({ ...parts, errorBody }, setup)()), '*** {"a": {"b": "***"}}')
  answer = { body: Buffer.from('\0topsecret123\xff', 'latin1'), type: 'application/octet-stream' }
  const [content] = (await callable(parts, setup)()).result.content
  assert.equal(
    content?.type === 'resource' && content.resource.blob,
    Buffer.from('\0***\xff', 'latin1').toString('base64'),
  )
  answer = { body: Buffer.from('topsecret123'), type: 'image/png' }
  const [image] = (await callable(parts, setup)()).result.content
  assert.equal(image?.type === 'image' && image.data, Buffer.from('topsecret123').toString('base64'))
  answer = { body: 'x', headers: { 'content-encoding': 'topsecret123' } }
  assert.match(text(await callable(parts, setup)()), /unsupported content encoding: \*\*\*\.$/)
})

test('what is short, common, public or the client’s own is not masked', async () => {
  const body = JSON.stringify({
    abc: 'abc',
    region: 'eu-central',
    created_at: 'darkmode',
    mode: 'production',
    city: 'tokyo',
    id: 'idem-1234',
    other: 'not-of-this-tool',
  })
  answer = { body }
  assert.equal(text(await call()), body)
  answer = { body: '"env-token-77"' }
  assert.equal(text(await call({ q: 'env-token-77' })), '"env-token-77"')
})

test('JSON stays JSON where a secret looks like a number', async () => {
  const setup = { server: { config: { token: '1234567890' } } }
  const numeric = callable({ endpoint: target.origin, outputSchema: { type: 'object' } }, setup)
  answer = {
    body: '{"n": 1234567890, "m":[1234567890,12345678901], "s": "1234567890", "t": "x=1234567890 y"}',
  }
  const outcome = await numeric()
  assert.equal(text(outcome), '{"n": 1234567890, "m":[1234567890,12345678901], "s": "***", "t": "x=*** y"}')
  assert.equal(outcome.failure, undefined)
  const plain = callable({ endpoint: target.origin }, setup)
  answer = { body: 'token 1234567890 is', type: 'text/plain' }
  assert.equal(text(await plain()), 'token *** is')
})

test('no way to escape JSON gets a known secret through, not as text and not as a value', async () => {
  const [secret = ''] = secrets
  const escaped = (pattern: RegExp, write: (code: string) => string) =>
    JSON.stringify(secret).replace(pattern, (char) =>
      write(`\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
    )
  const upper = (code: string) => `\\u${code.slice(2).toUpperCase()}`
  const written = [
    escaped(/[<>&'`+\x7f-\uffff]/g, upper),
    escaped(/[<>&'`+\x7f-\uffff]/g, (code) => code),
    escaped(/[\x7f-\uffff]/g, upper),
    JSON.stringify(Buffer.from(secret).toString('latin1')),
  ]
  for (const form of written) {
    answer = { body: `{"said":${form}}` }
    const all = JSON.stringify(await call())
    assert.ok(!all.includes(form) && !all.includes(JSON.stringify(form).slice(1, -1)), `${form}: ${all}`)
  }
})

test('the recorded part of a large answer ends with no part of a secret', async () => {
  const kept = 64 * 1024
  for (const at of [kept, 2 * kept]) {
    answer = { body: `${'x'.repeat(at - 8)}env-token-77${'y'.repeat(3 * kept)}`, type: 'text/plain' }
    const recorded: string[] = []
    await call({}, { onExchange: ({ received = '' }) => void recorded.push(received) })
    assert.equal(recorded.length, 1)
    assert.doesNotMatch(recorded[0]!, /env/)
    assert.ok(recorded[0]!.length >= kept - 16 && recorded[0]!.length <= kept)
  }
  // Masked, it is much shorter than what was cut.
  answer = { body: 'env-token-77'.repeat(11_000), type: 'text/plain' }
  let recorded = ''
  await call({}, { onExchange: ({ received = '' }) => (recorded = received) })
  assert.doesNotMatch(recorded, /env/)
})
