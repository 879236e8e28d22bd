import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Arg } from '../../src/config/model.ts'
import type { Json } from '../../src/json/index.ts'
import { arg, callable, compileAll, makeTool, text, upstream } from './harness.ts'

const target = await upstream()
const { origin } = target
const list = { type: 'array' } as const
const map = { type: 'object' } as const
const colours: Json = ['blue', 'black', 'a&b']
const rgb: Json = { R: 100, G: 'a b' }

async function queryOf(rest: Partial<Arg>, value: Json): Promise<string> {
  await callable({ endpoint: `${origin}/x`, args: [arg('color', 'query', rest)] })({ color: value })
  return target.last().url.replace('/x', '')
}

test('the query is written by the styles of OpenAPI', async () => {
  const rows: [Partial<Arg>, Json, string][] = [
    [list, colours, '?color=blue&color=black&color=a%26b'],
    [{ ...list, style: 'form' }, colours, '?color=blue&color=black&color=a%26b'],
    [{ ...list, explode: false }, colours, '?color=blue,black,a%26b'],
    [{ ...list, style: 'spaceDelimited' }, colours, '?color=blue%20black%20a%26b'],
    [{ ...list, style: 'pipeDelimited' }, colours, '?color=blue%7Cblack%7Ca%26b'],
    [{ ...list, style: 'pipeDelimited', explode: true }, colours, '?color=blue&color=black&color=a%26b'],
    [map, rgb, '?color=%7B%22R%22%3A100%2C%22G%22%3A%22a%20b%22%7D'],
    [{ ...map, style: 'form' }, rgb, '?R=100&G=a%20b'],
    [{ ...map, explode: false }, rgb, '?color=R,100,G,a%20b'],
    [{ ...map, style: 'deepObject' }, rgb, '?color%5BR%5D=100&color%5BG%5D=a%20b'],
    [
      { ...map, style: 'deepObject' },
      { a: { b: [1, 2] }, c: [{ d: 3 }] },
      '?color%5Ba%5D%5Bb%5D%5B%5D=1&color%5Ba%5D%5Bb%5D%5B%5D=2&color%5Bc%5D%5B0%5D%5Bd%5D=3',
    ],
    [{ ...list, as: 'page[n]', explode: false }, [1, 2], '?page%5Bn%5D=1,2'],
    [{ as: 'q' }, 'x y', '?q=x%20y'],
    [{ ...list, explode: false }, [], ''],
    [{ ...map, style: 'form' }, {}, ''],
    [{ style: 'form', explode: false }, 'a', '?color=a'],
  ]
  for (const [rest, value, query] of rows)
    assert.equal(await queryOf(rest, value), query, JSON.stringify(rest))
})

test('the path is written by the styles of OpenAPI, each value escaped', async () => {
  const rows: [Partial<Arg>, Json, string][] = [
    [{ ...list, style: 'simple' }, colours, '/blue,black,a%26b'],
    [{ ...list, explode: true }, colours, '/blue,black,a%26b'],
    [{ ...list, style: 'label' }, colours, '/.blue,black,a%26b'],
    [{ ...list, style: 'label', explode: true }, colours, '/.blue.black.a%26b'],
    [{ ...list, style: 'matrix' }, colours, '/;color=blue,black,a%26b'],
    [{ ...list, style: 'matrix', explode: true }, colours, '/;color=blue;color=black;color=a%26b'],
    [{ ...map, style: 'simple' }, rgb, '/R,100,G,a%20b'],
    [{ ...map, style: 'simple', explode: true }, rgb, '/R=100,G=a%20b'],
    [{ ...map, style: 'label', explode: true }, rgb, '/.R=100.G=a%20b'],
    [{ ...map, style: 'matrix', explode: true }, rgb, '/;R=100;G=a%20b'],
    [{ style: 'matrix', as: 'colour' }, 'blue', '/;colour=blue'],
    [{ style: 'label' }, 'blue', '/.blue'],
  ]
  for (const [rest, value, path] of rows) {
    const args = [arg('color', 'path', { ...rest, required: true })]
    const outcome = await callable({ endpoint: `${origin}/{{.Args.color}}`, args })({ color: value })
    assert.equal(outcome.upstreamStatus, 200, text(outcome))
    assert.equal(target.last().url, path, JSON.stringify(rest))
  }
})

