import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circles, imports, longFunctions, parseSource, sourceFiles } from './house.ts'

const sources = sourceFiles().map(parseSource)

/** Lines of a function, closures counted. */
const MAX_LINES = 80

test('files do not import each other in a circle', () => {
  assert.deepEqual(circles(imports(sources)), [])
})

test('with types, files do not import each other in a circle', () => {
  assert.deepEqual(circles(imports(sources, true)).flat(), [])
})

test('a function has at most 80 lines', () => {
  const found = longFunctions(sources, MAX_LINES).map(({ name, lines }) => `${name}: ${lines}`)
  assert.deepEqual(found, [], 'a part of it deserves a name of its own')
})
