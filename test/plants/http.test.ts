import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPlantsPath } from '../../src/plants/index.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { appOn, call, failing, memory, opened } from './helpers.ts'

/** Status and the message of the Error body, which must be well formed. */
async function refused(response: Response): Promise<[number, string]> {
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const body = (await response.json()) as { error: number; message: string }
  assert.deepEqual(Object.keys(body), ['error', 'message'])
  assert.equal(body.error, response.status)
  assert.match(body.message, /^[A-Z].*\.$/, 'one sentence')
  return [response.status, body.message]
}

test('create answers 200 with name and tag, never with the id', async () => {
  const app = appOn(memory().store)
  const fern = await call(app, '/plants', { body: '{"id":1,"name":"Fern","tag":"shade","colour":"green"}' })
  assert.equal(fern.status, 200)
  assert.match(fern.headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(await fern.text(), '{"name":"Fern","tag":"shade"}')
  assert.equal(await (await call(app, '/plants', { body: '{"name":"","id":2}' })).text(), '{"name":""}')
})

test('list answers 200 with what the caller has access to, in order of creation', async () => {
  const app = appOn(memory().store)
  assert.equal(await (await call(app, '/plants')).text(), '[]')
  await call(app, '/plants', { body: '{"id":9,"name":"a"}' })
  await call(app, '/plants', { body: '{"id":1,"name":"b"}', token: 'token-bob' })
  await call(app, '/plants', { body: '{"id":5,"name":"c","tag":"t"}' })
  const list = async (token: string) => (await call(app, '/plants', { token })).text()
  assert.equal(await list('token-ann'), '[{"name":"a"},{"name":"c","tag":"t"}]')
  assert.equal(await list('token-bob'), '[{"name":"b"}]')
  assert.equal(await list('token-root'), '[{"name":"a"},{"name":"b"},{"name":"c","tag":"t"}]')
})

test('a page has a link to the next one; what is no limit or cursor is refused by name', async () => {
  const app = appOn(memory().store)
  for (const id of [1, 2, 3]) await call(app, '/plants', { body: `{"id":${id},"name":"${id}"}` })
  const seen: string[] = []
  let path: string | undefined = '/plants?limit=2'
  while (path !== undefined) {
    const page = await call(app, path)
    seen.push(await page.text())
    const link = /^<(\?[^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
    path = link && `/plants${link}`
  }
  assert.deepEqual(seen, ['[{"name":"1"},{"name":"2"}]', '[{"name":"3"}]'])
  const whole = await call(app, '/plants?other=1')
  assert.equal(await whole.text(), '[{"name":"1"},{"name":"2"},{"name":"3"}]')
  assert.equal(whole.headers.get('link'), null)
  for (const limit of ['0', '-1', '1.5', '01', '1001', 'x', '', '99999999999999999999'])
    assert.deepEqual(await refused(await call(app, `/plants?limit=${limit}`)), [
      400,
      'The parameter "limit" must be an integer from 1 to 1000.',
    ])
  for (const cursor of ['', 'x', 'LTE', encodeURIComponent('"'), 'OTk5OTk5OTk5OTk5OTk5OTk5OTk'])
    assert.deepEqual(await refused(await call(app, `/plants?cursor=${cursor}`)), [
      400,
      'The parameter "cursor" must come from the link to the next page.',
    ])
})

test('delete answers 204 without a body, and 404 for what is not there or not within reach', async () => {
  const app = appOn(memory().store)
  await call(app, '/plants', { body: '{"id":1,"name":"a"}' })
  const remove = (id: string, token?: string) =>
    call(app, `/plants/${id}`, { method: 'DELETE', ...(token && { token }) })
  const foreign = await refused(await remove('1', 'token-bob'))
  assert.deepEqual(foreign, [404, 'There is no plant with the id 1.'])
  const deleted = await remove('1')
  assert.equal(deleted.status, 204)
  assert.equal(await deleted.text(), '')
  assert.deepEqual(await refused(await remove('1')), foreign, 'a foreign plant looks like none')
})

test('HEAD is GET without a body', async () => {
  const app = appOn(memory().store)
  for (const path of ['/plants', '/plants/openapi.json']) {
    const response = await call(app, path, { method: 'HEAD' })
    assert.equal(response.status, 200)
    assert.equal(await response.text(), '')
  }
})

for (const [what, body, message] of [
  ['nothing', '', /^The body is not JSON/],
  ['no JSON', '{"id":1,"name":', /^The body is not JSON/],
  ['not UTF-8', Buffer.from('{"id":1,"name":"\xff"}', 'latin1'), /not valid UTF-8/],
  ['null', 'null', /must be a JSON object/],
  ['an array', '[{"id":1,"name":"a"}]', /must be a JSON object/],
  ['a long number', '0.12345678901234567890', /must be a JSON object/],
  ['no name', '{"id":1}', /"name" is required/],
  ['a name that is null', '{"id":1,"name":null}', /"name" must be a string/],
  ['a name that is a number', '{"id":1,"name":7}', /"name" must be a string/],
  ['a name only in the prototype', '{"id":12345678901234567,"__proto__":{"name":"x"}}', /"name" is required/],
  ['a tag that is null', '{"id":1,"name":"a","tag":null}', /"tag" must be a string/],
  ['a tag that is a list', '{"id":1,"name":"a","tag":["x"]}', /"tag" must be a string/],
  ['no id', '{"name":"a"}', /"id" is required/],
  ['an id that is a string', '{"id":"1","name":"a"}', /"id" must be an integer/],
  ['an id that is null', '{"id":null,"name":"a"}', /"id" must be an integer/],
  ['an id that is true', '{"id":true,"name":"a"}', /"id" must be an integer/],
  ['a fraction', '{"id":1.5,"name":"a"}', /"id" must be an integer/],
  ['a fraction no double holds', '{"id":9007199254740993.5,"name":"a"}', /"id" must be an integer/],
  ['a fraction too small for a double', '{"id":1e-400,"name":"a"}', /"id" must be an integer/],
  ['an id above int64', '{"id":9223372036854775808,"name":"a"}', /"id" must be within int64/],
  ['an id below int64', '{"id":-9223372036854775809,"name":"a"}', /"id" must be within int64/],
  ['an id beyond doubles', '{"id":1e400,"name":"a"}', /"id" must be within int64/],
  ['an id of 200,000 digits', `{"id":${'9'.repeat(200_000)},"name":"a"}`, /a number of more than 400 digits/],
  ['an id of 400 digits', `{"id":${'9'.repeat(400)},"name":"a"}`, /"id" must be within int64/],
  [
    'deep nesting',
    `{"id":1234567890123456,"name":${'['.repeat(300_000)}`,
    /^The body is not accepted: .* deeper than 128/,
  ],
] as [string, string | Uint8Array<ArrayBuffer>, RegExp][])
  test(`a body is refused with 400 and the field's name: ${what}`, async () => {
    const { store, written } = memory()
    const [status, text] = await refused(await call(appOn(store), '/plants', { body }))
    assert.equal(status, 400)
    assert.match(text, message)
    assert.equal(written.length, 0)
  })

test('an id that is taken is refused with 400, whoever has it', async () => {
  const app = appOn(memory().store)
  await call(app, '/plants', { body: '{"id":9223372036854775807,"name":"a"}' })
  for (const token of ['token-ann', 'token-bob'])
    assert.deepEqual(
      await refused(await call(app, '/plants', { token, body: '{"id":9223372036854775807,"name":"b"}' })),
      [400, 'The field "id" is 9223372036854775807, which is already taken.'],
    )
  const next = await call(app, '/plants', { body: '{"id":9223372036854775806,"name":"b"}' })
  assert.equal(next.status, 200, 'neighbours beyond 2^53 are different ids')
})

test('an integer counts by its value, however JSON spells it', async () => {
  const { store, written } = memory()
  const app = appOn(store)
  for (const id of '1.0 1e2 -0.0e5 123456789012345e4 9223372036854775807.000 -9.223372036854775808e18'.split(
    ' ',
  ))
    assert.equal((await call(app, '/plants', { body: `{"id":${id},"name":"a"}` })).status, 200, id)
  const ids = [1n, 100n, 0n, 1234567890123450000n, 2n ** 63n - 1n, -(2n ** 63n)]
  assert.deepEqual([...written.at(-1)!.keys()], ids)
})

test('the path takes an int64 as JSON writes an integer, and nothing else', async () => {
  const { store, written } = memory()
  const app = appOn(store)
  for (const id of ['9223372036854775807', '-9223372036854775808', '0', '1'])
    await call(app, '/plants', { body: `{"id":${id},"name":"a"}` })
  const remove = (id: string) => call(app, `/plants/${id}`, { method: 'DELETE' })
  for (const id of [
    '+1',
    '01',
    '-01',
    '%201',
    '1%20',
    '1.0',
    '1e0',
    '0x1',
    '1n',
    '-',
    '--1',
    'abc',
    '%2F1',
    '%FF',
    '%',
    '1%00',
    '١',
    '9223372036854775808',
    '-9223372036854775809',
    '9'.repeat(10_000),
  ])
    assert.deepEqual(
      await refused(await remove(id)),
      [400, 'The "id" in the path must be an int64 in decimal.'],
      id,
    )
  for (const id of ['9223372036854775807', '-9223372036854775808', '-0', '%31'])
    assert.equal((await remove(id)).status, 204, id)
  assert.equal(written.at(-1)!.size, 0)
})

test('a content type other than JSON in UTF-8, and a content coding, are 415', async () => {
  const app = appOn(memory().store)
  const create = (headers: Record<string, string>) =>
    call(app, '/plants', { body: '{"id":1,"name":"a"}', headers })
  for (const type of [
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/merge-patch+json',
    'application/json; charset=iso-8859-1',
  ])
    assert.equal((await refused(await create({ 'content-type': type })))[0], 415, type)
  assert.equal((await refused(await create({ 'content-encoding': 'gzip' })))[0], 415)
  const sound = await create({
    'content-type': 'Application/JSON ; Charset="UTF-8"',
    'content-encoding': 'identity',
  })
  assert.equal(sound.status, 200)
})

const sized = (size: number) => {
  const frame = '{"id":1,"name":""}'
  return frame.replace('""', `"${'x'.repeat(size - frame.length)}"`)
}

test('a body of 1 MiB is taken, one byte more is 413, whether its length is told or not', async () => {
  const limit = 1024 * 1024
  for (const told of [true, false]) {
    const app = appOn(memory().store)
    const create = (size: number) =>
      call(app, '/plants', { body: sized(size), headers: told ? { 'content-length': String(size) } : {} })
    assert.equal((await refused(await create(limit + 1)))[0], 413)
    assert.equal((await create(limit)).status, 200)
  }
})

test('a body that breaks off is 400', async () => {
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error('reset')) })
  assert.deepEqual(await refused(await call(appOn(memory().store), '/plants', { body })), [
    400,
    'The body ended before it was complete.',
  ])
})

