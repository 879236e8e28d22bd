import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { test } from 'node:test'
import { accessorsOfLiterals, circles, imports, longFunctions, parseSource, sourceFiles } from './house.ts'

const sources = sourceFiles().map(parseSource)

/** Lines of a function, closures counted. */
const MAX_LINES = 80

/** Names of files that several rooms have for their part of the same idea. The list may only shrink. */
const SHARED = new Set(
  `index types cors tools fix schemas settings body render template call client exact explain schema files faults templates values backend http replicas session stateless tool app lowdb sql store gateway listen`
    .split(/\s+/)
    .map((name) => `${name}.ts`),
)

test('files do not import each other in a circle', () => {
  assert.deepEqual(circles(imports(sources)), [])
})

test('a function has at most 80 lines', () => {
  const found = longFunctions(sources, MAX_LINES).map(({ name, lines }) => `${name}: ${lines}`)
  assert.deepEqual(found, [], 'a part of it deserves a name of its own')
})

/** Rooms that each call passes. */
const OF_CALLS = /^(?:access|mcp|net|server|telemetry|tools|upstream)\//

// V8 makes each of them a hidden class, and classes that it has kept hold what their accessors see: all of a call.
test('what calls pass makes no object literals with accessors', () => {
  const found = accessorsOfLiterals(sources.filter(({ fileName }) => OF_CALLS.test(fileName)))
  assert.deepEqual(found, [], 'write a method, or a class')
})

test('rooms do not share names of files', () => {
  const rooms = new Map<string, Set<string>>()
  for (const { fileName } of sources) {
    if (!fileName.includes('/')) continue
    const name = basename(fileName)
    rooms.set(name, (rooms.get(name) ?? new Set()).add(fileName.split('/')[0] as string))
  }
  const shared = [...rooms].filter(([name, { size }]) => size > 1 && !SHARED.has(name))
  assert.deepEqual(
    shared.map(([name, of]) => `${name}: ${[...of].join(', ')}`),
    [],
  )
  for (const name of SHARED)
    assert.ok((rooms.get(name)?.size ?? 0) > 1, `${name} is not shared: remove it here`)
})
