import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operation, toolsOf } from './imported.ts'

/** A form whose fields are all optional, beside a token of the environment. */
function form(fields: object, env: Record<string, string> = { SHOP_TOKEN: 's&t' }, more: object = {}) {
  const schema = { type: 'object', properties: { token: { type: 'string' }, ...fields } }
  const content = { 'application/x-www-form-urlencoded': { schema, ...more } }
  return toolsOf(operation({ requestBody: { content } }, { method: 'post' }), {}, env)
}

const TEXTS = { channel: { type: 'string' }, text: { type: 'string' } }
const LIST = { ids: { type: 'array', items: { type: 'string' } } }

test('a form of optional fields keeps each pair apart from the credential', async () => {
  const { send } = await form({ ...TEXTS, ...LIST })
  const cases: [object, string][] = [
    [{}, 'token=s%26t'],
    [{ channel: 'C&x=1', text: 'hi' }, 'channel=C%26x%3D1&text=hi&token=s%26t'],
    [{ text: '' }, 'text=&token=s%26t'],
    [{ ids: ['1', '2'] }, 'token=s%26t&ids=1&ids=2'],
    [{ channel: 'C', ids: ['1'] }, 'channel=C&token=s%26t&ids=1'],
  ]
  for (const [args, body] of cases) assert.equal((await send(args)).body, body)
})

test('a form without its credential is what the call gives', async () => {
  const { send } = await form({ ...TEXTS, ...LIST }, {})
  const cases: [object, string][] = [
    [{ channel: 'C' }, 'channel=C'],
    [{ channel: 'C', ids: ['1', '2'] }, 'channel=C&ids=1&ids=2'],
    [{ ids: ['1'] }, 'ids=1'],
  ]
  for (const [args, body] of cases) assert.equal((await send(args)).body, body)
  assert.equal((await send({})).body ?? '', '')
})

test('one optional field of a form, and one that is an object, are apart from the credential, too', async () => {
  const one = await form({ text: { type: 'string' } })
  assert.equal((await one.send({ text: 'a b' })).body, 'token=s%26t&text=a+b')
  assert.equal((await one.send({})).body, 'token=s%26t')
  const filter = { filter: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } } }
  const style = { encoding: { filter: { style: 'deepObject' } } }
  const deep = await form({ ...filter, ...LIST }, undefined, style)
  assert.equal(
    new URLSearchParams((await deep.send({ filter: { a: '1', b: 'x&y' }, ids: ['2'] })).body).toString(),
    new URLSearchParams([
      ['filter[a]', '1'],
      ['filter[b]', 'x&y'],
      ['token', 's&t'],
      ['ids', '2'],
    ]).toString(),
  )
  assert.equal((await deep.send({})).body, 'token=s%26t')
})

test('a query of optional pairs begins with ? and has & between them', async () => {
  const query = (name: string, schema: object, more = {}) => ({ in: 'query', name, schema, ...more })
  const parameters = [
    query('token', { type: 'string' }),
    query('ids', LIST.ids, { style: 'pipeDelimited', explode: false }),
    query('filter', { type: 'object', additionalProperties: { type: 'string' } }, { style: 'deepObject' }),
  ]
  const sent = async (args: object, env = {}) =>
    (await (await toolsOf(operation({ parameters }), {}, env)).send(args)).sent!.split('/things')[1]
  const env = { SHOP_TOKEN: 's&t' }
  assert.equal(await sent({}), '')
  assert.equal(await sent({}, env), '?token=s%26t')
  assert.equal(await sent({ ids: ['1', '2'] }), '?ids=1%7C2')
  assert.equal(await sent({ ids: ['1', '2'] }, env), '?token=s%26t&ids=1%7C2')
  assert.equal(await sent({ ids: ['1'], filter: { a: 'x' } }), '?ids=1&filter%5Ba%5D=x')
  assert.equal(await sent({ ids: ['1'], filter: { a: 'x' } }, env), '?token=s%26t&ids=1&filter%5Ba%5D=x')
})