test('no item of a styled path leaves its segment', async () => {
  const before = target.received.length
  for (const style of ['simple', 'label', 'matrix'] as const)
    for (const value of [['a/../b'], ['a', '%2e%2e%2fb'], ['a\\b'], ['../..']]) {
      const args = [arg('ids', 'path', { ...list, style, required: true })]
      const outcome = await callable({ endpoint: `${origin}/x/{{.Args.ids}}`, args })({ ids: value })
      assert.equal(outcome.result.isError, true, `${style} ${value}`)
    }
  const label = arg('ids', 'path', { style: 'label', required: true })
  for (const value of ['', '.'])
    assert.equal(
      (await callable({ endpoint: `${origin}/{{.Args.ids}}`, args: [label] })({ ids: value })).result.isError,
      true,
    )
  assert.equal(target.received.length, before)
  const args = [arg('ids', 'path', { ...list, style: 'simple', slashes: 'encode', required: true })]
  await callable({ endpoint: `${origin}/x/{{.Args.ids}}`, args })({ ids: ['a/b', 'c"d'] })
  assert.equal(target.last().url, '/x/a%2Fb,c%22d')
})

test('headers, bodies and forms use the name on the wire, and the style', async () => {
  const args = [
    arg('trace', 'header', { as: 'X-Trace-Id' }),
    arg('ids', 'header', { ...list, as: 'X-Ids', style: 'simple' }),
    arg('kind', 'body', { as: '@type' }),
  ]
  await callable({ method: 'POST', endpoint: origin, args })({ trace: 't', ids: [1, 'b'], kind: 'plant' })
  assert.equal(target.last().headers['x-trace-id'], 't')
  assert.equal(target.last().headers['x-ids'], '1,b')
  assert.equal(target.last().body.toString(), '{"@type":"plant"}')
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const own = [
    arg('color', 'body', { ...list, explode: false }),
    arg('deep', 'body', { ...map, style: 'deepObject' }),
  ]
  await callable({ method: 'POST', endpoint: origin, headers: form, args: own })({
    color: ['a', 'b'],
    deep: { x: 1 },
  })
  assert.equal(target.last().body.toString(), 'color=a,b&deep%5Bx%5D=1')
  const part = [arg('doc', 'form-data', { as: 'file[]' })]
  await callable({ method: 'POST', endpoint: origin, args: part })({ doc: 'data:text/plain,hi' })
  assert.match(target.last().body.toString(), /name="file\[\]"; filename="doc"/)
})

test('a constant is sent in every call, and no model sees it or changes it', async () => {
  const args = [
    arg('id', 'query'),
    arg('view', 'query', { const: 'full' }),
    arg('key', 'header', { as: 'X-Key', const: 'sekret-value-1' }),
  ]
  const { tools } = compileAll([makeTool({ endpoint: origin, args })])
  assert.deepEqual(Object.keys(tools.list()[0]!.inputSchema.properties as object), ['id'])
  const call = callable({ endpoint: origin, args })
  await call({ id: '1' })
  assert.equal(target.last().url, '/?id=1&view=full')
  assert.equal(target.last().headers['x-key'], 'sekret-value-1')
  const refused = await call({ view: 'short' })
  assert.match(text(refused), /`view` is not an argument/)
  const own = { type: 'object', properties: { id: { type: 'string' } } }
  await callable({ endpoint: origin, args, inputSchema: own })({ id: '1', view: 'short' })
  assert.equal(target.last().url, '/?id=1&view=full')
})

test('a secret constant is masked in answers', async () => {
  const echo = await upstream((response, { url }) => response.end(`you sent ${url}`))
  const args = [arg('key', 'query', { as: 'api_key', const: 'sekret-value-1' })]
  const outcome = await callable({ endpoint: echo.origin, args })()
  assert.equal(text(outcome), 'you sent /?api_key=***')
})
