import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { clientServers } from '../../src/import/client-servers.ts'
import type { JsonObject } from '../../src/json/index.ts'
import { compiled, document, imported } from './imported.ts'

/** Numbers by chance that are the same in every run. @returns one from 0 up to, not including, `below` */
function chance(seed: number): (below: number) => number {
  let at = seed
  return (below) => {
    at = (at * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((at / 2 ** 31) * below)
  }
}

const LONG = 'Words that say something of it. '.repeat(9)

/** A schema, whose members are named by where they are. */
function schemaBy(dice: (below: number) => number, depth: number, name: string): JsonObject {
  const described = dice(2) ? { description: LONG } : {}
  if (depth > 0 && dice(3) === 0) {
    const members = Array.from({ length: 1 + dice(depth === 2 ? 60 : 6) }, (_, i) => `${name}_${i}`)
    const properties = Object.fromEntries(members.map((one) => [one, schemaBy(dice, depth - 1, one)]))
    return { type: 'object', ...described, properties, required: [members[0]!] }
  }
  if (depth > 0 && dice(4) === 0)
    return { type: 'array', ...described, items: schemaBy(dice, depth - 1, `${name}_i`) }
  return { type: ['string', 'integer', 'boolean'][dice(3)]!, ...described }
}

/** The names of all members within a schema. */
function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { properties } = value as JsonObject
  const own = typeof properties === 'object' ? Object.keys(properties ?? {}) : []
  return [...own, ...Object.values(value).flatMap(namesIn)]
}

test('every parameter and member of a description arrives, or is reported', () => {
  const dice = chance(7)
  let lost = 0
  for (let run = 0; run < 2; run++) {
    const paths: Record<string, object> = {}
    for (let i = 0; i < 5; i++) {
      const parameters = Array.from({ length: dice(6) }, (_, k) => {
        const place = ['query', 'header', 'cookie'][dice(3)]
        const schema = { type: ['string', 'array'][dice(2)], items: { type: 'string' } }
        return { name: `p${i}_${k}`, in: place, explode: false, schema }
      })
      const properties = Object.fromEntries(
        Array.from({ length: 1 + dice(70) }, (_, k) => [`b${i}_${k}`, schemaBy(dice, 2, `b${i}_${k}`)]),
      )
      const media = ['application/json', 'application/octet-stream'][Number(dice(6) === 0)]!
      const content = { [media]: { schema: { type: 'object', properties } } }
      const own = { operationId: `op${i}`, summary: `Does ${i}`, parameters, responses: {} }
      paths[`/things${i}`] = { post: { ...own, requestBody: { required: true, content } } }
    }
    const made = imported(document(paths))
    assert.deepEqual(made.skipped, [])
    assert.equal(made.imported, 5)
    for (const { text } of made.configurations)
      for (const tool of readConfiguration({ file: '-', text }, {}).configuration!.tools) {
        const path = `/things${tool.name.slice(2)}`
        const { parameters, requestBody } = (paths[path] as { post: JsonObject }).post
        const [[media, { schema: body }]] = Object.entries((requestBody as JsonObject).content as object) as [
          [string, JsonObject],
        ]
        const wanted = (parameters as JsonObject[]).map((each) => String(each.name))
        if (media === 'application/json') wanted.push(...namesIn(body))
        const written = JSON.stringify(tool)
        const missing = wanted.filter((one) => !written.includes(`"${one}"`))
        lost += missing.length
        const reported = made.leftOut.some(({ operation }) => operation === `POST ${path}`)
        assert.ok(missing.length === 0 || reported, `${path}: ${missing.slice(0, 5)}`)
        assert.deepEqual(
          missing.filter((one) => /^[bp]\d+_\d+$/.test(one)),
          [],
          path,
        )
      }
  }
  assert.ok(lost > 0, 'some descriptions are too large')
})

test('members of a large body stay, without their descriptions', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 115 }, (_, i) => [
      `member${i}`,
      { type: 'object', description: LONG, properties: { deep: { type: 'string', description: LONG } } },
    ]),
  )
  const schema = { type: 'object', properties, required: ['member3'] }
  const post = {
    operationId: 'op',
    responses: {},
    requestBody: { required: true, content: { 'application/json': { schema } } },
  }
  const { schema: made, leftOut } = await compiled(imported(document({ '/payments': { post } })))
  assert.equal(Object.keys(made().properties).length, 115)
  assert.deepEqual(made().required, ['member3'])
  assert.match(leftOut[0]?.what ?? 'deep', /deep/)
})

