import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createCatalogue,
  createIndex,
  type Discovery,
  indexSteps,
  lineOf,
  type SearchableTool,
  signatureOf,
} from '../../src/discovery/index.ts'
import { intentOf, readQuery, wordsOfQuery } from '../../src/discovery/query.ts'
import { stemsOf, wordsOf } from '../../src/discovery/stemming.ts'
import { synonyms } from '../../src/discovery/synonyms.ts'
import { textsByField } from '../../src/discovery/tool-texts.ts'
import type { JsonObject } from '../../src/json/index.ts'

const nothing = { termOf: () => 1, ofLength: () => [], sizeOf: () => 1, rarity: () => 1, meanings: new Map() }

test('a query of a megabyte is read as far as its first words', () => {
  const words = readQuery(wordsOfQuery('delete remove list pods '.repeat(50_000)), nothing, synonyms())
  assert.ok(words.length <= 24, `${words.length} terms`)
  const one = readQuery(wordsOfQuery('x'.repeat(1_000_000)), nothing, synonyms())
  assert.deepEqual(
    one.map(({ word }) => word.length),
    [40],
  )
  const index = createIndex([{ name: 'a', description: 'Pods' }])
  assert.equal(index.search('pods '.repeat(200_000), { limit: 1 }).length, 1)
  assert.equal(index.search(Array(1_000).fill('pods'), { limit: 1_000 }).length, 1)
})

test('the intent of a query of a megabyte is that of its first words', () => {
  assert.equal(intentOf(wordsOfQuery(`${'please '.repeat(5)}list pods ${'delete '.repeat(100_000)}`)), 'read')
  assert.equal(intentOf(wordsOfQuery('can you '.repeat(100_000))), undefined)
  assert.equal(intentOf([]), undefined)
})

test('a word that is nearly all others is corrected to a few of them', () => {
  const near = Array.from({ length: 26 }, (_, i) => `zzzzz${String.fromCharCode(97 + i)}zzzz`)
  const vocabulary = {
    termOf: (stem: string) => (near.includes(stem) ? near.indexOf(stem) : undefined),
    ofLength: (length: number) => (length === 10 ? near : []),
    sizeOf: () => 1,
    rarity: () => 1,
    meanings: new Map(),
  }
  const [term] = readQuery(['zzzzz0zzzz'], vocabulary, synonyms())
  assert.equal(term?.alternatives.length, 4)
})

test('texts and schemas are read up to a limit', () => {
  assert.ok(wordsOf('word '.repeat(1_000_000)).length <= 1_600)
  assert.equal(stemsOf('a'.repeat(1_000_000))[0]?.length, 40)
  let deep: JsonObject = { description: 'bottom' }
  for (let i = 0; i < 10_000; i++) deep = { properties: { inner: deep } }
  const wide = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, i) => [`p${i}`, { description: 'd'.repeat(1_000) }]),
  )
  for (const inputSchema of [
    deep,
    { properties: wide },
    { anyOf: Array(100_000).fill({ enum: Array(1_000).fill('v') }) },
  ]) {
    const { argument, argumentText } = textsByField({ name: 'a', inputSchema })
    const said = [...argument, ...argumentText].reduce((sum, text) => sum + text.length, 0)
    assert.ok(said <= 50_000 && argument.length <= 400, `${said} ${argument.length}`)
  }
})

test('a schema that is not one, odd names and names of prototypes are words like others', () => {
  const odd = { properties: [1], items: 7, enum: [null, {}], anyOf: 'x' } as unknown as JsonObject
  const tools: SearchableTool[] = [
    { name: '__proto__', inputSchema: odd },
    { name: 'constructor', description: 'toString valueOf' },
    { name: '\ud800', description: '\u0000\u202e' },
    { name: '' },
  ]
  const index = createIndex(tools)
  assert.equal(tools[index.search('constructor', { limit: 1 })[0]!.at]!.name, 'constructor')
  assert.equal(tools[index.search('proto', { limit: 1 })[0]!.at]!.name, '__proto__')
  assert.deepEqual(index.search('hasOwnProperty \ud800 __defineGetter__ \u0000', { limit: 5 }), [])
  assert.deepEqual(createIndex([]).search('anything', { limit: 5 }), [])
})