test('a store that cannot write is 500, 507 or 503, is logged, and tells a client nothing of itself', async () => {
  for (const [error, expected] of [
    [new StoreError('full', '/secret is full'), 507],
    [new StoreError('failed', '/secret failed'), 500],
    [new StoreError('closed', '/secret'), 503],
    [new StoreError('unreachable', '/secret is away'), 503],
    [new RangeError('/secret bug'), 500],
  ] as const) {
    const logged: Error[] = []
    const app = appOn(failing(error), (seen) => logged.push(seen))
    for (const request of [{ body: '{"id":1,"name":"a"}' }, {}]) {
      const [status, message] = await refused(await call(app, '/plants', request))
      assert.equal(status, expected)
      assert.ok(!message.includes('secret'))
    }
    assert.equal((await refused(await call(app, '/plants/1', { method: 'DELETE' })))[0], expected)
    assert.deepEqual(logged, [error, error, error])
  }
})

test('after closing a change is 503 and a list still answers', async (t) => {
  const { app, close } = await opened(t)
  await close()
  assert.equal((await refused(await call(app, '/plants', { body: '{"id":1,"name":"a"}' })))[0], 503)
  assert.equal((await call(app, '/plants')).status, 200)
})

test('everything moves below the base path', async (t) => {
  const { app } = await opened(t, { basePath: '/api/v1' })
  assert.equal((await call(app, '/api/v1/plants', { body: '{"id":1,"name":"a"}' })).status, 200)
  assert.equal((await call(app, '/api/v1/plants/1', { method: 'DELETE' })).status, 204)
  assert.equal((await refused(await call(app, '/plants')))[0], 404)
  const document = (await (await call(app, '/api/v1/plants/openapi.json')).json()) as { servers: unknown }
  assert.deepEqual(document.servers, [{ url: '/api/v1' }])
})

test('isPlantsPath claims /plants and what is below it, nothing beside it', () => {
  for (const [basePath, inside, outside] of [
    ['/', ['/plants', '/plants/', '/plants/1', '/plants/1/2'], ['/', '/plantsx', '/api/plants']],
    ['/api', ['/api/plants', '/api/plants/1'], ['/plants', '/api', '/api/plantsx']],
    ['/api/', ['/api/plants'], ['/api//plants']],
  ] as const) {
    const claims = isPlantsPath(basePath)
    for (const path of inside) assert.equal(claims(path), true, path)
    for (const path of outside) assert.equal(claims(path), false, path)
  }
})