test('what YAML merges is a part of the description', async () => {
  const text = `openapi: 3.0.3
info: {title: Shop, version: "1"}
servers: [{url: "https://api.example.com"}]
x-page: &page {name: page, in: query, schema: {type: integer}}
x-named: &named {name: {type: string}, size: {type: integer}}
paths:
  /things:
    post:
      operationId: op
      summary: Makes a thing
      parameters: [{<<: *page, required: true}, {<<: [*page], name: size}]
      requestBody: {content: {application/json: {schema: {type: object, properties: {<<: *named, size: {type: string}}}}}}
      responses: {}
`
  const { schema } = await compiled(imported(text))
  const { properties, required } = schema()
  assert.deepEqual(Object.keys(properties).sort(), ['name', 'page', 'query_size', 'size'])
  assert.deepEqual([required, properties.size!.type], [['page'], 'string'])
})

test('a value that is a text or an array may be both, in the query, the path and a header', async () => {
  const schema = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] }
  const parameters = [
    { name: 'meta', in: 'query', explode: false, schema },
    { name: 'ids', in: 'query', style: 'pipeDelimited', explode: false, schema },
    { name: 'X-Ids', in: 'header', schema },
    { name: 'id', in: 'path', required: true, schema },
  ]
  const get = { operationId: 'op', summary: 'Lists', parameters, responses: {} }
  const { send } = await compiled(imported(document({ '/things/{id}': { get } })))
  const url = 'GET https://api.example.com/v1/things'
  assert.deepEqual(await send({ id: 'a', meta: '*', ids: 'b', 'X-Ids': 'c' }), {
    sent: `${url}/a?meta=*&ids=b`,
    headers: { 'X-Ids': 'c' },
    body: undefined,
  })
  const lists = await send({ id: ['a', 'b'], meta: ['c', 'd'], ids: ['e', 'f'], 'X-Ids': ['g', 'h'] })
  assert.deepEqual([lists.sent, lists.headers], [`${url}/a,b?meta=c,d&ids=e%7Cf`, { 'X-Ids': 'g,h' }])
  assert.deepEqual(await send({ id: 'a' }), { sent: `${url}/a`, headers: {}, body: undefined })
})

test('flat paths without tags go together, those of a resource stay apart', () => {
  const post = (name: string) => ({
    post: {
      operationId: name,
      responses: {},
      requestBody: {
        content: {
          'application/json': {
            schema: { type: 'object', properties: { text: { type: 'string', description: LONG } } },
          },
        },
      },
    },
  })
  const flat = Array.from({ length: 150 }, (_, i) => [`/send${i}`, post(`send${i}`)])
  const nested = Array.from({ length: 6 }, (_, i) => [`/users/${'{id}'}/part${i}`, post(`part${i}`)])
  const made = imported(document(Object.fromEntries([...flat, ...nested])))
  assert.equal(made.imported, 156)
  const sizes = made.configurations.map(({ tools }) => tools.length)
  assert.ok(sizes.length < 8, String(sizes))
  assert.ok(made.configurations.some(({ prefix, tools }) => prefix === '/shop/users' && tools.length === 6))
})

test('arguments and environments in other forms are read, or reported', () => {
  const of = (one: object) => {
    const made = clientServers({ mcpServers: { a: { command: 'npx', ...one } } } as JsonObject, 'a.json')
    assert.ok(!('fault' in made))
    return made.servers[0]!
  }
  assert.deepEqual(of({ args: '-y "a b" --token ${TOKEN}' }).args, ['-y "a b" --token ${TOKEN}'])
  for (const [args, words] of [
    ['-y pkg --dir "/a b"', ['-y', 'pkg', '--dir', '/a b']],
    ['-y pkg ${TOKEN}', ['-y', 'pkg', '${TOKEN}']],
    ['--dir C:\\data\\x', ['--dir', 'C:\\data\\x']],
  ] as const) {
    const server = of({ args })
    assert.deepEqual(server.args, words)
    assert.match(server.notes.join(), /`args` are one text/)
  }
  assert.match(of({ args: [{}] }).notes.join(), /some of its `args`/)
  assert.deepEqual(of({ env: ['A=b=c'] }).env, { A: 'b=c' })
  assert.match(of({ env: 'A=b' }).notes.join(), /`env`/)
  assert.match(of({ env: { A: { b: 1 } } }).notes.join(), /`env`/)
  assert.deepEqual(of({ args: ['x', 1], env: { A: 1 } }).notes, [])
})
