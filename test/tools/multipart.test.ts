import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../src/json/index.ts'
import { arg, callable, text, upstream } from './harness.ts'

const target = await upstream()

const call = callable({
  method: 'POST',
  endpoint: target.origin,
  // Ours, with its boundary, replaces it.
  headers: { 'Content-Type': 'multipart/form-data' },
  args: [
    arg('title', 'form-data'),
    arg('file', 'form-data'),
    arg('files', 'form-data', { type: 'array' }),
    arg('meta', 'form-data', { type: 'object' }),
    arg('count', 'form-data', { type: 'integer' }),
    arg('a "quoted"\r\nname', 'form-data'),
  ],
})

/** The form as undici's own reader of multipart sees it. */
async function form(args: { [name: string]: Json }): Promise<FormData> {
  const outcome = await call(args)
  assert.equal(outcome.failure, undefined, JSON.stringify(outcome.result))
  const { body, headers } = target.last()
  return new Response(body, { headers: { 'Content-Type': headers['content-type']! } }).formData()
}

test('each argument is a part, an array several', async () => {
  const data = await form({ title: 'Ünï "x"\r\nline', files: ['a', 2, true], meta: { a: [1] }, count: 7 })
  assert.deepEqual(data.get('title'), 'Ünï "x"\r\nline')
  assert.deepEqual(data.getAll('files'), ['a', '2', 'true'])
  assert.equal(data.get('meta'), '{"a":[1]}')
  assert.equal(data.get('count'), '7')
  assert.equal([...data].length, 6)
})

test('a data: URI is a file, base64 or plain', async () => {
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45])
  const data = await form({
    file: `data:image/png;name=p%20q.png;base64,${bytes.toString('base64')}`,
    files: ['data:,plain%20text%FF', 'data:text/csv;charset=utf-8,a,b'],
  })
  const file = data.get('file') as File
  assert.deepEqual([file.name, file.type], ['p q.png', 'image/png'])
  assert.deepEqual(Buffer.from(await file.arrayBuffer()), bytes)
  const [plain, csv] = data.getAll('files') as File[]
  assert.deepEqual([plain!.name, plain!.type], ['files', 'text/plain'])
  assert.deepEqual(Buffer.from(await plain!.arrayBuffer()), Buffer.from('plain text\xff', 'latin1'))
  assert.deepEqual([csv!.type, await csv!.text()], ['text/csv;charset=utf-8', 'a,b'])
})

test('an object {filename, contentType, data} is a file; any other object is JSON', async () => {
  const data = await form({
    meta: { filename: 'résumé "1"\r\n.pdf', contentType: 'application/pdf', data: 'SGk=' },
  })
  const file = data.get('meta') as File
  assert.deepEqual([file.name, file.type, await file.text()], ['résumé "1"\r\n.pdf', 'application/pdf', 'Hi'])
  assert.equal(
    (await form({ meta: { filename: 'x', data: 'SGk=', more: 1 } })).get('meta'),
    '{"filename":"x","data":"SGk=","more":1}',
  )
})

test('names and filenames are escaped as HTML forms escape them', async () => {
  await form({ 'a "quoted"\r\nname': 'v', meta: { filename: 'a"\r\nX-Evil: 1\0', data: '' } })
  const body = target.last().body.toString()
  assert.match(body, /name="a %22quoted%22%0D%0Aname"\r\n\r\nv\r\n/)
  assert.match(body, /name="meta"; filename="a%22%0D%0AX-Evil: 1%00"\r\n/)
})

test('text that only looks like a data: URI is text', async () => {
  for (const file of ['data: see below', 'data: one, two', 'data:nonsense,x', 'data:image/png', 'Data'])
    assert.equal((await form({ file })).get('file'), file)
})

test('data that is not base64 and content types that are none are refused', async () => {
  const before = target.received.length
  for (const args of [
    { file: 'data:image/png;base64,***' },
    { meta: { filename: 'x', data: 'a' } },
    { meta: { filename: 'x', data: 'SGk=', contentType: 'text/plain\r\nX-Evil: 1' } },
    { meta: { filename: 'x', data: 'SGk=', contentType: 'png' } },
  ]) {
    const outcome = await call(args)
    assert.equal(outcome.failure, 'arguments')
    assert.match(
      text(outcome),
      /`(?:file|meta)`: the (?:data|content type) of the file must be .*\. No request was sent/,
    )
  }
  assert.equal(target.received.length, before)
})