test('the index is built in steps, of which none is for more than one tool', () => {
  const tools = Array.from({ length: 50 }, (_, i) => ({ name: `tool${i}`, description: 'Does it.' }))
  const steps = indexSteps(tools)
  let count = 0
  for (let step = steps.next(); !step.done; step = steps.next()) count++
  assert.ok(count >= 50, `${count} steps`)
})

test('the type of a definition is worked out once for each depth, however often it is referred to', () => {
  let reads = 0
  const all = (name: string) => Array.from({ length: 16 }, () => ({ $ref: `#/$defs/${name}` }))
  const defined = (name: string) => ({
    get anyOf() {
      reads++
      return all(name)
    },
  })
  const properties = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`p${i}`, { anyOf: all('a') }]))
  const inputSchema = { $defs: { a: defined('b'), b: defined('a') }, properties }
  assert.match(signatureOf({ name: 'a', inputSchema }), /^a\(p0\?: any, /)
  assert.ok(reads < 20, `${reads} definitions read`)
})

test('the line of a tool is one line, and has an end', () => {
  const odd = {
    type: { type: 'T'.repeat(100_000) },
    types: { type: Array(100_000).fill('string') },
    const: { const: 'c'.repeat(100_000) },
    enum: { enum: Array.from({ length: 100_000 }, (_, i) => i) },
    ['k'.repeat(100_000)]: {},
  }
  const tool = {
    name: 'n'.repeat(100_000),
    description: 'd'.repeat(100_000),
    inputSchema: { properties: odd },
  }
  assert.ok(lineOf(tool).length < 1_000, `${lineOf(tool).length} characters`)
  assert.equal(
    lineOf({ name: 'a', description: 'Reads \u0000\u001b[31mall\u202e\u0085b\u2028of\tit\r\nb() – Reads' }),
    'a() – Reads [31mallb of it',
  )
})

const policy: Discovery = {
  mode: 'search',
  above: 8_000,
  pins: () => false,
  wordsOf: () => ({ server: 'shop' }),
  key: '',
}

test('descriptions of one answer are limited together, and each can be had alone', () => {
  const description = 'd'.repeat(150_000)
  const names = Array.from({ length: 10 }, (_, i) => `tool${i}`)
  const { describe } = createCatalogue(
    names.map((name) => ({ name, description })),
    policy,
  )
  const { text } = describe({ names })
  assert.ok(text.length < 202_000, `${text.length} characters`)
  assert.match(text, /^\{"name":"tool0"[^\n]+\ntool1: too long to be described together/)
  for (const name of names) assert.equal(JSON.parse(describe({ names: [name] }).text).name, name)
  const longer = createCatalogue([{ name: 'a', description: 'd'.repeat(1_000_000) }], policy)
  assert.ok(longer.describe({ names: ['a'] }).text.length <= 200_000)
})

test('a name that is not in an array is described as the only one', () => {
  const { describe } = createCatalogue([{ name: 'list_pods' }], policy)
  assert.deepEqual(describe({ names: 'list_pods' }), describe({ names: ['list_pods'] }))
  assert.equal(describe({ names: '' }).isError, true)
})

test('arguments of a search that are null or empty are as if they were not given', async () => {
  const { search } = createCatalogue([{ name: 'list_pods' }], policy)
  const plain = await search({ query: 'pods' })
  assert.match(plain.text, /^list_pods\(\)/)
  assert.deepEqual(await search({ query: 'pods', queries: null, group: null, limit: null }), plain)
  assert.deepEqual(await search({ query: null, queries: ['pods'], group: '' }), plain)
  assert.deepEqual(await search({ query: '', queries: ['pods', ''] }), plain)
  assert.equal((await search({ query: '', queries: [] })).isError, true)
})
