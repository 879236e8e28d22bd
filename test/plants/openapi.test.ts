import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Hono } from 'hono'
import { FailedLogins } from '../../src/access/failed-logins.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { appOn, type Call, call, failing, memory } from './helpers.ts'

// biome-ignore lint/suspicious/noExplicitAny: whether the document has a shape is what is tested here
type Node = any

const FILE = new URL('../../schemas/plants.openapi.json', import.meta.url)
const document = JSON.parse(readFileSync(FILE, 'utf8'))

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema(document, 'doc')

/** Checks a value against the schema at a path of keys into the document. */
function conforms(value: unknown, keys: string[]): void {
  const pointer = keys
    .map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/')
  const valid = ajv.compile({ $ref: `doc#/${pointer}` })
  assert.ok(valid(value), `${JSON.stringify(value)}: ${ajv.errorsText(valid.errors)}`)
}

/** Follows a `$ref` of the document, if there is one; keys stay usable with `conforms`. */
function resolve(keys: string[]): [Node, string[]] {
  const node = keys.reduce((object, key) => object?.[key], document)
  return node?.$ref ? resolve(node.$ref.slice(2).split('/')) : [node, keys]
}

const seen = new Set<string>()

/** The answer must be one that the document describes: status, headers, media type and body. */
async function described(path: string, method: string, response: Response): Promise<void> {
  const status = String(response.status)
  const [answer, keys] = resolve(['paths', path, method, 'responses', status])
  assert.ok(answer, `${method} ${path} → ${status} is not described: ${await response.clone().text()}`)
  seen.add(`${method} ${path} ${status}`)
  for (const [name, header] of Object.entries<Node>(answer.headers ?? {})) {
    const value = response.headers.get(name)
    if (header.required) assert.notEqual(value, null, name)
    if (value !== null) conforms(value, [...keys, 'headers', name, 'schema'])
  }
  const text = await response.text()
  if (!answer.content) return assert.equal(text, '')
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  assert.ok(answer.content[type], `${type} is not described`)
  conforms(JSON.parse(text), [...keys, 'content', type, 'schema'])
}

test('the document is valid OpenAPI 3.1, version 1.0.0 under MIT, with three operations', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  assert.ok(valid, JSON.stringify(errors))
  assert.match(document.openapi, /^3\.1\./)
  assert.equal(document.info.version, '1.0.0')
  assert.equal(document.info.license.identifier, 'MIT')
  const operations = Object.values<Node>(document.paths).flatMap((item) => Object.values<Node>(item))
  assert.deepEqual(
    operations.map(({ operationId }) => operationId),
    ['listPlants', 'createPlant', 'deletePlant'],
  )
  assert.deepEqual(document.security, [{ bearer: [] }])
})

test('it is served as it is, without a credential, with the base path as its server', async () => {
  const response = await call(appOn(memory().store), '/plants/openapi.json', { token: null })
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  assert.deepEqual(await response.json(), document)
})

test('its examples conform to its schemas', () => {
  const check = (keys: string[]) => {
    const [node, at] = resolve(keys)
    if (typeof node !== 'object' || node === null) return
    if (node.schema && 'example' in node) conforms(node.example, [...at, 'schema'])
    for (const { value } of Object.values<Node>((node.schema && node.examples) ?? {}))
      conforms(value, [...at, 'schema'])
    if (!keys.includes('schema')) for (const key of Object.keys(node)) check([...at, key])
  }
  check(['paths'])
  check(['components', 'responses'])
})

test('every answer it describes is given, and every answer given is described', async () => {
  const { store } = memory()
  const app = appOn(store)
  const failingWith = (kind: StoreError['kind']) => appOn(failing(new StoreError(kind, kind)))
  const fern = '{"id":1,"name":"Fern","tag":"shade"}'
  const run = async (path: string, method: string, request: Call & { at?: string; on?: Hono }) => {
    const { at = path, on = app, ...rest } = request
    await described(path, method, await call(on, at, { method: method.toUpperCase(), ...rest }))
  }
  const create = (request: Call & { on?: Hono }) => run('/plants', 'post', request)
  const remove = (id: string, request: Call & { on?: Hono } = {}) =>
    run('/plants/{id}', 'delete', { at: `/plants/${id}`, ...request })
  const list = (request: Call & { at?: string; on?: Hono }) => run('/plants', 'get', request)

  await list({})
  for (const example of Object.values<Node>(
    document.paths['/plants'].post.requestBody.content['application/json'].examples,
  ))
    await create({ body: JSON.stringify(example.value) })
  await create({ body: fern })
  for (const body of '{ [] {} {"id":1.5,"name":"a"} {"id":3,"name":1} {"id":9223372036854775808,"name":""}'.split(
    ' ',
  ))
    await create({ body })
  await create({ body: fern, headers: { 'content-type': 'text/plain' } })
  await create({ body: ' '.repeat(1024 * 1024 + 1) })
  await list({})
  for (const query of ['limit=1', 'limit=1000&cursor=MA', 'limit=0', 'cursor=x'])
    await list({ at: `/plants?${query}` })
  for (const id of ['1', '1', '01']) await remove(id)
  for (const token of [null, 'unknown']) {
    await list({ token })
    await create({ token, body: fern })
    await remove('1', { token })
  }
  const logins = new FailedLogins(1)
  logins.failed('198.51.100.7')
  const on = appOn(store, undefined, () => logins.failed('198.51.100.7'))
  await list({ on })
  await create({ on, body: fern })
  await remove('1', { on })
  for (const kind of ['full', 'failed', 'closed', 'unreachable'] as const) {
    const on = failingWith(kind)
    await create({ body: fern, on })
    await remove('1', { on })
  }
  for (const kind of ['failed', 'unreachable'] as const) await list({ on: failingWith(kind) })

  const promised = Object.entries<Node>(document.paths).flatMap(([path, item]) =>
    Object.entries<Node>(item).flatMap(([method, { responses }]) =>
      Object.keys(responses).map((status) => `${method} ${path} ${status}`),
    ),
  )
  assert.deepEqual([...seen].sort(), promised.sort())
})
