import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkTogether, createReader, readConfiguration } from '../../src/checks/index.ts'

const config = (name: string, prefix = `/${name}`) =>
  `name: ${name}\nrouters: [{server: s, prefix: ${prefix}}]\nservers: [{name: s}]\n`

describe('a reader', () => {
  test('finds after any changes what all together have, in any order of them', async () => {
    const reader = createReader({})
    const listing = 'name: l\nrouters: [{server: ["a/s", "x/s"], prefix: /l}]\n'
    const texts = [
      [config('a'), config('b'), config('c')],
      [config('a'), config('b', '/c'), config('c', '/b')],
      [config('a'), config('c', '/b')],
      [config('a'), config('c', '/b'), config('b'), config('d')],
      [config('a'), config('b'), config('d', '/x/'), listing],
      [config('a'), config('b'), config('d', '/x/')],
      [config('d', '/a'), config('a', '/d'), config('a', '/e')],
      [config('d', '/a'), config('a', '/d'), 'name: ['],
      [config('d', '/a'), config('a', '/d'), config('e', '/D')],
    ]
    for (const each of texts) {
      const sources = each.map((text, i) => ({ file: `${i}.yaml`, text }))
      const reads = await Promise.all(sources.map((source) => reader.read(source)))
      assert.deepEqual(await reader.together(reads), checkTogether(reads))
    }
  })

  test('lets others have their turn among many', async (t) => {
    let now = performance.now()
    t.mock.method(performance, 'now', () => (now += 100))
    let turns = 0
    const count = () => {
      turns++
      immediate = setImmediate(count)
    }
    let immediate = setImmediate(count)
    t.after(() => clearImmediate(immediate))
    const { read, together } = createReader({})
    const reads = [await read({ file: 'a.yaml', text: config('a') })]
    for (let i = 0; i < 20; i++) reads.push(await read({ file: `${i}.yaml`, text: config(`b-${i}`) }))
    turns = 0
    await together(reads)
    assert.ok(turns >= 20, `${turns} turns`)
  })
})

test('places are found long after a file was read, whatever was read since', () => {
  const text = (i: number) => `${config(`name-${i}`)}# ${'x'.repeat(100_000)}\n`
  const reads = Array.from({ length: 12 }, (_, i) => readConfiguration({ file: `${i}`, text: text(i) }, {}))
  const places = () =>
    reads.map(({ text, locate }) => {
      const { start, end } = locate(['name'])!
      return [text.slice(start.offset, end.offset), locate.key(['servers'])?.start.line, start.column]
    })
  const expected = reads.map((_, i) => [`name-${i}`, 3, 7])
  assert.deepEqual(places(), expected)
  assert.deepEqual(places().reverse(), [...expected].reverse())
})
