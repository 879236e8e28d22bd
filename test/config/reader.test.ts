import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createReader, readConfiguration, readerKeeper } from '../../src/config/index.ts'

const config = (name: string, prefix = `/${name}`) =>
  `name: ${name}\nrouters: [{server: s, prefix: ${prefix}}]\nservers: [{name: s}]\n`

describe('a reader', () => {
  test('takes what is the same from the last time, and nothing else', () => {
    const { read, together } = createReader({})
    const a = read({ file: 'a.yaml', text: config('a') })
    const b = read({ file: 'b.yaml', text: config('b') })
    together([a, b])
    assert.equal(read({ file: 'a.yaml', text: config('a') }), a)
    assert.notEqual(read({ file: 'a.yaml', text: config('c') }), a)
    assert.notEqual(read({ file: 'b.yaml', text: config('a') }), a)
    together([b])
    assert.notEqual(read({ file: 'a.yaml', text: config('a') }), a, 'gone is gone')
    assert.equal(read({ file: 'b.yaml', text: config('b') }), b)
  })

  test('tells of all together as if it knew nothing', () => {
    const { read, together } = createReader({}, { reserved: ['/_reload'] })
    const told = (...texts: string[]) => {
      const reads = texts.map((text, i) => read({ file: `${i}.yaml`, text }))
      return together(reads).map(({ code, file }) => `${code} ${file}`)
    }
    assert.deepEqual(told(config('a'), config('b')), [])
    assert.deepEqual(told(config('a'), config('b', '/a/')), ['duplicate-prefix 1.yaml', 'prefix-form 1.yaml'])
    assert.deepEqual(told(config('a', '/c'), config('b', '/a/')), ['prefix-form 1.yaml'])
    assert.deepEqual(told(config('b'), config('b', '/_reload')), [
      'duplicate-configuration 1.yaml',
      'reserved-prefix 1.yaml',
    ])
    assert.deepEqual(told(config('b')), [])
  })

  test('is another one for another environment or other options', () => {
    const readerOf = readerKeeper()
    const [env, options] = [{}, {}]
    const reader = readerOf(env, options)
    assert.equal(readerOf(env, options), reader)
    assert.notEqual(readerOf({ ...env }, options), reader)
    assert.notEqual(readerOf(env, { ...options }), reader)
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
